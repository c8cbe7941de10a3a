"""Runs of evaluations, and their reports."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from ragdb.client._generated import rows
from ragdb.http.gate import Answer
from ragdb.http.routes import Token, failures
from ragdb.http.server import Server
from ragdb.http.transactions import Refused

Format = Literal["json", "table", "tap", "junit", "md", "csv"]
MEDIA = {"json": "application/json", "junit": "application/xml", "md": "text/markdown"}
MEDIA |= {"csv": "text/csv", "table": "text/plain", "tap": "text/plain"}
assert MEDIA.keys() == set(get_args(Format))
Filter = Annotated[str | None, Query(min_length=1, max_length=200)]


class Runs(BaseModel):
    runs: list[rows.EvalRuns]


def register(app: FastAPI, server: Server) -> None:
    @app.get("/api/evals/runs", tags=["Evaluation"], response_model=Runs, responses=failures())
    async def list_runs(
        request: Request,
        _: Token,
        rag: Filter = None,
        eval: Filter = None,
        count: Annotated[int, Query(ge=1, le=10000)] = 50,
    ) -> Answer:
        """List the latest runs, newest first."""
        async with server.transaction(request) as db:
            listed = await db.list_eval_runs(rag, eval, count)
        return Answer({"runs": [run for run in listed if run.corpus != "personal"]})

    report: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The report.",
            "content": {
                media: {"schema": {} if media == MEDIA["json"] else {"type": "string"}}
                for media in dict.fromkeys(MEDIA.values())
            },
        }
    }

    @app.get(
        "/api/evals/runs/{id}/report",
        tags=["Evaluation"],
        response_class=Response,
        responses=failures(404) | report,
    )
    async def run_report(
        request: Request, id: UUID, _: Token, format: Annotated[Format, Query()] = "json"
    ) -> Response:
        """Return the report of a run."""
        async with server.transaction(request) as db:
            if (await db.get_eval_run(id)).corpus == "personal":
                raise Refused(404, "RUN_NOT_FOUND", "a personal corpus is not served")
            made = await db.eval_report(id, format)
        return Response(made, media_type=MEDIA[format])
