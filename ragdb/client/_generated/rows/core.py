"""Rows of core. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class DeadRolesRow(Row):
    """A row of `dead_roles`."""

    role: str
    role_oid: int
    holds: list[str]
    name_is_taken: bool


@dataclass(frozen=True, slots=True, repr=False)
class ErrorCodesRow(Row):
    """A row of `error_codes`."""

    sqlstate: str
    name: str
    wire_word: str
    http_status: int
    meaning: str


@dataclass(frozen=True, slots=True, repr=False)
class ExportSigningKeysRow(Row):
    """A row of `export_signing_keys`."""

    key_id: str
    secret: str
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class KeyEvents(Row):
    """A row of type `ragdb.key_events`."""

    event_no: int
    kind: str
    at: datetime
    role: str
    key_id: str
    commitment: bytes
    is_inside: bool
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None
    compromised_since: datetime | None
    previous: bytes
    hash: bytes
    mac: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class ListGrantsRow(Row):
    """A row of `list_grants`."""

    role: str
    privilege: str
    is_dead: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListSigningKeysRow(Row):
    """A row of `list_signing_keys`."""

    key_id: str
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None
    compromised_since: datetime | None
    is_inside: bool
    is_at_hand: bool
    commitment: str


@dataclass(frozen=True, slots=True, repr=False)
class OriginRow(Row):
    """A row of `origin`."""

    id: UUID
    name: str
