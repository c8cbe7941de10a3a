"""Feedback: a verdict on a hit, a retrieval or an answer, by a form that works without script."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from ragdb.client.client import AsyncClient
from ragdb.http import personal
from ragdb.http.transactions import Refused
from ragdb.studio import sessions
from ragdb.studio.pages import Studio, address

CLIENT = "ragdb studio"


def register(router: APIRouter, studio: Studio) -> None:
    @router.post("/feedback")
    async def feedback(request: Request) -> Response:
        fields = await sessions.form_of(request)
        async with studio.transaction(request) as db:
            trace = fields.get("trace_id") or await _traced(db, fields)
            corpus = (await db.get_trace(trace)).corpus
            personal.check_served(corpus, "TRACE_NOT_FOUND")
            await db.record_feedback(
                fields.get("verdict", ""),
                trace,
                fields.get("answer_id") or None,
                fields.get("chunk_id") or None,
                fields.get("comment", "").strip() or None,
                CLIENT,
            )
        # so that who loads the page again, or comes back to it, records nothing twice
        about = {"trace": trace, "verdict": fields["verdict"], "next": fields.get("next")}
        return sessions.lead(request, address("/feedback", **about))

    @router.get("/feedback")
    async def given(request: Request, trace: UUID, verdict: str, next: str = "") -> HTMLResponse:
        async with studio.transaction(request) as db:
            corpus = (await db.get_trace(trace)).corpus
        personal.check_served(corpus, "TRACE_NOT_FOUND")
        return studio.page(
            request,
            "feedback_given.html",
            verdict="good" if verdict == "good" else "bad",
            trace=trace,
            corpus=corpus,
            next=sessions.inside(next),
        )


async def _traced(db: AsyncClient, fields: dict[str, str]) -> str:
    """A search leaves no trace, and feedback is about one: the same search again, recorded."""
    how: dict[str, Any] = {"mode": fields.get("mode"), "syntax": fields.get("syntax", "plain")}
    try:
        how["k"] = int(fields.get("k", "5"))
        for name, read in (("weight", float), ("per_document", int)):
            if fields.get(name):
                how["lexical_weight" if name == "weight" else name] = read(fields[name])
    except ValueError:
        raise Refused(400, "BAD_REQUEST", "a field is not a number") from None
    personal.check_served(fields.get("corpus"), "CORPUS_NOT_FOUND")
    hits = await db.retrieve(fields.get("corpus", ""), fields.get("q", ""), client=CLIENT, **how)
    return str(hits.trace_id)
