"""What the routes ask of the database: which corpora are meant, and searches that wait."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import psycopg
from psycopg.types.json import Jsonb
from starlette.requests import Request

from ragdb.client.client import AsyncClient
from ragdb.client.corpora import searched
from ragdb.client.counting import FEW
from ragdb.client.rows import loads
from ragdb.errors import CorpusNotFound, RagdbError
from ragdb.http import personal
from ragdb.http.config import Config
from ragdb.http.counts import Requests
from ragdb.http.routes import not_json
from ragdb.http.spans import Spans, current, ids
from ragdb.http.transactions import Refused, Transactions
from ragdb.peers import asking

Found = TypeVar("Found")
Named = TypeVar("Named", bound=str | None)
Search = Callable[[AsyncClient, list[str]], Awaitable[Found]]

CLIENT = "ragdb serve"
RECORDED = 2.0  # seconds in which a failure is recorded, or is not: who asked has waited already


class Server(Transactions):
    """What the routes ask. Making one connects once. Raises psycopg.Error."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.spans = Spans(config.otlp, config.otlp_query_text)
        self.requests = Requests()
        self.threads = anyio.CapacityLimiter(config.max_requests)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the pool open; at the end send the spans that have not been sent."""
        async with super().running():
            yield
        await asyncio.to_thread(self.spans.end)

    async def readable(self, db: AsyncClient) -> list[str]:
        """The corpora that are searched where none is named; the manual is one that is named."""
        names = searched(await db.list_corpora())
        found = [name for name in names if name not in (personal.NAME, "system")]
        if not found:
            raise Refused(404, "CORPUS_NOT_FOUND", "there is no corpus to search")
        return found

    async def corpora(self, db: AsyncClient, given: Sequence[str] | None) -> list[str]:
        """The corpora of a request: those named, the server's, or all that its role may read."""
        if given is None and self.config.corpus is None:
            return await self.readable(db)
        return [self.served(name) for name in given or [str(self.config.corpus)]]

    def served(self, name: Named) -> Named:
        """The name of a corpus that is served, or None for none. Raises Refused."""
        personal.check_served(name, "CORPUS_NOT_FOUND", {"corpus": name})
        return name

    async def corpus(self, db: AsyncClient, given: str | None, anchors: Sequence[str] = ()) -> str:
        """The corpus of a request: named, the server's, or the only one that it can mean."""
        named = given or self.config.corpus
        if named is not None:
            return self.served(named)
        if anchors:
            found = await db.corpora_with_chunks(list(anchors))
            if not found:
                message = f"Slice generation failed: Anchor turn not found: {anchors[0][:80]}"
                raise Refused(404, "SLICE_FAILED", message)
        else:
            found = await self.readable(db)
        if len(found) > 1:
            raise Refused(
                409,
                "CORPUS_AMBIGUOUS",
                "more than one corpus qualifies: name one of them",
                {"corpora": found[:FEW], "more": len(found[FEW:])},
            )
        return found[0]

    async def when_ready(
        self,
        request: Request,
        named: Callable[[AsyncClient], Awaitable[list[str]]],
        query: str | None,
        mode: str | None,
        search: Search[Found],
        *,
        reads: bool = False,
    ) -> Found:
        """Search once the query (None: one that has its embedding) has what its corpora need.

        What only reads may be answered by a standby.
        """

        async def ask(db: AsyncClient) -> tuple[Found, ...]:
            corpora = await named(db)
            if query is None or await self._is_ready(db, corpora, query, mode):
                current(request).stage("prepare")
                return (await search(db, corpora),)
            return ()

        until = time.monotonic() + self.config.wait
        pause = 0.02
        while True:
            if reads:
                found = await self.read(request, ask)
            else:
                async with self.transaction(request) as db:
                    found = await ask(db)
            if found:
                return found[0]
            if time.monotonic() + pause > until:
                raise Refused(
                    503,
                    "SERVICE_UNAVAILABLE",
                    "no worker has embedded the query yet",
                    {"hint": "run `ragdb worker`, or ask with mode lexical"},
                    retry_after=1,
                )
            await asyncio.sleep(pause)
            pause = min(0.2, 1.5 * pause)

    async def _is_ready(
        self, db: AsyncClient, corpora: Sequence[str], query: str, mode: str | None
    ) -> bool:
        if await db.query_embedder(list(corpora), mode) is None:
            return True
        # the workers are asked for each at once
        return all([await db.prepare_query(corpus, query) for corpus in corpora])

    async def retrieve(
        self,
        request: Request,
        given: str | None,
        anchors: Sequence[str],
        query: str,
        mode: str | None,
        search: Callable[[AsyncClient, str], Awaitable[Found]],
        *,
        is_embedded: bool = False,
        **recorded: Any,
    ) -> Found:
        """Search one corpus when it is ready; a failure leaves its trace, too."""
        corpus: str | None = None
        began = time.perf_counter()

        async def named(db: AsyncClient) -> list[str]:
            nonlocal corpus
            corpus = await self.corpus(db, given, anchors)
            return [corpus]

        with self.spans.retrieval(request, query) as span:
            try:
                needs = None if is_embedded else query
                found = await self.when_ready(
                    request, named, needs, mode, lambda db, names: search(db, names[0])
                )
                span.stage("search")
                return found
            except (RagdbError, psycopg.errors.QueryCanceled) as error:
                span.failed(error.sqlstate)
                elapsed = 1000 * (time.perf_counter() - began)
                if corpus is not None:
                    more = {"mode": mode, **recorded}
                    await self.record_failure(request, corpus, query, error, elapsed, **more)
                raise
            finally:
                span.note(corpus=corpus, k=recorded.get("k"))

    async def record_failure(
        self,
        request: Request,
        corpus: str,
        query: str,
        error: psycopg.Error,
        elapsed: float,
        **asked: Any,
    ) -> None:
        """Leave the trace of a retrieval that raised an error after so many milliseconds."""
        with contextlib.suppress(psycopg.Error, Refused):
            async with self.transaction(request, min(RECORDED, self.config.timeout)) as db:
                if isinstance(error, CorpusNotFound):
                    await db.record_refusal(corpus, str(error.sqlstate))
                else:
                    await db.record_failure(
                        corpus,
                        query,
                        error.sqlstate or "XX000",
                        elapsed,
                        client=CLIENT,
                        **asked,
                        **ids(request),
                    )

    async def _with_peers(
        self, request: Request, given: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        """An answer of rag.query with those of the peers, where the server may ask them."""
        if not self.config.ask_peers or asking.ASKED_BY_PEER in request.headers:
            return answer
        corpus, asked = given["params"]["corpus"], given["input"]
        async with self.transaction(request) as db:
            followed = await db.list_peer_corpora(corpus)
        # no transaction is open while peers work
        answers = await anyio.to_thread.run_sync(
            asking.collect,
            followed,
            asked,
            self.config.allow_private_peers,
            limiter=self.threads,
        )
        async with self.transaction(request) as db:
            merged: dict[str, Any] = await db.merge_peer_answers(
                corpus, answer, answers, int(asked.get("k", 5))
            )
        return merged

    async def invoke(
        self, request: Request, name: str, timeout: float, body: bytes
    ) -> tuple[dict[str, Any], str | None]:
        """Call a capability until it answers or the time to wait is over; with its trace's id."""
        try:
            given = loads(body)
        except ValueError as error:
            raise Refused(400, "BAD_REQUEST", not_json(error)) from None
        until = time.monotonic() + self.config.wait
        while True:
            async with self.transaction(request, timeout) as db:
                function = getattr(db, name.replace(".", "_"))
                answer: dict[str, Any] = await function(Jsonb(given))
                trace = None
                if name == "rag.query" and "output" in answer:
                    trace = str(await db.last_trace_id())
            pause = answer.get("retry_after_ms", 0) / 1000
            if answer.get("error") != "partition" or time.monotonic() + pause > until:
                if trace is not None:
                    answer = await self._with_peers(request, given, answer)
                return answer, trace
            await asyncio.sleep(pause)
