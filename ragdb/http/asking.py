"""A question on its way: the engine in a thread, and the events that tell of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
import psycopg
from fastapi import Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from ragdb.client.client import AsyncClient
from ragdb.client.notices import heard
from ragdb.client.rows import dumps
from ragdb.errors import RagdbError
from ragdb.evidence.asking import Asking, ask
from ragdb.http import models as m
from ragdb.http.hints import spoken
from ragdb.http.problems import as_error
from ragdb.http.search import Filter
from ragdb.http.server import CLIENT, Server
from ragdb.http.spans import current, ids
from ragdb.http.transactions import Refused

EVENTS = "text/event-stream"
QUIET = 15.0  # seconds after which a stream says that it is alive
PLACE = ("n", "source_id", "chunk_id", "title", "heading", "page", "score", "is_cut")


Named = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="One of a contract, with its corpus."),
]


class Question(m.Body):
    """A question that a corpus answers."""

    question: m.Query
    corpus: m.Corpus = None
    k: Annotated[
        int | None, Field(ge=1, le=1000, description="Chunks of evidence at most; 8 if absent.")
    ] = None
    mode: Annotated[
        Literal["off", "auto", "on", "required"],
        Field(description="Whether chunks are retrieved: off, auto, on or required."),
    ] = "on"
    rank_mode: m.Mode = None
    filter: Filter = None
    retriever: Named = None
    rag: Named = None
    max_context: Annotated[
        int | None, Field(ge=1, le=10_000_000, description="Tokens of evidence at most.")
    ] = None
    min_score: Annotated[
        float | None,
        Field(ge=0, le=1, description="Least best score to answer; the corpus's floor if absent."),
    ] = None
    sentences: Annotated[int, Field(ge=1, le=20, description="Sentences at most.")] = 2
    by: Annotated[
        Literal["sentences", "model"] | None,
        Field(description="What answers: the server's model where it has one, else sentences."),
    ] = None


class Bridge:
    """The database for code of another thread: each call is a transaction of the request's role.

    `notes` are what the database said meanwhile, once each.
    """

    def __init__(self, server: Server, request: Request) -> None:
        self.server, self.request = server, request
        self.notes: dict[str, None] = {}
        self.loop = asyncio.get_running_loop()
        self.call: Future[Any] | None = None
        self.is_over = False

    def __getattr__(self, name: str) -> Any:
        more = ids(self.request) if name in ("retrieve", "retrieve_with") else {}

        async def call(*args: Any, **how: Any) -> Any:
            async with self.server.transaction(self.request) as db:
                with heard(db.connection) as notes:
                    found = await getattr(db, name)(*args, **how, **more)
                self.notes |= dict.fromkeys(notes)
            return found

        return lambda *args, **how: self.wait(call(*args, **how))

    def wait(self, work: Any) -> Any:
        self.call = asyncio.run_coroutine_threadsafe(work, self.loop)
        if self.is_over:
            self.call.cancel()
        return self.call.result()

    def end(self) -> None:
        """Cancel the call at hand and each that comes: nobody waits for the answer."""
        self.is_over = True
        if self.call is not None:
            self.call.cancel()


class Asked:
    """One question: the engine in a thread of its own, and what it tells on the way."""

    def __init__(self, server: Server, request: Request, body: Question) -> None:
        self.server, self.request, self.body = server, request, body
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()

    async def run(self) -> dict[str, Any]:
        """The answer. Raises what the database and Refused raise."""
        body, began = self.body, time.perf_counter()
        async with self.server.transaction(self.request) as db:
            if body.retriever or body.rag:
                source = await db.ask_retriever(body.corpus, body.retriever, body.rag)
                corpus = self.server.served(str(source.corpus))
            else:
                corpus = await self.server.corpus(db, body.corpus)
                await db.corpus_info(corpus)
        bridge: Any = Bridge(self.server, self.request)

        def embed(text: str) -> None:
            bridge.wait(self._ready(corpus, text))

        asking: Asking = {
            "k": body.k,
            "mode": body.mode,
            "rank_mode": body.rank_mode,
            "filter": body.filter,
            "retriever": body.retriever,
            "rag": body.rag,
            "max_context": body.max_context,
            "min_score": body.min_score,
            "sentences": body.sentences,
            "model": None if body.by == "sentences" else self.server.config.model,
            "embed": embed,
            "client": CLIENT,
            "told": self._hear,
        }
        with self.server.spans.answer(self.request, body.question) as span:
            span.note(corpus=corpus, k=body.k)
            try:
                answer = await anyio.to_thread.run_sync(
                    lambda: ask(bridge, corpus, body.question, asking),
                    limiter=self.server.threads,
                    abandon_on_cancel=True,
                )
            except (RagdbError, psycopg.errors.QueryCanceled) as error:
                span.failed(error.sqlstate)
                elapsed = 1000 * (time.perf_counter() - began)
                await self.server.record_failure(
                    self.request,
                    corpus,
                    body.question,
                    error,
                    elapsed,
                    k=body.k,
                    mode=body.rank_mode,
                    filter=body.filter,
                )
                raise
            except ValueError as error:
                raise Refused(400, "BAD_REQUEST", str(error)) from None
            except asyncio.CancelledError:
                bridge.end()
                raise
            found = answer.as_json()
            enough = answer.gate["enough"] if answer.gate else None
            span.note(trace=found["trace_id"], enough=enough, problems=len(answer.problems))
            return {**found, "note": spoken(self.request, "\n".join(bridge.notes)) or None}

    async def _ready(self, corpus: str, text: str) -> None:
        async def named(_: AsyncClient) -> list[str]:
            return [corpus]

        async def nothing(*_: Any) -> None:
            return None

        await self.server.when_ready(self.request, named, text, self.body.rank_mode, nothing)

    def _hear(self, stage: str, what: dict[str, Any]) -> None:
        """In the engine's thread."""
        current(self.request).stage(stage)
        if stage == "evidence":
            chunks = [{name: chunk.get(name) for name in PLACE} for chunk in what["chunks"]]
            what = {**what, "chunks": chunks}
        self.loop.call_soon_threadsafe(self.told.put_nowait, (stage, what))

    async def stream(self) -> Response:
        """Events, once there is one; a failure before it is answered as ever."""
        work = asyncio.create_task(self.run())
        # who has left does not ask what came of it
        work.add_done_callback(
            lambda done: self.told.put_nowait(("", done.cancelled() or done.exception()))
        )
        try:
            first = await self.told.get()
        except asyncio.CancelledError:
            work.cancel()
            raise
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
            work.cancel()


def _event(name: str, what: Any) -> str:
    return f"event: {name}\ndata: {dumps(what)}\n\n"
