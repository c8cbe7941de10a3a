"""Health: sizes, embeddings, queues, the ledger, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from fastapi import APIRouter, Request
from psycopg.errors import InsufficientPrivilege
from starlette.responses import HTMLResponse

from ragdb.client._generated import rows
from ragdb.studio import reports
from ragdb.studio.pages import Studio, count

INDEXED_FROM = 10_000  # chunks: fewer are compared one by one in no time
SEALED_WITHIN = timedelta(hours=1)


@dataclass(frozen=True)
class Finding:
    """Something to do, and the command that does it."""

    level: Literal["bad", "soft"]
    what: str
    command: str


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
            ledger, gone = None, []
            # what only admins and auditors may see
            with suppress(InsufficientPrivilege):
                async with db.connection.transaction():
                    ledger = await db.ledger_status()
            with suppress(InsufficientPrivilege):
                async with db.connection.transaction():
                    gone = list(await db.dead_roles())
        return studio.page(
            request,
            "health.html",
            corpora=corpora,
            spaces=spaces,
            jobs=jobs,
            has_worker=has_worker,
            ledger=ledger,
            findings=[
                *_of_corpora(corpora),
                *_of_spaces(spaces, has_worker),
                *_of_jobs(jobs, has_worker),
                *_of_ledger(ledger, now),
                *_of_roles(gone),
            ],
            **reports.traffic(buckets),
        )


def _of_corpora(corpora: Sequence[rows.ListCorporaRow]) -> Iterator[Finding]:
    for row in corpora:
        if row.drift is not None and abs(row.drift) > 0.1:
            than = "longer" if row.drift > 0 else "shorter"
            what = (
                f"{row.name}: chunks are {abs(row.drift):.0%} {than} than when it was optimized"
                " last, so its ranking is stale"
            )
            yield Finding("soft", what, f"ragdb corpus optimize {row.name}")


def _of_spaces(spaces: Sequence[Any], has_worker: bool) -> Iterator[Finding]:
    for row in spaces:
        space = f"{row.corpus} by {row.embedder}"
        if row.dead:
            what = f"{space}: {count(row.dead)} inputs are given up: {row.last_error}"
            yield Finding("bad", what, f"ragdb.retry_failed('{row.corpus}')")
        if row.backlog > 0:
            left = "" if has_worker else ", and no worker runs"
            what = f"{space}: {count(row.backlog)} chunks wait for an embedding{left}"
            yield Finding("soft" if has_worker else "bad", what, f"ragdb embed {row.corpus}")
        if row.state == "current" and not row.is_indexed and row.embedded >= INDEXED_FROM:
            what = f"{space}: {count(row.embedded)} embeddings and no index"
            yield Finding("soft", what, f"ragdb.index_space('{row.corpus}')")


def _of_jobs(jobs: Sequence[rows.JobStatusRow], has_worker: bool) -> Iterator[Finding]:
    for row in jobs:
        of = row.capability + (f" of {row.corpus}" if row.corpus else "")
        if row.failed:
            yield Finding("bad", f"{of}: {count(row.failed)} jobs failed: {row.last_error}", "")
        if row.waiting and not has_worker:
            what = f"{of}: {count(row.waiting)} jobs wait, and no worker runs"
            yield Finding("bad", what, "ragdb worker")


def _of_ledger(ledger: rows.LedgerStatusRow | None, now: datetime) -> Iterator[Finding]:
    if ledger is None:
        return
    if not ledger.is_on:
        yield Finding("soft", "the ledger is off: nothing is sealed", "ragdb ledger switch on")
    elif ledger.oldest_pending is not None and now - ledger.oldest_pending > SEALED_WITHIN:
        what = f"{count(ledger.pending)} rows wait to be sealed, the oldest for over an hour"
        yield Finding("soft", what, "ragdb ledger seal")


def _of_roles(gone: Sequence[Any]) -> Iterator[Finding]:
    for row in gone:
        what = f"role {row.role} is gone and still holds {', '.join(row.holds)}"
        yield Finding("soft", what, f"ragdb.bind_role('{row.role}', 'ROLE')")
