"""What people say of retrievals, hits and answers."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import AwareDatetime, BaseModel, Field

from ragdb.client._generated import rows
from ragdb.http import models as m
from ragdb.http import personal
from ragdb.http.gate import Answer
from ragdb.http.recorded import served_answer
from ragdb.http.records import served_trace
from ragdb.http.routes import Before, Count, InCorpus, Routes, Token, failures, next_after
from ragdb.http.server import Server
from ragdb.http.transactions import Refused


class Feedback(m.Body):
    """A verdict on a retrieval, on one hit of it, or on an answer from it."""

    verdict: Literal["good", "bad"]
    trace_id: Annotated[UUID | None, Field(strict=False, description="Else the answer's.")] = None
    answer_id: Annotated[UUID | None, Field(strict=False)] = None
    chunk_id: m.ChunkId | None = None
    comment: Annotated[str | None, Field(max_length=4000)] = None
    client: Annotated[str | None, Field(max_length=200)] = None


class FeedbackAnswer(BaseModel):
    feedback_id: UUID


class FeedbackList(m.Latest):
    feedback: list[rows.ListFeedbackRow]


class Label(BaseModel):
    """What people said of a span of a document: grade 1 for good, 0 for bad."""

    source: str
    start: int
    end: int
    grade: Literal[0, 1]


class FeedbackCase(BaseModel):
    name: str
    query: str
    tags: list[str]
    labels: list[Label]


class FeedbackCases(BaseModel):
    """Cases in the order of their queries; the next page begins after `next`, null at the end."""

    next: str | None
    cases: list[FeedbackCase]


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Feedback", 404)

    @routes.post("/api/feedback", status_code=201, response_model=FeedbackAnswer)
    async def record_feedback(request: Request, body: Feedback, _: Token) -> Answer:
        """Record what a person says of a retrieval, of a hit of it, or of an answer."""
        async with server.transaction(request) as db:
            if body.trace_id is not None:
                await served_trace(db, body.trace_id)
            elif body.answer_id is not None:
                await served_answer(db, body.answer_id)
            else:
                raise Refused(400, "BAD_REQUEST", "neither trace_id nor answer_id is given")
            made = await db.record_feedback(
                body.verdict,
                body.trace_id,
                body.answer_id,
                body.chunk_id,
                body.comment,
                body.client,
            )
        return Answer({"feedback_id": made}, 201)

    @routes.get("/api/feedback", response_model=FeedbackList)
    async def list_feedback(
        request: Request,
        _: Token,
        corpus: InCorpus = None,
        since: Annotated[AwareDatetime | None, Query(description="Given then or later.")] = None,
        count: Count = 50,
        before: Before = None,
    ) -> Answer:
        """List the latest feedback of the role and on its retrievals; for an auditor, all."""
        async with server.transaction(request) as db:
            named = server.served(corpus) if corpus is not None else None
            listed = await db.list_feedback(named, since, count, before)
        shown = personal.served(listed, "corpus_name")
        return Answer({"feedback": shown, "next": next_after(listed, count, "feedback_id")})

    @routes.get("/api/feedback/cases", response_model=FeedbackCases, responses=failures(404, 409))
    async def feedback_cases(
        request: Request,
        _: Token,
        corpus: InCorpus = None,
        since: Annotated[AwareDatetime | None, Query(description="Given then or later.")] = None,
        after: Annotated[str, Query(max_length=32768, description="The last query seen.")] = "",
        count: Count | None = None,
    ) -> Answer:
        """Return the cases with labels that feedback makes for an eval: all, or `count` of them."""
        async with server.transaction(request) as db:
            named = await server.corpus(db, corpus)
            listed = await db.feedback_cases(named, since, after, count)
        goes_on = listed[-1]["query"] if len(listed) == count else None
        return Answer({"cases": listed, "next": goes_on})
