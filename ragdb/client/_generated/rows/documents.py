"""Rows of documents. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class Blob(Row):
    """A row of type `ragdb.blob`."""

    cid: str
    media_type: str
    size: int
    bytes: bytes


@dataclass(frozen=True, slots=True, repr=False)
class CheckCorpusRow(Row):
    """A row of `check_corpus`."""

    check: str
    expected: str | None
    found: str


@dataclass(frozen=True, slots=True, repr=False)
class Chunk(Row):
    """A row of type `ragdb.chunk`."""

    chunk_id: str
    doc_cid: str
    ordinal: int
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    tokens: int
    text: str
    citation: Any
    content_hash: str
    metadata: Any


@dataclass(frozen=True, slots=True, repr=False)
class CorpusEventsRow(Row):
    """A row of `corpus_events`."""

    lamport: int
    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    source: str
    title: str | None
    language: str | None
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class Document(Row):
    """A row of type `ragdb.document`."""

    doc_cid: str
    source: str
    sources: list[str]
    title: str | None
    language: str | None
    media_type: str
    metadata: Any
    chunking: Any
    external_id: str | None
    source_name: str
    size_bytes: int
    pages: int | None
    chunks: int
    tokens: int
    event_id: UUID
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class DocumentVersionsRow(Row):
    """A row of `document_versions`."""

    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    title: str | None
    chunks: int
    is_current: bool


@dataclass(frozen=True, slots=True, repr=False)
class EventsAfterRow(Row):
    """A row of `events_after`."""

    corpus: str
    lamport: int
    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    source: str
    title: str | None
    language: str | None
    chunks: int
    next: Any


@dataclass(frozen=True, slots=True, repr=False)
class GetSourceRow(Row):
    """A row of `get_source`."""

    doc_cid: str
    source_name: str
    etag: str | None
    chunking: Any
    seen_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class KnownSourcesRow(Row):
    """A row of `known_sources`."""

    uri: str
    root: str
    doc_cid: str


@dataclass(frozen=True, slots=True, repr=False)
class ListBlobsRow(Row):
    """A row of `list_blobs`."""

    cid: str
    media_type: str
    size: int
    is_in_corpus: bool


@dataclass(frozen=True, slots=True, repr=False)
class UnchangedSourcesRow(Row):
    """A row of `unchanged_sources`."""

    uri: str
    doc_cid: str
    has_records: bool
    documents: int
    chunks: int
    tokens: int
    pages: int | None
    pages_without_text: int
    bad_characters: int
    cut: int
    empty: int
