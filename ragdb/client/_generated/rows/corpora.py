"""Rows of corpora. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class AccessEvents(Row):
    """A row of type `ragdb.access_events`."""

    id: UUID
    created_at: datetime
    kind: str
    role: str
    role_oid: int | None
    session_role: str
    corpus_id: int | None
    corpus: str | None
    what: str
    event_hash: bytes


@dataclass(frozen=True, slots=True, repr=False)
class CorpusInfoRow(Row):
    """A row of `corpus_info`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str | None
    drift: float | None
    is_drifted: bool
    version: int
    created_at: datetime
    updated_at: datetime
    part_of: str | None
    parts: int | None
    stale_parts: int | None
    moved_to: str | None
    text_config: str
    k1: float
    b: float
    pivot: float
    lexemes: int
    record_query_text: str
    privilege: str
    gate_floors: Any
    history: timedelta | None
    history_from: int | None
    new_chunks: int
    embedder: str | None


@dataclass(frozen=True, slots=True, repr=False)
class CountCorporaRow(Row):
    """A row of `count_corpora`."""

    corpora: int
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    spaces: int


@dataclass(frozen=True, slots=True, repr=False)
class ListCorporaRow(Row):
    """A row of `list_corpora`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str | None
    drift: float | None
    is_drifted: bool
    version: int
    created_at: datetime
    updated_at: datetime
    part_of: str | None
    parts: int | None
    stale_parts: int | None
    moved_to: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListPartsRow(Row):
    """A row of `list_parts`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    is_stale: bool
    chunks_synced: int
    synced_at: datetime
    version: int
    updated_at: datetime
    is_elsewhere: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListQuotasRow(Row):
    """A row of `list_quotas`."""

    role: str
    blob_bytes: int | None
    blob_bytes_taken: int
    hourly_failures: int | None
    concurrent_calls: int | None
    corpus_chunks: int | None
    is_dead: bool
    set_at: datetime
    set_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListSynonymsRow(Row):
    """A row of `list_synonyms`."""

    word: str
    synonyms: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class PartStatisticsRow(Row):
    """A row of `part_statistics`."""

    part: str
    is_elsewhere: bool
    version: int
    chunks: int
    lexeme_count: int
    lexemes: list[str]
    dfs: list[int]
    synced_at: datetime
    digest: bytes


@dataclass(frozen=True, slots=True, repr=False)
class PutTextsRow(Row):
    """A row of `put_texts`."""

    id: str
    chunks_indexed: int
    was_duplicate: bool
