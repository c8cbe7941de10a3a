"""Health: what is to be done, sizes, embeddings, queues, the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from psycopg.errors import InsufficientPrivilege, QueryCanceled, ReadOnlySqlTransaction
from starlette.responses import HTMLResponse

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.http import personal
from ragdb.studio import reports
from ragdb.studio.pages import Studio

PAGE = 100  # corpora, and rows of any other list
Name = Annotated[str, Query(max_length=64)]


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/health")
    async def health(request: Request, named: Name = "", after: Name = "") -> HTMLResponse:
        is_counted = await _count(studio, request)
        now = datetime.now(UTC)
        async with studio.transaction(request) as db:
            counts = await db.count_corpora(with_personal=False)
            # what a name has inside is looked for in all
            listed = await db.list_corpora(after=after, count=None if named else PAGE + 1)
            found = [row for row in listed if named in row.name]
            corpora = personal.served(found[:PAGE], "name")
            spaces = await _spaces(db, [row.name for row in corpora], after)
            jobs = personal.served(await db.job_status())
            has_worker = await db.has_worker()
            buckets = await db.traffic(now - timedelta(hours=24), now)
            ledger = None
            # what only admins and auditors may see
            with suppress(InsufficientPrivilege):
                async with db.connection.transaction():
                    ledger = await db.ledger_status()
            advice = personal.served(await db.advice())
        return studio.page(
            request,
            "health.html",
            corpora=corpora,
            counts=counts,
            next=found[PAGE - 1].name if found[PAGE:] else None,
            named=named,
            after=after,
            most=PAGE,
            spaces=spaces,
            jobs=jobs,
            has_worker=has_worker,
            is_counted=is_counted,
            ledger=ledger,
            advice=advice,
            **reports.traffic(buckets),
        )


async def _count(studio: Studio, request: Request) -> bool:
    """Count what was recorded since the last count, where the role may and the time is enough.

    In a transaction of its own, since others who count wait for its end.
    """
    with suppress(InsufficientPrivilege, ReadOnlySqlTransaction, QueryCanceled):
        async with studio.transaction(request) as db:
            await db.refresh_rollups()
            return True
    return False


async def _spaces(
    db: AsyncClient, corpora: Sequence[str], after: str
) -> list[rows.EmbeddingStatusRow]:
    """The spaces of some corpora, which come after a name; pages of others may lie between."""
    found: list[rows.EmbeddingStatusRow] = []
    while corpora and after < corpora[-1]:
        page = await db.embedding_status(None, False, "", after, PAGE)
        found += [row for row in page if row.corpus in corpora]
        after = page[-1].corpus if len(page) >= PAGE else corpora[-1]
    return found
