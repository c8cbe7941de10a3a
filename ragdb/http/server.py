"""The database behind the routes: a pool, a role for each transaction, and waiting for workers."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request

from ragdb.client import upkeep
from ragdb.client.client import AsyncClient, Client
from ragdb.client.connecting import connect, options
from ragdb.client.rows import loads
from ragdb.errors import CorpusNotFound, RagdbError
from ragdb.http.config import Config
from ragdb.server import signing
from ragdb.version import __version__

log = logging.getLogger("ragdb.http")
Found = TypeVar("Found")

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
CLIENT = "ragdb serve"
UNKNOWN = "the token is unknown, revoked or expired"
TRUSTED = 5.0  # seconds

# One round trip: who asks, under which limit. set_config('role', …) is `set local role`, and needs
# the membership that it needs.
BECOME = """
  with asker as materialized (
    select case when %(hash)s::bytea is not null then ragdb.http_token_role(%(hash)s)
      when %(session)s::bytea is not null then ragdb.http_session_role(%(session)s)
      else %(anonymous)s::text end as role)
  select a.role, set_config('statement_timeout', %(timeout)s, true),
    case when a.role is not null then set_config('role', a.role, true) end
  from asker a"""


class Refused(Exception):
    """A request that ends with a status, a code and a reason."""

    def __init__(
        self, status: int, code: str, message: str, details: Any = None, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details
        self.retry_after = retry_after


class Server:
    """What the routes ask. Making one connects once. Raises psycopg.Error."""

    def __init__(self, config: Config) -> None:
        self.config = config
        conninfo = signing.with_keys(config.conninfo)
        self.pool = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=config.pool,
            max_waiting=config.max_requests,
            timeout=5,
            open=False,
            kwargs=options(config.conninfo, application_name=f"ragdb/{__version__} serve"),
            check=AsyncConnectionPool.check_connection,
            name="ragdb",
        )
        self._seen: dict[bytes, float] = {}
        with Client(connect(conninfo)) as db:
            self.statuses = {code.sqlstate: code.http_status for code in db.error_codes()}
            self.offered = db.capability_schemas()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the pool open, and keep the partitions of traces made ahead."""
        await self.pool.open(wait=True, timeout=10)
        upkeep = asyncio.create_task(self._maintain())
        try:
            yield
        finally:
            upkeep.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await upkeep
            await self.pool.close()

    async def _maintain(self) -> None:
        while True:
            try:
                async with self.pool.connection() as connection:
                    await self._maintain_as(connection)
            except psycopg.Error as error:
                log.warning("ragdb.maintain() failed: %s", error.diag.message_primary or error)
            await asyncio.sleep(6 * 3600)

    async def _maintain_as(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """As the login, or as the writer that it may become; whom neither lets leaves it be."""
        become = {"hash": None, "session": None, "anonymous": "ragdb_writer", "timeout": "60s"}
        for values in (None, become):
            with contextlib.suppress(*upkeep.REFUSED):
                async with connection.transaction():
                    if values:
                        await connection.execute(BECOME, values)
                    await AsyncClient(connection).maintain()
                return

    @asynccontextmanager
    async def transaction(
        self, request: Request, timeout: float | None = None, session: bytes | None = None
    ) -> AsyncIterator[AsyncClient]:
        """One transaction as the role of the request's token, or of a session by its hash.

        Raises Refused.
        """
        given = "" if session else request.headers.get("authorization", "")
        values = {
            "hash": None if session else self._digest(given),
            "session": session,
            "anonymous": self.config.anonymous_role,
            "timeout": f"{round(1000 * (timeout or self.config.timeout))}ms",
        }
        async with self.pool.connection() as connection:
            try:
                row = await (await connection.execute(BECOME, values)).fetchone()
            except (
                psycopg.errors.InsufficientPrivilege,
                psycopg.errors.InvalidParameterValue,
            ) as error:
                log.error("the server may not act for a token: %s", error.diag.message_primary)
                message = "the server may not act as the role of this token"
                raise Refused(503, "SERVICE_UNAVAILABLE", message) from None
            assert row is not None
            if row[0] is None:
                raise Refused(401, "UNAUTHORIZED", UNKNOWN)
            request.scope["role"] = row[0]
            yield AsyncClient(connection)

    async def open_session(self, token: bytes | None) -> str | None:
        """The secret of a new session of a browser, for a token's hash or the server's login."""
        async with self.pool.connection() as connection:
            return await AsyncClient(connection).open_http_session(token)

    async def close_session(self, session: bytes) -> None:
        async with self.pool.connection() as connection:
            await AsyncClient(connection).close_http_session(session)

    def _digest(self, authorization: str) -> bytes | None:
        """The hash of a token, by which the database knows it. Raises Refused."""
        scheme, _, token = authorization.partition(" ")
        if scheme and (scheme.lower() != "bearer" or not token.strip()):
            raise Refused(401, "UNAUTHORIZED", 'Authorization is not "Bearer" and a token')
        if not scheme and self.config.anonymous_role is None:
            hint = {"hint": "an admin makes tokens: ragdb token create"}
            raise Refused(401, "UNAUTHORIZED", "a bearer token is required", hint)
        return hashlib.sha256(token.strip().encode()).digest() if scheme else None

    async def admit(self, authorization: str) -> Refused | None:
        """Why the body of a request is not worth reading; None where it may be.

        A token that was good is taken for that some seconds, and its transaction asks again.
        """
        try:
            digest = self._digest(authorization)
        except Refused as problem:
            return problem
        now = time.monotonic()
        if digest is None or self._seen.get(digest, now) > now:
            return None
        try:
            async with self.pool.connection() as connection:
                role = await AsyncClient(connection).http_token_role(digest)
        except psycopg.Error:
            return None  # what the transaction answers is said in the same words
        if role is None:
            return Refused(401, "UNAUTHORIZED", UNKNOWN)
        self._seen = {known: until for known, until in self._seen.items() if until > now}
        self._seen[digest] = now + TRUSTED
        return None

    async def corpus(self, db: AsyncClient, given: str | None, anchors: Sequence[str]) -> str:
        """The corpus of a request: named, the server's, or the only one that it can mean."""
        named = given or self.config.corpus
        if named == "personal":
            raise Refused(
                404, "CORPUS_NOT_FOUND", "a personal corpus is not served", {"corpus": named}
            )
        if named is not None:
            return named
        if anchors:
            found = await db.corpora_with_chunks(list(anchors))
            if not found:
                message = f"Slice generation failed: Anchor turn not found: {anchors[0][:80]}"
                raise Refused(404, "SLICE_FAILED", message)
        else:
            corpora = await db.list_corpora()
            found = [c.name for c in corpora if c.name not in ("personal", "system")]
            if not found:
                raise Refused(404, "CORPUS_NOT_FOUND", "there is no corpus to search")
        if len(found) > 1:
            raise Refused(
                409,
                "CORPUS_AMBIGUOUS",
                "more than one corpus qualifies: name one as corpus",
                {"corpora": found},
            )
        return found[0]

    async def retrieve(
        self,
        request: Request,
        given: str | None,
        anchors: Sequence[str],
        query: str,
        mode: str | None,
        search: Callable[[AsyncClient, str], Awaitable[Found]],
        **recorded: Any,
    ) -> Found:
        """Search once the query has what the search needs; a failure leaves its trace, too."""
        until = time.monotonic() + self.config.wait
        pause = 0.02
        corpus: str | None = None
        began = time.perf_counter()
        try:
            while True:
                async with self.transaction(request) as db:
                    corpus = await self.corpus(db, given, anchors)
                    if mode in ("lexical", "reference") or await db.prepare_query(corpus, query):
                        return await search(db, corpus)
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
        except (RagdbError, psycopg.errors.QueryCanceled) as error:
            if corpus is not None and isinstance(error, CorpusNotFound):
                with contextlib.suppress(psycopg.Error, Refused):
                    async with self.transaction(request) as db:
                        await db.record_refusal(corpus, str(error.sqlstate))
            elif corpus is not None:
                with contextlib.suppress(psycopg.Error, Refused):
                    async with self.transaction(request) as db:
                        await db.record_failure(
                            corpus,
                            query,
                            error.sqlstate or "XX000",
                            1000 * (time.perf_counter() - began),
                            mode=mode,
                            client=CLIENT,
                            **recorded,
                            **span(request),
                        )
            raise

    async def invoke(
        self, request: Request, name: str, timeout: float, body: bytes
    ) -> tuple[dict[str, Any], str | None]:
        """Call a capability until it answers or the time to wait is over; with its trace's id."""
        try:
            given = loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "BAD_REQUEST", "the body is not JSON") from None
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
                return answer, trace
            await asyncio.sleep(pause)


def span(request: Request) -> dict[str, Any]:
    """The OpenTelemetry span of a request, by its traceparent, for the trace."""
    found = TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return {"otel_trace_id": found[1], "otel_span_id": found[2]} if found else {}
