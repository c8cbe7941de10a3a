"""Rows of history. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class DiffCorpusRow(Row):
    """A row of `diff_corpus`."""

    source: str
    change: str
    doc_cid_before: str
    doc_cid_after: str
    title_before: str
    title_after: str
    chunks_before: int
    chunks_after: int


@dataclass(frozen=True, slots=True, repr=False)
class EraseSourceRow(Row):
    """A row of `erase_source`."""

    documents_deleted: int
    chunks_deleted: int
    past_rows_erased: int


@dataclass(frozen=True, slots=True, repr=False)
class KeepHistoryRow(Row):
    """A row of `keep_history`."""

    kept_for: timedelta
    from_version: int
    since: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListVersionsRow(Row):
    """A row of `list_versions`."""

    version: int
    began_at: datetime
    documents: int
    chunks: int
    is_kept_from: bool
