"""Rows of lexical. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class SyncStatisticsRow(Row):
    """A row of `sync_statistics`."""

    parts: int | None
    chunks: int
    lexemes: int
