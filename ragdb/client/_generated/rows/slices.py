"""Rows of slices. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class BuildSlicesRow(Row):
    """A row of `build_slices`."""

    anchor_chunk_id: str
    slice_id: str
    chunk_ids: list[str]
    selection_order: list[str]
    distances: list[int]
    edge_count: int
    policy_id: str
    params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str | None
    error_code: str | None
    error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class BuiltSlice(Row):
    """A row of type `ragdb.built_slice`."""

    slice_id: str
    anchor_chunk_id: str
    chunk_ids: list[str]
    selection_order: list[str]
    distances: list[int]
    edge_count: int
    policy_id: str
    params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str | None


@dataclass(frozen=True, slots=True, repr=False)
class GetSliceRow(Row):
    """A row of `get_slice`."""

    created_at: datetime
    anchor_chunk_id: str
    anchor_source: str | None
    chunk_ids: list[str]
    edge_count: int
    policy_id: str
    params_hash: str
    policy: Any
    schema_version: str
    graph_snapshot_hash: str
    is_unchanged: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListSlicesRow(Row):
    """A row of `list_slices`."""

    slice_id: str
    created_at: datetime
    anchor_chunk_id: str
    anchor_source: str
    chunks: int
    edge_count: int
    policy_id: str
    params_hash: str
    graph_snapshot_hash: str


@dataclass(frozen=True, slots=True, repr=False)
class ReplayCitedRow(Row):
    """A row of `replay_cited`."""

    trace_id: UUID
    verdict: str
    cause: str
    detail: str
    changed_chunk_ids: list[str]
    recorded_chunk_ids: list[str]
    replayed_chunk_ids: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class ReplayHitsRow(Row):
    """A row of `replay_hits`."""

    chunk_id: str
    change: str | None
    recorded_rank: int | None
    replayed_rank: int | None
    recorded_score: float | None
    replayed_score: float | None
    is_unchanged: bool | None
    source: str | None
    title: str | None
    heading: list[str]
    page: int | None
    text: str | None
    as_of: int | None


@dataclass(frozen=True, slots=True, repr=False)
class ReplayRow(Row):
    """A row of `replay`."""

    verdict: str
    cause: str
    detail: str
    changed_chunk_ids: list[str]
    recorded_chunk_ids: list[str]
    replayed_chunk_ids: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class ResolveAnchorRow(Row):
    """A row of `resolve_anchor`."""

    anchor: str | None
    resolved_by: str


@dataclass(frozen=True, slots=True, repr=False)
class SliceGraphRow(Row):
    """A row of `slice_graph`."""

    chunk_id: str
    is_admitted: bool
    place: int | None
    distance: int | None
    priority: float | None
    reason: str | None
    detail: str | None
    is_unchanged: bool | None
    source: str | None
    session_id: str | None
    role: str | None
    phase: str | None
    salience: float | None
    text: str | None
    parents: list[str]
    edge_types: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class SliceMembersRow(Row):
    """A row of `slice_members`."""

    place: int
    chunk_id: str
    source: str
    content_hash: str
    is_unchanged: bool


@dataclass(frozen=True, slots=True, repr=False)
class VerifyTokenRow(Row):
    """A row of `verify_token`."""

    valid: bool
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class WhyNotRow(Row):
    """A row of `why_not`."""

    step: str
    reason: str
