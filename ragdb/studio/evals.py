"""Evals: their runs, cases by runs, one run, two runs compared, and a question made a case."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Annotated
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.errors import TraceNotFound
from ragdb.http import personal
from ragdb.http.routes import next_after
from ragdb.http.transactions import Refused
from ragdb.studio import reports, runs, sessions
from ragdb.studio.pages import Studio, address

COLUMNS = 8
PAGE = 50  # evals, and what else the last rag of them has
Start = Annotated[str, Query(max_length=200)]
Name = Annotated[str, Query(min_length=1, max_length=200)]


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/evals")
    async def evals(request: Request, prefix: Start = "", after: Start = "") -> HTMLResponse:
        async with studio.transaction(request) as db:
            listed = await db.list_evals(None, prefix, after, PAGE)
            latest = await _latest(db)
        past: dict[tuple[str, str], list[float | None]] = defaultdict(list)
        for run in reversed(latest):
            share = run.passed_cases / run.cases if run.cases else None
            past[run.rag, run.eval].append(share)
        return studio.page(
            request,
            "evals.html",
            evals=personal.served(listed),
            next=next_after(listed, PAGE, "rag"),
            prefix=prefix,
            after=after,
            runs=latest[:20],
            past=past,
            known={run.run_id: run for run in latest},
        )

    @router.get("/evals/history")
    async def history(
        request: Request, rag: Name, eval: Name, differs: bool = False, added: str = ""
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            await personal.check_rag_served(db, rag)
            of_rag = await db.list_evals(None, rag, count=1)
            is_declared = any((row.rag, row.eval) == (rag, eval) for row in of_rag)
            latest = await _latest(db, rag, eval, COLUMNS)
            if not is_declared and not latest:
                raise Refused(404, "EVAL_NOT_FOUND", f'rag "{rag}" has no eval "{eval}" here')
            sheets = [await runs.load(db, run) for run in latest]
            baseline = await db.baseline_run(rag, eval)
        lines = runs.lines(sheets)
        return studio.page(
            request,
            "history.html",
            rag=rag,
            eval=eval,
            is_declared=is_declared,
            sheets=sheets,
            lines=[line for line in lines if line.differs] if differs else lines,
            all_lines=len(lines),
            differs=differs,
            baseline=baseline,
            added=added,
        )

    @router.get("/evals/run/{id}")
    async def run(request: Request, id: UUID, failed: bool = False) -> HTMLResponse:
        async with studio.transaction(request) as db:
            found = await personal.served_run(db, id)
            sheet = await runs.load(db, found)
            sees_traces = await _sees_traces(db, sheet)
            baseline = await db.baseline_run(found.rag, found.eval)
            chosen = runs.until(await _latest(db, found.rag, found.eval, 1000), found, 2)
        other = runs.compared_with(chosen, baseline)
        return studio.page(
            request,
            "run.html",
            sheet=sheet,
            sees_traces=sees_traces,
            failed=failed,
            baseline=baseline,
            other=other,
        )

    @router.get("/evals/run/{id}/report.html")
    async def report(request: Request, id: UUID) -> Response:
        async with studio.transaction(request) as db:
            text = await reports.of_served_run(db, await personal.served_run(db, id))
        name = {"Content-Disposition": f'attachment; filename="run-{str(id)[:8]}.html"'}
        return HTMLResponse(text, 200, {**sessions.headers(), **name})

    @router.get("/evals/compare")
    async def compare(request: Request, run: UUID, baseline: UUID) -> HTMLResponse:
        async with studio.transaction(request) as db:
            both = [await personal.served_run(db, id) for id in (run, baseline)]
            verdict, *metrics = await db.compare_runs(baseline, run)
            sheets = [await runs.load(db, one) for one in both]
        return studio.page(
            request,
            "compare.html",
            verdict=verdict,
            metrics=metrics,
            most=runs.widest(metrics),
            sheets=sheets,
            lines=[line for line in runs.lines(sheets) if line.differs],
        )

    _add_changes(router, studio)


def _add_changes(router: APIRouter, studio: Studio) -> None:
    @router.post("/evals/case")
    async def add_case(request: Request) -> Response:
        """A question becomes a case of an eval, which fails until it is answered."""
        fields = await sessions.form_of(request)
        goal = dict(parse_qsl(fields.get("eval", "")))
        if goal.keys() != {"rag", "eval"}:
            raise Refused(400, "BAD_REQUEST", "the form names no eval")
        async with studio.transaction(request) as db:
            await personal.check_rag_served(db, goal["rag"])
            name = await db.add_eval_case(
                goal["rag"], goal["eval"], fields.get("query", ""), fields.get("source") or None
            )
        return sessions.lead(request, address("/evals/history", **goal, added=name))

    @router.post("/evals/run/{id}/bless")
    async def bless(request: Request, id: UUID) -> Response:
        fields = await sessions.form_of(request)
        async with studio.transaction(request) as db:
            await personal.served_run(db, id)
            await db.bless_run(id, "main", fields.get("reason") or None)
        return sessions.lead(request, f"/evals/run/{id}")

    @router.get("/evals/challenge")
    async def challenged(request: Request, rag: str, eval: str) -> Response:
        """Lead who opens the address of a challenge to the page that asks for it."""
        return sessions.lead(request, address("/evals/history", rag=rag, eval=eval))

    @router.post("/evals/challenge")
    async def challenge(request: Request, rag: str, eval: str) -> Response:
        """Which broken retrievers an eval notices; the sound one's retrievals are recorded."""
        await sessions.form_of(request)
        async with studio.transaction(request) as db:
            await personal.check_rag_served(db, rag)
            found = await db.challenge_eval(rag, eval)
        return studio.page(
            request,
            "challenge.html",
            rag=rag,
            eval=eval,
            broken=[row for row in found if row.subject == "retriever"],
            blind=[row for row in found if row.subject == "case"],
        )


async def _sees_traces(db: AsyncClient, sheet: runs.Sheet) -> bool:
    """Whether the role sees the traces of a run, which are all of who ran it."""
    recorded = next((case.of.trace_id for case in sheet.cases if case.of.trace_id), None)
    if recorded is None:
        return True
    with suppress(TraceNotFound):
        async with db.connection.transaction():
            await db.get_trace(recorded)
            return True
    return False


async def _latest(
    db: AsyncClient, rag: str | None = None, eval: str | None = None, count: int = 200
) -> list[rows.EvalRuns]:
    return personal.served(await db.list_eval_runs(rag, eval, count))
