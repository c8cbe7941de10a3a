"""Health: what is to be done, sizes, embeddings, queues, the ledger."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from psycopg.errors import InsufficientPrivilege
from starlette.responses import HTMLResponse

from ragdb.http import personal
from ragdb.studio import reports
from ragdb.studio.pages import Studio

PAGE = 100  # corpora, and rows of any other list
Name = Annotated[str, Query(max_length=64)]


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/health")
    async def health(request: Request, named: Name = "", after: Name = "") -> HTMLResponse:
        now = datetime.now(UTC)
        async with studio.transaction(request) as db:
            corpora = personal.served(await db.list_corpora(), "name")
            spaces = personal.served(await db.embedding_status())
            jobs = personal.served(await db.job_status())
            has_worker = await db.has_worker()
            buckets = await db.traffic(now - timedelta(hours=24), now)
            ledger = None
            # what only admins and auditors may see
            with suppress(InsufficientPrivilege):
                async with db.connection.transaction():
                    ledger = await db.ledger_status()
            advice = personal.served(await db.advice())
        rest = [row for row in corpora if named in row.name and row.name > after]
        shown = {row.name for row in rest[:PAGE]}
        return studio.page(
            request,
            "health.html",
            corpora=rest[:PAGE],
            all_corpora=len(corpora),
            next=rest[PAGE - 1].name if rest[PAGE:] else None,
            named=named,
            after=after,
            most=PAGE,
            spaces=[row for row in spaces if row.corpus in shown],
            all_spaces=len(spaces),
            jobs=jobs,
            has_worker=has_worker,
            ledger=ledger,
            advice=advice,
            pieces=[row for row in corpora if not row.parts],
            **reports.traffic(buckets),
        )
