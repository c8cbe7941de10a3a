"""Rows of evidence. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class AskedAnswer(Row):
    """A row of type `ragdb.asked_answer`."""

    answer: str
    sources: list[str]
    status: str
    reason: str
    citations: Any
    problems: list[str]
    trace_id: UUID
    answer_id: UUID
    evidence_hash: str
    gate: Any
    trace_summary: Any


@dataclass(frozen=True, slots=True, repr=False)
class AskedRetriever(Row):
    """A row of type `ragdb.asked_retriever`."""

    corpus: str
    retriever: str
    rag: str
    k: int
    mode: str
    reranker: str | None
    max_context: int


@dataclass(frozen=True, slots=True, repr=False)
class CheckCitationsRow(Row):
    """A row of `check_citations`."""

    citation: int | None
    code: str | None
    is_advisory: bool
    message: str | None
    source_id: str | None
    chunk_id: str | None
    method: str | None
    start_offset: int | None
    end_offset: int | None
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class CitationCodesRow(Row):
    """A row of `citation_codes`."""

    code: str
    is_advisory: bool
    meaning: str


@dataclass(frozen=True, slots=True, repr=False)
class EvidenceProvenanceRow(Row):
    """A row of `evidence_provenance`."""

    corpus: str
    trace_ids: list[UUID]


@dataclass(frozen=True, slots=True, repr=False)
class ListCitationsRow(Row):
    """A row of `list_citations`."""

    row_no: int
    citation: int | None
    code: str | None
    is_advisory: bool
    source_id: str | None
    chunk_id: str | None
    method: str | None
    similarity: float | None
    start_offset: int | None
    end_offset: int | None
    unit: str
    text: str | None
    page: int | None


@dataclass(frozen=True, slots=True, repr=False)
class ListFeedbackRow(Row):
    """A row of `list_feedback`."""

    feedback_id: UUID
    created_at: datetime
    corpus_name: str
    trace_id: UUID
    answer_id: UUID | None
    chunk_id: str | None
    verdict: str
    comment: str | None
    query_text: str | None
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class LocateQuoteRow(Row):
    """A row of `locate_quote`."""

    method: str | None
    start_offset: int
    end_offset: int
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class RecordAnswerRow(Row):
    """A row of `record_answer`."""

    answer_id: UUID
    citation: int | None
    code: str
    is_advisory: bool
    message: str
    source_id: str | None
    chunk_id: str
    method: str | None
    start_offset: int
    end_offset: int
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class RecordedAnswer(Row):
    """A row of type `ragdb.recorded_answer`."""

    answer_id: UUID
    created_at: datetime
    corpus: str
    trace_id: UUID | None
    query: str | None
    is_insufficient: bool
    is_verified: bool
    citations: int
    problems: int
    task: str | None
    model: str | None
    attempt: int
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class RecordedGate(Row):
    """A row of type `ragdb.recorded_gate`."""

    gate_id: UUID
    created_at: datetime
    corpus: str
    trace_id: UUID | None
    query: str | None
    is_enough: bool
    chunks: int
    min_chunks: int
    best_score: float | None
    min_score: float
    min_score_by: str
    coverage: float | None
    min_coverage: float
    missing_terms: list[str] | None
    rank_mode: str | None
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class TraceStagesRow(Row):
    """A row of `trace_stages`."""

    stage: str
    at: datetime
    elapsed_ms: float
    detail: str
