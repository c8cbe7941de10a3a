"""Rows of peers. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ApplyEventsRow(Row):
    """A row of `apply_events`."""

    events: int
    known: int
    documents_put: int
    documents_erased: int
    conflicts: int
    waiting: int
    position: int
    is_done: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListConflictsRow(Row):
    """A row of `list_conflicts`."""

    source: str
    winner: str
    winner_author: str
    loser: str
    loser_author: str
    loser_lamport: int
    is_open: bool
    was_erased: bool
    document: Any
    found_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListPeerCorporaRow(Row):
    """A row of `list_peer_corpora`."""

    corpus: str
    feed: UUID
    peer: str
    remote: str
    trust: str
    url: str | None
    is_revoked: bool
    position: int
    pulled_at: datetime | None
    shared_by: str
    shared_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListPeersRow(Row):
    """A row of `list_peers`."""

    name: str
    url: str | None
    public_key: str
    trust: str
    added_by: str
    added_at: datetime
    revoked_at: datetime | None
    revoked_because: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListSharedDocumentsRow(Row):
    """A row of `list_shared_documents`."""

    source: str
    state: str
    author: str
    peer: str
    trust: str
    is_revoked: bool
    is_local: bool
    lamport: int
    event: str
    signed_at: str
    arrived_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListSharedEventsRow(Row):
    """A row of `list_shared_events`."""

    position: int
    event: str
    signature: str
    body: str | None


@dataclass(frozen=True, slots=True, repr=False)
class SharedFeedRow(Row):
    """A row of `shared_feed`."""

    feed: UUID
    author: str
    position: int
    lamport: int
    settings: Any
