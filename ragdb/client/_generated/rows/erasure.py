"""Rows of erasure. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ListErasuresRow(Row):
    """A row of `list_erasures`."""

    erasure_id: UUID
    created_at: datetime
    kind: str
    item_id: UUID
    item_hash: str
    action: str
    cause: str
    caller: str
    reason: str
    is_intact: bool
