"""Answers from evidence, whole or told as they come about; packs of evidence; citations."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

import anyio
import anyio.to_thread
import psycopg
from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.rows import dumps
from ragdb.errors import RagdbError
from ragdb.evidence.database import CorpusRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.tasks import RagPolicy
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.problems import as_error
from ragdb.http.records import served_trace
from ragdb.http.routes import Token, failures
from ragdb.http.server import CLIENT, Server
from ragdb.http.spans import current, ids
from ragdb.http.transactions import Refused

EVENTS = "text/event-stream"
QUIET = 15.0  # seconds after which a stream says that it is alive
PLACE = ("n", "source_id", "chunk_id", "title", "heading", "page", "score", "is_cut")
Context = Annotated[
    int | None, Field(ge=1, le=10_000_000, description="Size of the evidence in `unit`s at most.")
]


class Question(m.Body):
    """A question that a corpus answers."""

    question: m.Query
    corpus: m.Corpus = None
    k: Annotated[int, Field(ge=1, le=1000, description="Chunks of evidence at most.")] = 8
    mode: m.Mode = None
    max_context: Annotated[
        int | None, Field(ge=1, le=10_000_000, description="Tokens of evidence at most.")
    ] = None
    sentences: Annotated[int, Field(ge=1, le=20, description="Sentences at most.")] = 2
    by: Annotated[
        Literal["sentences", "model"] | None,
        Field(description="What answers: the server's model where it has one, else sentences."),
    ] = None


class Pack(m.Body):
    """The hits of a trace, or chunks of a corpus by their ids."""

    trace_id: Annotated[UUID | None, Field(strict=False)] = None
    chunk_ids: Annotated[list[m.TurnId] | None, Field(min_length=1, max_length=10000)] = None
    corpus: m.Corpus = None
    max_context: Context = None
    unit: Literal["token", "char"] = "token"


class Citations(m.Body):
    """An output that cites, and the evidence that it had: a pack, a trace, or chunks by ids."""

    output: dict[str, Any]
    evidence: dict[str, Any] | None = None
    trace_id: Annotated[UUID | None, Field(strict=False)] = None
    chunk_ids: Annotated[list[m.TurnId] | None, Field(min_length=1, max_length=10000)] = None
    corpus: m.Corpus = None
    require_citations: bool = True


class Told(BaseModel):
    """What the task returned, such as `answer` and `citations`, and what is known of it.

    An output with `problems` has not been verified and is not to be shown as an answer.
    """

    model_config = ConfigDict(extra="allow")
    problems: list[str]
    proves: str
    gate: dict[str, Any] | None
    evidence_hash: str | None
    trace_id: str | None
    trace_summary: dict[str, Any]


class PackAnswer(BaseModel):
    corpus: str
    canonical_text: str
    hash: str
    sha256: str
    chunks: list[dict[str, Any]]
    omitted: list[dict[str, Any]]


class CitationsAnswer(BaseModel):
    valid: bool
    problems: list[str]
    checks: list[rows.CheckCitationsRow]


class Bridge:
    """The database for code of another thread: each call is a transaction of the request's role."""

    def __init__(self, server: Server, request: Request) -> None:
        self.server, self.request = server, request
        self.loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        more = ids(self.request) if name == "retrieve" else {}

        async def call(*args: Any, **how: Any) -> Any:
            async with self.server.transaction(self.request) as db:
                return await getattr(db, name)(*args, **how, **more)

        return lambda *args, **how: self.wait(call(*args, **how))

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


class Gone(Exception):
    """Nobody waits for the answer."""


