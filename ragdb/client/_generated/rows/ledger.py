"""Rows of ledger. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class LedgerActs(Row):
    """A row of type `ragdb.ledger_acts`."""

    act_id: UUID
    created_at: datetime
    act: str
    caller: str
    kinds: list[str]
    corpus_id: int | None
    from_at: datetime | None
    to_at: datetime | None
    entries: list[str]
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class LedgerEntry(Row):
    """A row of type `ragdb.ledger_entry`."""

    number: int
    kind: str
    id: str
    hash: bytes
    sealed_at: datetime
    entry: bytes
    leaf_hash: bytes


@dataclass(frozen=True, slots=True, repr=False)
class LedgerStatusRow(Row):
    """A row of `ledger_status`."""

    is_on: bool
    origin: str
    size: int
    sealed_at: datetime
    pending: int
    oldest_pending: datetime
    checkpoint_size: int


@dataclass(frozen=True, slots=True, repr=False)
class ListCheckpointsRow(Row):
    """A row of `list_checkpoints`."""

    size: int
    root: bytes
    note: str
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class SealLedgerRow(Row):
    """A row of `seal_ledger`."""

    sealed: int
    size: int
    sealed_at: datetime
    is_done: bool


@dataclass(frozen=True, slots=True, repr=False)
class VerifyLedgerRow(Row):
    """A row of `verify_ledger`."""

    number: int
    kind: str
    id: str
    finding: str
    detail: str
