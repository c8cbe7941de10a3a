"""A corpus `personal` is one role's own: nothing of it is served, as a token may be shared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.http.transactions import Refused

Row = TypeVar("Row")

NAME = "personal"


def served(found: Iterable[Row], column: str = "corpus") -> list[Row]:
    """What is served of some rows, whose column names their corpus."""
    return [row for row in found if getattr(row, column) != NAME]


def check_served(corpus: str | None, code: str, details: Any = None) -> None:
    """Refuse, as not found, what is of a personal corpus. Raises Refused."""
    if corpus == NAME:
        raise Refused(404, code, "a personal corpus is not served", details)


async def served_run(db: AsyncClient, id: UUID) -> rows.EvalRuns:
    """A run of an eval. Raises Refused where it is of a personal corpus."""
    run = await db.get_eval_run(id)
    check_served(run.corpus, "RUN_NOT_FOUND")
    return run


async def check_rag_served(db: AsyncClient, rag: str) -> None:
    """Refuse, as not found, a rag over a personal corpus. Raises Refused."""
    for row in await db.list_evals(None, rag, count=1):
        if row.rag == rag:
            check_served(row.corpus, "EVAL_NOT_FOUND")
