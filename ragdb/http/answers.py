"""Answers from evidence, whole or told as they come about; packs of evidence; citations."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.evidence.outputs import holds
from ragdb.http import models as m
from ragdb.http.asking import EVENTS, Asked, Question
from ragdb.http.gate import Answer
from ragdb.http.records import served_trace
from ragdb.http.routes import Routes, Token, failures
from ragdb.http.server import Server
from ragdb.http.transactions import Refused

Context = Annotated[
    int | None, Field(ge=1, le=10_000_000, description="Size of the evidence in `unit`s at most.")
]


class Pack(m.Body):
    """The hits of a trace, or chunks of a corpus by their ids."""

    trace_id: Annotated[UUID | None, Field(strict=False)] = None
    chunk_ids: Annotated[list[m.ChunkId] | None, Field(min_length=1, max_length=10000)] = None
    corpus: m.Corpus = None
    max_context: Context = None
    unit: Literal["token", "char"] = "token"


class Citations(m.Body):
    """An output that cites, and the evidence that it had: a pack, a trace, or chunks by ids."""

    output: dict[str, Any]
    evidence: dict[str, Any] | None = None
    trace_id: Annotated[UUID | None, Field(strict=False)] = None
    chunk_ids: Annotated[list[m.ChunkId] | None, Field(min_length=1, max_length=10000)] = None
    corpus: m.Corpus = None
    require_citations: bool = True


class Cited(BaseModel):
    """The words of a chunk that an answer rests on.

    `start` and `end` are their place in the chunk, `answer_start` and `answer_end` that of what
    rests on them in the answer. A model may leave out what has a default.
    """

    model_config = ConfigDict(extra="allow")
    source_id: str = ""
    chunk_id: str
    page: int | None = None
    quote: str = ""
    start: int | None = None
    end: int | None = None
    answer_start: int | None = None
    answer_end: int | None = None


class Gate(BaseModel):
    """Whether the evidence is enough, and what it lacks."""

    model_config = ConfigDict(extra="allow")
    enough: bool
    chunks: int
    best_score: float | None
    terms: int
    coverage: float
    missing_terms: list[str]
    read_as: dict[str, dict[str, float]]
    names: list[str]
    rank_mode: str | None
    min_chunks: int
    min_score: float
    min_score_by: Literal["caller", "corpus", "none"]
    min_coverage: float


class Told(BaseModel):
    """What the task returned, and what is known of it.

    `note` is what the database said, such as what it searched without.

    An output with `problems` has not been verified and is not to be shown as an answer. Where a
    model wrote it, `answer` and `citations` are as the model wrote them.
    """

    model_config = ConfigDict(extra="allow")
    answer: str = ""
    citations: list[Cited] = []
    insufficient_evidence: bool = False
    support: float | None = None
    unnamed: list[str] = []
    status: Literal["answered", "insufficient", "unverified", "failed"]
    reason: str | None
    note: str | None
    problems: list[str]
    proves: str
    gate: Gate | None
    evidence_hash: str | None
    trace_id: str | None
    trace_summary: dict[str, Any]


class Evidence(BaseModel):
    """A chunk of a pack; what it does not have is left out."""

    model_config = ConfigDict(extra="allow")
    n: int
    source_id: str
    chunk_id: str
    text: str
    is_cut: bool
    score: float | None = None
    title: str | None = None
    heading: list[str]
    page: int | None = None


class Omitted(BaseModel):
    """A chunk that is not in a pack: it had no room, is gone, or has changed."""

    source_id: str | None
    chunk_id: str
    reason: Literal["budget", "gone", "changed"]


class PackAnswer(BaseModel):
    corpus: str
    canonical_text: str
    hash: str
    sha256: str
    chunks: list[Evidence]
    omitted: list[Omitted]


class CitationsAnswer(BaseModel):
    valid: bool
    problems: list[str]
    checks: list[rows.CheckCitationsRow]


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Answers", 404, 409)

    told: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The answer; as text/event-stream, with Accept, the stages before it: "
            "plan, evidence, gate, attempt, then answer, or error.",
            "content": {EVENTS: {"schema": {"type": "string"}}},
        }
    }

    @routes.post("/api/ask", response_model=Told, responses=failures(404, 409) | told)
    async def ask(request: Request, body: Question, _: Token) -> Response:
        """Answer a question from a corpus; retrieval, gate and answer are recorded."""
        if body.by == "model" and server.config.model is None:
            hint = {"hint": "ragdb serve --model NAME"}
            raise Refused(400, "BAD_REQUEST", "this server has no model that answers", hint)
        asked = Asked(server, request, body)
        if EVENTS in request.headers.get("accept", ""):
            return await asked.stream()
        return Answer(await asked.run())

    @routes.post("/api/packs", response_model=PackAnswer)
    async def build_evidence_pack(request: Request, body: Pack, _: Token) -> Answer:
        """Pack the hits of a trace, or chunks, into one text."""
        _one_of(trace_id=body.trace_id, chunk_ids=body.chunk_ids)
        async with server.transaction(request) as db:
            return Answer(await _packed(server, db, body, body.max_context, body.unit))

    @routes.post("/api/citations", response_model=CitationsAnswer)
    async def citations(request: Request, body: Citations, _: Token) -> Answer:
        """Check that what an output cites is in its evidence and says it. Nothing is recorded."""
        _one_of(evidence=body.evidence, trace_id=body.trace_id, chunk_ids=body.chunk_ids)
        async with server.transaction(request) as db:
            evidence = body.evidence
            if evidence is None:
                evidence = await _packed(server, db, body)
            else:
                named = await db.evidence_provenance(evidence)
                server.served(named.corpus)
                for trace in named.trace_ids:
                    await served_trace(db, trace)
            required = body.require_citations
            problems = await db.validate_citations(body.output, evidence, required)
            checks = await db.check_citations(body.output, evidence, require_citations=required)
        return Answer({"valid": holds(problems, checks), "problems": problems, "checks": checks})


def _one_of(**given: Any) -> None:
    if sum(value is not None for value in given.values()) != 1:
        raise Refused(400, "BAD_REQUEST", f"give one of {', '.join(given)}")


async def _packed(
    server: Server,
    db: AsyncClient,
    body: Pack | Citations,
    most: int | None = None,
    unit: str = "token",
) -> dict[str, Any]:
    corpus = None
    if body.trace_id is not None:
        await served_trace(db, body.trace_id)
    else:
        corpus = await server.corpus(db, body.corpus, body.chunk_ids or ())
    made: dict[str, Any] = await db.build_evidence_pack(
        body.trace_id, body.chunk_ids, corpus, most, unit
    )
    return made
