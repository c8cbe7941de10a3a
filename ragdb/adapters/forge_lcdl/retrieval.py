"""Retrievers, packs of evidence and citations, as ``forge_lcdl.retrieval`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragdb.client.client import Client
from ragdb.database import connect
from ragdb.evidence.answers import InferencePlanner
from ragdb.evidence.files import KeywordContextRetriever
from ragdb.evidence.packs import EvidencePack, build_evidence_pack
from ragdb.evidence.retrieval import EmptyRetriever, RetrievalQuery, RetrievedChunk, Retriever

__all__ = [
    "EmptyRetriever",
    "EvidencePack",
    "InferencePlanner",
    "KeywordContextRetriever",
    "RetrievalQuery",
    "RetrievedChunk",
    "Retriever",
    "build_evidence_pack",
    "evidence_pack_to_input_dict",
    "validate_output_citations",
]


def evidence_pack_to_input_dict(pack: EvidencePack, question: str | None = None) -> dict[str, Any]:
    """The input of a task that answers from evidence."""
    return pack.as_input(question)


def validate_output_citations(
    output: Mapping[str, Any],
    evidence: EvidencePack | Mapping[str, Any],
    database: Client | None = None,
) -> list[str]:
    """What is wrong with the citations of an output, in words: ``ragdb.validate_citations``.

    ``evidence`` is a pack, or its input of a task. Without a database it connects to the one of
    the environment, as ``ragdb.connect`` does.
    """
    if isinstance(evidence, EvidencePack):
        evidence = evidence_pack_to_input_dict(evidence)
    given = evidence.get("evidence", evidence)
    if database is not None:
        return database.validate_citations(output, given)
    with connect() as opened:
        return opened.validate_citations(output, given)
