"""Rows of promotion. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class DecideProposalRow(Row):
    """A row of `decide_proposal`."""

    code: str
    detail: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListAtomsRow(Row):
    """A row of `list_atoms`."""

    atom_id: UUID
    state: str
    text: str | None
    source_chunk_ids: list[str]
    source_slice_id: str
    trace_id: UUID
    checks: Any
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListIncidentsRow(Row):
    """A row of `list_incidents`."""

    incident_id: UUID
    created_at: datetime
    kind: str
    severity: str
    trace_id: UUID
    caller: str
    reason: str
    is_intact: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListProposalsRow(Row):
    """A row of `list_proposals`."""

    proposal_id: UUID
    status: str
    evidence_state: str
    text: str | None
    source_atoms: list[UUID]
    source_slice_id: str
    created_at: datetime
    created_by: str
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class PromoteToAtomRow(Row):
    """A row of `promote_to_atom`."""

    atom_id: UUID | None
    code: str
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ProposeRow(Row):
    """A row of `propose`."""

    proposal_id: UUID | None
    code: str
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class SearchDualRow(Row):
    """A row of `search_dual`."""

    rank: int
    plane: str
    id: str
    text: str
    score: float
    source_ids: list[str]
    source_slice_id: str
    state: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyAtomRow(Row):
    """A row of `verify_atom`."""

    field: str
    is_intact: bool
    stored: str
    recomputed: str
    subject: str
