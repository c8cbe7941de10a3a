"""Health: what is to be done, sizes, embeddings, queues, the ledger."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from psycopg.errors import InsufficientPrivilege
from starlette.responses import HTMLResponse

from ragdb.studio import reports
from ragdb.studio.pages import Studio


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/health")
    async def health(request: Request) -> HTMLResponse:
        now = datetime.now(UTC)
        async with studio.transaction(request) as db:
            corpora = [row for row in await db.list_corpora() if row.name != "personal"]
            spaces = [r for r in await db.embedding_status() if r.corpus != "personal"]
            jobs = [row for row in await db.job_status() if row.corpus != "personal"]
            has_worker = await db.has_worker()
            buckets = await db.traffic(now - timedelta(hours=24), now)
            ledger = None
            # what only admins and auditors may see
            with suppress(InsufficientPrivilege):
                async with db.connection.transaction():
                    ledger = await db.ledger_status()
            advice = [row for row in await db.advice() if row.corpus != "personal"]
        return studio.page(
            request,
            "health.html",
            corpora=corpora,
            spaces=spaces,
            jobs=jobs,
            has_worker=has_worker,
            ledger=ledger,
            advice=advice,
            pieces=[row for row in corpora if not row.parts],
            **reports.traffic(buckets),
        )
