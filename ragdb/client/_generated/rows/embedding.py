"""Rows of embedding. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ClaimEmbeddingsRow(Row):
    """A row of `claim_embeddings`."""

    space_id: int
    corpus: str
    embedder: str
    input_hash: bytes
    attempt: int
    input: str


@dataclass(frozen=True, slots=True, repr=False)
class ClaimQueriesRow(Row):
    """A row of `claim_queries`."""

    corpus: str
    embedder: str
    query_hash: bytes
    attempt: int
    query: str
    input: str


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingStatusRow(Row):
    """A row of `embedding_status`."""

    corpus: str
    embedder: str
    model: str
    provider: str | None
    provider_model: str | None
    dims: int
    metric: str
    state: str
    chunks: int
    embedded: int
    coverage: float | None
    backlog: int
    in_work: int
    failing: int
    dead: int
    oldest: timedelta
    last_error: str | None
    is_indexed: bool
    lacks_index: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListFailedEmbeddingsRow(Row):
    """A row of `list_failed_embeddings`."""

    embedder: str
    chunk_id: str
    is_dead: bool
    failures: int
    last_error: str | None
    due_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeCorpusRow(Row):
    """A row of `optimize_corpus`."""

    chunks: int
    pivot_before: float
    pivot: float
    lexemes_dropped: int


@dataclass(frozen=True, slots=True, repr=False)
class QueryEmbeddingStateRow(Row):
    """A row of `query_embedding_state`."""

    is_ready: bool
    last_error: str | None
