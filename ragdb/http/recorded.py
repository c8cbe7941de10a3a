"""What was recorded and how it stands: answers, gates, unanswered questions, traffic, queues."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import FastAPI, Path, Query, Request
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.counting import LISTED
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http import personal
from ragdb.http.gate import Answer
from ragdb.http.routes import After, Before, Count, Prefix, Routes, Token, failures, next_after
from ragdb.http.server import Server

Corpus = Annotated[
    str | None, Query(min_length=1, max_length=64, description="Name of a corpus. Default: all.")
]
Since = Annotated[AwareDatetime | None, Query(description="Only what was recorded from then on.")]


class Answers(m.Latest):
    answers: list[rows.RecordedAnswer]


class AnswerWithCitations(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    answer: rows.RecordedAnswer
    citations: list[rows.ListCitationsRow]


class Gates(m.Latest):
    gates: list[rows.RecordedGate]


class Unanswered(m.Latest):
    questions: list[rows.UnansweredQuestion]


class Traffic(BaseModel):
    traffic: list[rows.TrafficRow]


class Space(BaseModel):
    """A space of embeddings, as `ragdb.embedding_status` has it."""

    model_config = ConfigDict(extra="allow")
    corpus: str
    embedder: str
    state: str
    coverage: float = Field(description="Share of the chunks that have a vector, 0 to 1.")
    backlog: int = Field(description="Chunks that wait for one.")


class Totals(BaseModel):
    """What all corpora together have, and how long the lists are of which some rows are shown."""

    corpora: int
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    spaces: int
    jobs: int
    advice: int
    faults: int = Field(description="How much of the advice is about faults.")


class Status(BaseModel):
    """Of each list the first; the next page of spaces begins after `next`, null at the end."""

    has_worker: bool
    totals: Totals
    spaces: list[Space]
    jobs: list[rows.JobStatusRow]
    advice: list[rows.Advice] = Field(description="What is to be done, and how; faults first.")
    next: str | None


class Map(BaseModel):
    points: list[rows.MapPoint]


def register(app: FastAPI, server: Server) -> None:
    _add_evidence(Routes(app, "Answers", 404), server)
    _add_state(app, server)


def _add_evidence(routes: Routes, server: Server) -> None:
    @routes.get("/api/answers", response_model=Answers)
    async def list_answers(
        request: Request,
        _: Token,
        corpus: Corpus = None,
        since: Since = None,
        count: Count = 50,
        before: Before = None,
    ) -> Answer:
        """List recorded answers, newest first, with the verdict on their citations."""
        _check(server, corpus)
        async with server.transaction(request) as db:
            listed = await db.list_answers(corpus, since, count, before)
        shown = personal.served(listed)
        return Answer({"answers": shown, "next": next_after(listed, count, "answer_id")})

    @routes.get("/api/answers/{id}", response_model=AnswerWithCitations)
    async def get_answer(request: Request, id: UUID, _: Token) -> Answer:
        """Return a recorded answer with the chunks that it cites and what is wrong with each."""
        async with server.transaction(request) as db:
            found = await served_answer(db, id)
            return Answer({"answer": found, "citations": list(await db.list_citations(id))})

    @routes.get("/api/gates", response_model=Gates)
    async def list_gates(
        request: Request,
        _: Token,
        corpus: Corpus = None,
        since: Since = None,
        count: Count = 50,
        before: Before = None,
    ) -> Answer:
        """List the decisions whether evidence was enough, newest first."""
        _check(server, corpus)
        async with server.transaction(request) as db:
            listed = await db.list_gates(corpus, since, count, before)
        shown = personal.served(listed)
        return Answer({"gates": shown, "next": next_after(listed, count, "gate_id")})

    @routes.get("/api/unanswered", response_model=Unanswered)
    async def list_unanswered(
        request: Request,
        _: Token,
        corpus: Corpus = None,
        since: Since = None,
        count: Count = 50,
        before: Before = None,
    ) -> Answer:
        """List the questions without an answer, the latest first, with the cases that ask them."""
        _check(server, corpus)
        async with server.transaction(request) as db:
            listed = await db.list_unanswered(corpus, since, count, before)
        shown = personal.served(listed)
        return Answer({"questions": shown, "next": next_after(listed, count, "trace_id")})


def _add_state(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Health")

    @routes.get("/api/traffic", response_model=Traffic)
    async def traffic(
        request: Request,
        since: AwareDatetime,
        _: Token,
        until: AwareDatetime | None = None,
        corpus: Corpus = None,
    ) -> Answer:
        """Return retrievals by hour of a span of at most seven days, by day of a longer one."""
        _check(server, corpus)
        async with server.transaction(request) as db:
            return Answer({"traffic": list(await db.traffic(since, until, corpus))})

    @routes.get("/api/status", response_model=Status)
    async def status(
        request: Request, _: Token, prefix: Prefix = "", after: After = "", count: Count = LISTED
    ) -> Answer:
        """Return how far the embeddings of corpora are, what workers have yet to do, and advice.

        The spaces come by the names of their corpora: `count` and what else the last corpus has.
        """
        async with server.transaction(request) as db:
            listed = await db.embedding_status(None, False, prefix, after, count)
            spaces = [record(row) for row in personal.served(listed)]
            for space in spaces:
                oldest = space.pop("oldest")
                space["oldest_s"] = oldest and oldest.total_seconds()
            jobs = personal.served(await db.job_status())
            has_worker = await db.has_worker()
            advice = personal.served(await db.advice())
            totals = record(await db.count_corpora(with_personal=False))
        faults = sum(row.is_fault for row in advice)
        totals |= {"jobs": len(jobs), "advice": len(advice), "faults": faults}
        return Answer(
            {
                "has_worker": has_worker,
                "totals": totals,
                "spaces": spaces,
                "jobs": jobs[:count],
                "advice": advice[:count],
                "next": next_after(listed, count, "corpus"),
            }
        )

    @app.get(
        "/api/corpora/{corpus}/map", tags=["Corpora"], response_model=Map, responses=failures(404)
    )
    async def corpus_map(
        request: Request,
        corpus: Annotated[str, Path(min_length=1, max_length=64)],
        _: Token,
        count: Annotated[int, Query(ge=1, le=2000)] = 2000,
        query: Annotated[str | None, Query(max_length=4096)] = None,
    ) -> Answer:
        """Return chunks as points of a plane, near each other where their embeddings are.

        The place of a query whose embedding is known comes last, without a chunk.
        """
        server.served(corpus)
        async with server.transaction(request) as db:
            return Answer({"points": list(await db.map_corpus(corpus, count, query))})


async def served_answer(db: AsyncClient, id: UUID) -> rows.RecordedAnswer:
    answer = await db.get_answer(id)
    personal.check_served(answer.corpus, "ANSWER_NOT_FOUND")
    return answer


def _check(server: Server, corpus: str | None) -> None:
    if corpus is not None:
        server.served(corpus)
