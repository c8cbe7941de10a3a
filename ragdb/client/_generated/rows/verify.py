"""Rows of verify. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Row):
    """A row of type `ragdb.advice`."""

    subject: str
    corpus: str
    is_fault: bool
    found: str
    fix: str


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Row):
    """A row of type `ragdb.finding`."""

    check: str
    severity: str
    place: str
    finding: str
    advice: str


@dataclass(frozen=True, slots=True, repr=False)
class VerificationChecksRow(Row):
    """A row of `verification_checks`."""

    check: str
    is_quick: bool


@dataclass(frozen=True, slots=True, repr=False)
class VerifyStepRow(Row):
    """A row of `verify_step`."""

    check: str
    looked: int
    findings: Any
    next_state: Any
