"""Rows of wire. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class CapabilitiesRow(Row):
    """A row of `capabilities`."""

    name: str
    version: str
    stability: str
    trust_required: str
    timeout_seconds: int
    max_concurrent: int
    idempotent: bool
    params: Any
    request_schema: Any
    response_schema: Any


@dataclass(frozen=True, slots=True, repr=False)
class CapabilitySchemasRow(Row):
    """A row of `capability_schemas`."""

    name: str
    version: str
    trust_required: str
    timeout_seconds: int
    max_concurrent: int
    request_schema: Any
    response_schema: Any


@dataclass(frozen=True, slots=True, repr=False)
class ClaimEmbedJobsRow(Row):
    """A row of `claim_embed_jobs`."""

    job_id: UUID
    attempt: int
    embedder: str
    texts: list[str] | None


@dataclass(frozen=True, slots=True, repr=False)
class ClaimIngestJobsRow(Row):
    """A row of `claim_ingest_jobs`."""

    job_id: UUID
    attempt: int
    corpus: str
    doc_cid: str
    source: str
    media_type: str
    bytes: bytes
    title: str | None
    language: str | None
    metadata: Any
    max_tokens: int
    overlap: int


@dataclass(frozen=True, slots=True, repr=False)
class JobStateRow(Row):
    """A row of `job_state`."""

    capability: str
    corpus: str
    state: str
    error: str | None
    message: str
    hint: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class JobStatusRow(Row):
    """A row of `job_status`."""

    capability: str
    corpus: str | None
    waiting: int
    in_work: int
    failed: int
    oldest_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListHttpTokensRow(Row):
    """A row of `list_http_tokens`."""

    name: str
    role: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class PutResult(Row):
    """A row of type `ragdb.put_result`."""

    position: int
    doc_cid: str
    chunks_indexed: int
    tokens_indexed: int
    ingest_event_id: UUID
    was_duplicate: bool
    ms: float


@dataclass(frozen=True, slots=True, repr=False)
class TurnHit(Row):
    """A row of type `ragdb.turn_hit`."""

    trace_id: UUID
    rank: int
    corpus: str
    chunk_id: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
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
    session_id: str
    role: str
    phase: str
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float
    context: str | None
