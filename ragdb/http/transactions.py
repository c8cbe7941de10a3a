"""The database behind the routes: a pool, and a role for each transaction."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request

from ragdb.client import upkeep
from ragdb.client.client import AsyncClient, Client
from ragdb.client.connecting import connect, options
from ragdb.http.config import Config
from ragdb.server import signing
from ragdb.version import __version__

log = logging.getLogger("ragdb.http")
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


class Transactions:
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
