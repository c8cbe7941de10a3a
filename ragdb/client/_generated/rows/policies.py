"""Rows of policies. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ListPoliciesRow(Row):
    """A row of `list_policies`."""

    policy_id: str
    params_hash: str
    policy: Any
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, repr=False)
class RegisterPolicyRow(Row):
    """A row of `register_policy`."""

    policy_id: str
    params_hash: str