class Asked:
    """One question: the engine in a thread of its own, and what it tells on the way."""

    def __init__(self, server: Server, request: Request, body: Question) -> None:
        self.server, self.request, self.body = server, request, body
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.is_gone = False

    async def run(self) -> dict[str, Any]:
        """The answer. Raises what the database and Refused raise."""
        body, began = self.body, time.perf_counter()
        async with self.server.transaction(self.request) as db:
            corpus = await self.server.corpus(db, body.corpus)
            await db.corpus_info(corpus)
        bridge: Any = Bridge(self.server, self.request)

        def embed(text: str) -> None:
            bridge.wait(self._ready(corpus, text))

        engine = Engine(
            bridge,
            retriever=CorpusRetriever(bridge, corpus, mode=body.mode, embed=embed, client=CLIENT),
            task=None if body.by == "sentences" else self.server.config.model,
            policy=RagPolicy("on", body.k, True, body.max_context, True),
            sentences=body.sentences,
            client=CLIENT,
            told=self._hear,
        )
        with self.server.spans.answer(self.request, body.question) as span:
            span.note(corpus=corpus, k=body.k)
            try:
                work = self.server.threads
                answer = await anyio.to_thread.run_sync(
                    engine.run, body.question, limiter=work, abandon_on_cancel=True
                )
            except (RagdbError, psycopg.errors.QueryCanceled) as error:
                span.failed(error.sqlstate)
                elapsed = 1000 * (time.perf_counter() - began)
                await self.server.record_failure(
                    self.request, corpus, body.question, error, elapsed, k=body.k, mode=body.mode
                )
                raise
            except ValueError as error:
                raise Refused(400, "BAD_REQUEST", str(error)) from None
            found = answer.as_json()
            enough = answer.gate["enough"] if answer.gate else None
            span.note(trace=found["trace_id"], enough=enough, problems=len(answer.problems))
            return found

    async def _ready(self, corpus: str, text: str) -> None:
        async def named(_: AsyncClient) -> list[str]:
            return [corpus]

        async def nothing(*_: Any) -> None:
            return None

        await self.server.when_ready(self.request, named, text, self.body.mode, nothing)

    def _hear(self, stage: str, what: dict[str, Any]) -> None:
        """In the engine's thread."""
        if self.is_gone:
            raise Gone
        current(self.request).stage(stage)
        if stage == "evidence":
            chunks = [{name: chunk.get(name) for name in PLACE} for chunk in what["chunks"]]
            what = {**what, "chunks": chunks}
        self.loop.call_soon_threadsafe(self.told.put_nowait, (stage, what))

    async def stream(self) -> Response:
        """Events, once there is one; a failure before it is answered as ever."""
        work = asyncio.create_task(self.run())
        work.add_done_callback(lambda _: self.told.put_nowait(("", None)))
        first = await self.told.get()
        if first[0] == "" and work.exception() is not None:
            await work
        return StreamingResponse(
            self._events(work, first),
            media_type=EVENTS,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def _events(
        self, work: asyncio.Task[dict[str, Any]], event: tuple[str, Any]
    ) -> AsyncIterator[str]:
        try:
            while event[0]:
                yield _event(*event)
                while True:
                    try:
                        event = await asyncio.wait_for(self.told.get(), QUIET)
                        break
                    except TimeoutError:
                        yield ": still at work\n\n"
            try:
                yield _event("answer", await work)
            except Exception as problem:
                made = await as_error(self.request, problem)
                yield _event("error", json.loads(bytes(made.body)))
        finally:
            self.is_gone = True


def _event(name: str, what: Any) -> str:
    return f"event: {name}\ndata: {dumps(what)}\n\n"


def register(app: FastAPI, server: Server) -> None:
    told: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The answer; as text/event-stream, with Accept, the stages before it: "
            "plan, evidence, gate, attempt, then answer, or error.",
            "content": {EVENTS: {"schema": {"type": "string"}}},
        }
    }

    @app.post(
        "/api/ask",
        tags=["Answers"],
        response_model=Told,
        responses=failures(404, 409) | told,
    )
    async def ask(request: Request, body: Question, _: Token) -> Response:
        """Answer a question from a corpus; retrieval, gate and answer are recorded."""
        if body.by == "model" and server.config.model is None:
            hint = {"hint": "ragdb serve --model NAME"}
            raise Refused(400, "BAD_REQUEST", "this server has no model that answers", hint)
        asked = Asked(server, request, body)
        if EVENTS in request.headers.get("accept", ""):
            return await asked.stream()
        return Answer(await asked.run())

    @app.post(
        "/api/packs", tags=["Answers"], response_model=PackAnswer, responses=failures(404, 409)
    )
    async def pack(request: Request, body: Pack, _: Token) -> Answer:
        """Pack the hits of a trace, or chunks, into one text."""
        _one_of(trace_id=body.trace_id, chunk_ids=body.chunk_ids)
        async with server.transaction(request) as db:
            return Answer(await _packed(server, db, body, body.max_context, body.unit))

    @app.post(
        "/api/citations",
        tags=["Answers"],
        response_model=CitationsAnswer,
        responses=failures(404, 409),
    )
    async def citations(request: Request, body: Citations, _: Token) -> Answer:
        """Check that what an output cites is in its evidence and says it. Nothing is recorded."""
        _one_of(evidence=body.evidence, trace_id=body.trace_id, chunk_ids=body.chunk_ids)
        async with server.transaction(request) as db:
            evidence = body.evidence
            if evidence is None:
                evidence = await _packed(server, db, body)
            required = body.require_citations
            problems = await db.validate_citations(body.output, evidence, required)
            checks = await db.check_citations(body.output, evidence, require_citations=required)
        return Answer({"valid": not problems, "problems": problems, "checks": checks})


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
