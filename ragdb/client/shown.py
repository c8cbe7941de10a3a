"""What a database and its methods show of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

Made = TypeVar("Made")
VERBS = (
    "add", "ask", "build_evidence_pack", "check_citations", "close", "connection", "corpus_info",
    "count_matches", "create_corpus", "delete_document", "delete_source", "delete_sources",
    "did_you_mean", "document_text", "drop_corpus", "explain_search", "export_file", "facets",
    "get_chunk", "get_document", "get_trace", "highlight", "import_file", "ingest",
    "list_chunks", "list_corpora", "list_documents", "list_traces", "put_text", "rerank",
    "retrieve", "retrieve_slice", "retrieve_with", "search", "search_slice", "search_with",
    "similar", "verify_trace",
)  # fmt: skip
"""What dir() shows of a database: the verbs of a program that searches. `help()` shows all."""


def described(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> str:
    """Where a connection leads and as whom, without a password."""
    if connection.closed:
        return "closed"
    info = connection.info
    return f"{info.dbname!r} at {info.host}:{info.port} as {info.user!r}"


def documented_by(other: type) -> Callable[[type[Made]], type[Made]]:
    """Give the methods of a class the docstrings that those of another have under their names."""

    def document(made: type[Made]) -> type[Made]:
        for name, method in vars(made).items():
            if callable(method) and not name.startswith("_"):
                method.__doc__ = getattr(other, name).__doc__
        return made

    return document
