"""A corpus `personal` is one role's own: nothing of it is served, as a token may be shared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ragdb.http.transactions import Refused

Row = TypeVar("Row")

NAME = "personal"


def served(rows: Iterable[Row], column: str = "corpus") -> list[Row]:
    """What is served of some rows, whose column names their corpus."""
    return [row for row in rows if getattr(row, column) != NAME]


def check_served(corpus: str | None, code: str, details: Any = None) -> None:
    """Refuse, as not found, what is of a personal corpus. Raises Refused."""
    if corpus == NAME:
        raise Refused(404, code, "a personal corpus is not served", details)
