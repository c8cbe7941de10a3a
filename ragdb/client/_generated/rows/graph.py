"""Rows of graph. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class AppendTurnsRow(Row):
    """A row of `append_turns`."""

    position: int
    turn_id: str
    phase: str
    salience: float
    depth: int
    was_duplicate: bool


@dataclass(frozen=True, slots=True, repr=False)
class Edge(Row):
    """A row of type `ragdb.edge`."""

    parent_id: str
    child_id: str
    edge_type: str
    is_added: bool


@dataclass(frozen=True, slots=True, repr=False)
class GetTurnRow(Row):
    """A row of `get_turn`."""

    turn_id: str
    session_id: str
    role: str
    phase: str
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float
    created_at: datetime
    content_hash: str
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ListTurnsRow(Row):
    """A row of `list_turns`."""

    chunk_id: str
    session_id: str
    role: str
    speaker: str | None
    said_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class ResolveTemporalRow(Row):
    """A row of `resolve_temporal`."""

    chunk_id: str
    session_id: str
    created_at: datetime
