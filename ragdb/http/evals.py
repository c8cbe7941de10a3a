"""Evals: their cases, runs and reports."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import AwareDatetime, BaseModel, Field
from starlette.responses import Response

from ragdb.client._generated import rows
from ragdb.http import models as m
from ragdb.http import personal
from ragdb.http.gate import Answer
from ragdb.http.routes import Count, InCorpus, Routes, Token, failures, next_after
from ragdb.http.server import Server

Format = Literal["json", "table", "tap", "junit", "md", "csv"]
MEDIA = {"json": "application/json", "junit": "application/xml", "md": "text/markdown"}
MEDIA |= {"csv": "text/csv", "table": "text/plain", "tap": "text/plain"}
assert MEDIA.keys() == set(get_args(Format))
Filter = Annotated[str | None, Query(min_length=1, max_length=200)]
AfterCase = Annotated[int, Query(ge=0, le=2**31 - 1, description="The last case_no seen.")]
Prefix = Annotated[str, Query(max_length=200, description="How names of rags begin.")]
After = Annotated[str, Query(max_length=200, description="The last rag seen.")]


class Runs(BaseModel):
    runs: list[rows.EvalRuns]


class Evals(BaseModel):
    """Evals in the order of `rag`; the next page begins after `next`, null at the end."""

    evals: list[rows.ListEvalsRow]
    next: str | None


class EvalCases(BaseModel):
    """Cases in the order of `case_no`; the next page begins after `next`, null at the end."""

    next: int | None
    cases: list[rows.ListEvalCasesRow]


class NewCase(m.Body):
    """A question to make a case of an eval; `source` is the document that should answer it."""

    rag: Annotated[str, Field(min_length=1, max_length=200)]
    eval: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    query: Annotated[str, Field(min_length=1, max_length=10000)]
    source: Annotated[str | None, Field(min_length=1, max_length=2048)] = None
    tags: Annotated[list[str] | None, Field(max_length=100)] = None


class Case(BaseModel):
    name: str


class RunCases(BaseModel):
    """A run with some of its cases; the next page begins after `next`, null at the end."""

    run: rows.EvalRuns
    cases: list[rows.EvalCaseResults]
    assertions: list[rows.EvalAssertResults]
    metrics: list[rows.EvalMetrics]
    next: int | None


class Compared(BaseModel):
    """The verdict of all has no metric."""

    compared: list[rows.CompareRunsRow]


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Evaluation", 404)
    _add_cases(routes, server)

    @routes.get("/api/evals", response_model=Evals)
    async def list_evals(
        request: Request,
        _: Token,
        corpus: InCorpus = None,
        prefix: Prefix = "",
        after: After = "",
        count: Count | None = None,
    ) -> Answer:
        """List the evals of the contracts in force, with their latest run and their baseline.

        They come by the names of their rags: all, or `count` and what else the last rag has.
        """
        async with server.transaction(request) as db:
            listed = await db.list_evals(server.served(corpus), prefix, after, count)
        goes_on = next_after(listed, count, "rag")
        return Answer({"evals": personal.served(listed), "next": goes_on})

    @routes.get("/api/evals/runs", response_model=Runs, responses=failures())
    async def list_eval_runs(
        request: Request,
        _: Token,
        rag: Filter = None,
        eval: Filter = None,
        count: Count = 50,
        since: Annotated[AwareDatetime | None, Query(description="Begun then or later.")] = None,
    ) -> Answer:
        """List the latest runs, newest first."""
        async with server.transaction(request) as db:
            listed = await db.list_eval_runs(rag, eval, count, since)
        return Answer({"runs": personal.served(listed)})

    report: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The report.",
            "content": {
                media: {"schema": {} if media == MEDIA["json"] else {"type": "string"}}
                for media in dict.fromkeys(MEDIA.values())
            },
        }
    }

    @routes.get(
        "/api/evals/runs/{id}/report", response_class=Response, responses=failures(404) | report
    )
    async def eval_report(
        request: Request, id: UUID, _: Token, format: Annotated[Format, Query()] = "json"
    ) -> Response:
        """Return the report of a run."""
        async with server.transaction(request) as db:
            await personal.served_run(db, id)
            made = await db.eval_report(id, format)
        return Response(made, media_type=MEDIA[format])


def _add_cases(routes: Routes, server: Server) -> None:
    @routes.get("/api/evals/cases", response_model=EvalCases)
    async def list_cases(
        request: Request,
        _: Token,
        rag: Annotated[str, Query(min_length=1, max_length=200)],
        eval: Filter = None,
        after: AfterCase = 0,
        count: Count | None = None,
    ) -> Answer:
        """List the cases of an eval: those of its contract, imported ones, questions asked.

        They are all, or `count` of them.
        """
        async with server.transaction(request) as db:
            await personal.check_rag_served(db, rag)
            listed = await db.list_eval_cases(rag, eval, after, count)
        goes_on = next_after(listed, count, "case_no")
        return Answer({"cases": listed, "next": goes_on})

    @routes.post("/api/evals/cases", status_code=201, response_model=Case)
    async def add_case(request: Request, body: NewCase, _: Token) -> Answer:
        """Make a case of a question; it fails until the question is answered."""
        async with server.transaction(request) as db:
            await personal.check_rag_served(db, body.rag)
            return Answer({"name": await db.add_eval_case(**body.model_dump())}, 201)

    @routes.get("/api/evals/runs/{id}", response_model=RunCases)
    async def get_run(
        request: Request, id: UUID, _: Token, after: AfterCase = 0, count: Count = 100
    ) -> Answer:
        """Return a run with `count` of its cases, what was tested of each, and their metrics.

        Those of the whole run (case 0) come with the first page.
        """
        async with server.transaction(request) as db:
            run = await personal.served_run(db, id)
            cases = await db.eval_case_results(id, after, count)
            last = cases[-1].case_no if cases else after
            found = {
                "run": run,
                "cases": cases,
                "assertions": await db.eval_assert_results(id, after, last),
                "metrics": await db.eval_metrics(id, after, last),
                "next": next_after(cases, count, "case_no"),
            }
        return Answer(found)

    @routes.get("/api/evals/runs/{id}/compare", response_model=Compared)
    async def compare(request: Request, id: UUID, baseline: UUID, _: Token) -> Answer:
        """Compare a run with another: the verdict, and each metric with interval and p."""
        async with server.transaction(request) as db:
            await personal.served_run(db, id)
            await personal.served_run(db, baseline)
            return Answer({"compared": list(await db.compare_runs(baseline, id))})
