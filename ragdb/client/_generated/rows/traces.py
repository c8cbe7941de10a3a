"""Rows of traces. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class DropKeptQueriesBeforeRow(Row):
    """A row of `drop_kept_queries_before`."""

    corpus: str
    queries: int


@dataclass(frozen=True, slots=True, repr=False)
class DropTracesBeforeRow(Row):
    """A row of `drop_traces_before`."""

    month: date
    traces: int
    hits: int


@dataclass(frozen=True, slots=True, repr=False)
class EraseCallerRow(Row):
    """A row of `erase_caller`."""

    traces: int
    answers: int
    gates: int
    feedback: int


@dataclass(frozen=True, slots=True, repr=False)
class EraseTracesRow(Row):
    """A row of `erase_traces`."""

    traces: int
    answers: int
    runs: int


@dataclass(frozen=True, slots=True, repr=False)
class Rerankers(Row):
    """A row of type `ragdb.rerankers`."""

    name: str
    max_tokens: int
    weights_sha256: str
    source: str
    revision: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalHits(Row):
    """A row of type `ragdb.retrieval_hits`."""

    corpus_id: int
    trace_id: UUID
    created_at: datetime
    rank: int
    chunk_id: str
    content_hash: bytes
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalReranks(Row):
    """A row of type `ragdb.retrieval_reranks`."""

    corpus_id: int
    trace_id: UUID
    created_at: datetime
    rank: int
    chunk_id: str
    score: float
    model: str
    is_returned: bool
    recorded_at: datetime
    rerank_hash: bytes | None
    rerank_mac: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalTraces(Row):
    """A row of type `ragdb.retrieval_traces`."""

    corpus_id: int
    id: UUID
    created_at: datetime
    corpus: str
    retriever: str | None
    rag: str | None
    retrieval_mode: str
    rank_mode: str | None
    query_text: str | None
    query_hash: str | None
    query_embedding_hash: str | None
    embedding_model: str | None
    slice_id: str | None
    anchor_chunk_id: str | None
    slice_chunk_count: int | None
    slice_edge_count: int | None
    policy_id: str | None
    policy_params_hash: str | None
    schema_version: str | None
    graph_snapshot_hash: str | None
    admissibility_token: str | None
    is_admissible: bool
    admissibility_shortfall: bool
    shortfall_reason: str | None
    limit_requested: int | None
    limit_returned: int
    min_score: float | None
    filters: Any
    chunk_ids: list[str] | None
    statistics: str | None
    ranking_hash: str | None
    result_hash: str | None
    corpus_version: int
    is_exact: bool
    elapsed_ms: float
    error_code: str | None
    client: str | None
    caller: str
    caller_oid: int
    otel_trace_id: str | None
    otel_span_id: str | None
    ranking: Any
    stages: Any
    trace_hash: bytes
    trace_mac: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class TracedHit(Row):
    """A row of type `ragdb.traced_hit`."""

    trace_id: UUID
    rank: int
    corpus: str
    chunk_id: str
    doc_cid: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    text: str
    citation: Any
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None
    bm25: float | None
    coverage: float | None
    content_hash: str
    metadata: Any
    mode: str
    is_exact: bool
    context: str | None


@dataclass(frozen=True, slots=True, repr=False)
class VerifyTraceRow(Row):
    """A row of `verify_trace`."""

    field: str
    is_intact: bool
    stored: str
    recomputed: str
    subject: str
