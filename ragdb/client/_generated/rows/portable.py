"""Rows of portable. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class BeginMoveRow(Row):
    """A row of `begin_move`."""

    move_id: UUID
    header: Any


@dataclass(frozen=True, slots=True, repr=False)
class CheckMoveRow(Row):
    """A row of `check_move`."""

    position: int
    differing: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class EraseSpeakerRow(Row):
    """A row of `erase_speaker`."""

    turns_deleted: int
    documents_deleted: int
    past_rows_erased: int


@dataclass(frozen=True, slots=True, repr=False)
class ExportDocumentsRow(Row):
    """A row of `export_documents`."""

    position: int
    doc_cid: str
    chunks: int
    document: str
    has_blob: bool


@dataclass(frozen=True, slots=True, repr=False)
class ExportEmbeddingsRow(Row):
    """A row of `export_embeddings`."""

    position: int
    sources: list[str]
    ordinals: list[int]
    embeddings: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class ListMovesRow(Row):
    """A row of `list_moves`."""

    move_id: UUID
    direction: str
    corpus: str
    peer: str
    state: str
    begun_at: datetime
    begun_by: str
    held_at: datetime | None
    ended_at: datetime | None
    left_to_send: int
    header: Any
    digest: Any


@dataclass(frozen=True, slots=True, repr=False)
class MovePageRow(Row):
    """A row of `move_page`."""

    page: int | None
    number: int
    source: str
    hash: bytes
    document: str
    uris: list[str]
    ordinals: list[int]
    embeddings: bytes | None
