"""What a database shows of itself."""

from __future__ import annotations

from typing import Any

import psycopg

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
