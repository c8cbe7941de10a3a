"""What stands before every route: correlation id, limits, access log, the last word on errors."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragdb.client.rows import plain
from ragdb.http import leaving
from ragdb.http.admission import Arrivals, has_body, misdirected, two_lengths
from ragdb.http.counts import Requests

log = logging.getLogger("ragdb.http")
access = logging.getLogger("ragdb.http.access")

CORRELATION = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEALTH = ("/health", "/live", "/ready")
PAGES = "/studio/"
MOST_OF_A_FORM = 64 * 2**10  # bytes
# statuses of the words that a capability answers with
STATUSES = {
    "bad_request": 400,
    "unauthorized": 401,
    "not_found": 404,
    "timeout": 408,
    "conflict": 409,
    "rate_limited": 429,
    "capacity_exceeded": 429,
    "internal_error": 500,
    "partition": 503,
}
WORDS = {status: word for word, status in STATUSES.items()}


class Answer(JSONResponse):
    """JSON with UUIDs, times and bytes (hex) as texts."""

    def render(self, content: Any) -> bytes:
        return json.dumps(
            content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain
        ).encode()


def error(
    scope: Mapping[str, Any],
    status: int,
    code: str,
    message: str,
    details: Any = None,
    **more: str,
) -> Response:
    """An error's answer; `more` are headers. That of a capability has its wire word as error.

    A browser gets a page.
    """
    body = {
        "error": message,
        "code": code,
        "correlation_id": scope["correlation_id"],
        "details": details,
    }
    if scope["path"].startswith("/capabilities/"):
        body |= {"error": WORDS.get(status, "bad_request"), "message": message}
        if "Retry_After" in more:
            body["retry_after_ms"] = 1000 * int(more["Retry_After"])
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    if is_browser(scope):
        page: Response = scope["app"].state.error_page(Request(dict(scope)), status, body)
        page.headers.update(headers)
        return page
    if status == 401:
        headers.setdefault("WWW-Authenticate", "Bearer")
    return Answer(body, status, headers)


def is_browser(scope: Mapping[str, Any]) -> bool:
    """Whether a page is asked for: a browser names text/html before all else."""
    accept = b"".join(value for name, value in scope["headers"] if name == b"accept")
    asked = scope["path"].startswith(PAGES) or accept.startswith(b"text/html")
    return asked and hasattr(scope["app"].state, "error_page")


class Answerable(Protocol):
    """A refusal: `ragdb.http.server.Refused`."""

    status: int
    code: str
    details: Any


class Gate:
    """ASGI middleware around all routes.

    The log has one JSON object a request: the route's template, never its path, query or body.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        admit: Callable[[str], Awaitable[Answerable | None]],
        hosts: Collection[str],
        max_body: int,
        max_blob: int,
        max_requests: int,
        stall: float,
        counts: Requests,
    ) -> None:
        self.counts = counts
        self.app, self.admit, self.hosts = app, admit, hosts
        self.max_body, self.max_blob, self.max_requests = max_body, max_blob, max_requests
        self.stall = stall
        self.at_work = 0
        self.arrivals = Arrivals(max_requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        method = scope["method"]
        # what GET answers, of which the protocol leaves the body out
        scope = {**scope, "method": "GET" if method == "HEAD" else method}
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        given = headers.get("x-correlation-id", b"").decode("latin-1")
        scope["correlation_id"] = given if CORRELATION.fullmatch(given) else str(uuid.uuid4())
        scope["role"] = None
        status = 499  # the client was gone before the answer

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-correlation-id", scope["correlation_id"].encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
                if "position" in scope:
                    position = (b"x-ragdb-position", scope["position"].encode())
                    message["headers"].append(position)
            await send(message)

        try:
            await self._pass(scope, headers, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", None)
            seconds = time.perf_counter() - began
            self.counts.add(method, route, status, seconds)
            access.info(
                json.dumps(
                    {
                        "at": datetime.now().astimezone().isoformat(timespec="milliseconds"),
                        "method": method,
                        "route": route,
                        "status": status,
                        "ms": round(1000 * seconds, 2),
                        "role": scope["role"],
                        **({"answered_by": scope["answered_by"]} if "answered_by" in scope else {}),
                        "correlation_id": scope["correlation_id"],
                    }
                )
            )

    async def _pass(
        self, scope: Scope, headers: Mapping[str, bytes], receive: Receive, send: Send
    ) -> None:
        is_form = scope["path"].startswith(PAGES)
        limit = self.max_blob if scope["path"] == "/api/blobs" else self.max_body
        limit = min(limit, MOST_OF_A_FORM) if is_form else limit
        refused = self._misshapen(scope, headers, limit)
        # who sends a form is known by a cookie, or says it in the form
        if refused is None and has_body(headers) and not is_form:
            refused = await self._unwanted(scope, headers)
        arriving = None
        if refused is None and has_body(headers):
            arriving = await self.arrivals.begin(scope.get("client"))
            if arriving is None:
                refused = self._busy(scope)
        if refused is None and self._is_full(scope):  # others came while it waited to arrive
            refused = self._busy(scope)
            self.arrivals.end(arriving)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._run(scope, receive, send, limit, arriving)

    def _misshapen(self, scope: Scope, headers: Mapping[str, bytes], limit: int) -> Response | None:
        host = headers.get("host")
        if host is not None and misdirected(host.decode("latin-1"), self.hosts):
            hint = {"hint": "ragdb serve --allow-host NAME allows a name"}
            return error(scope, 400, "BAD_REQUEST", "the Host is not a name of this server", hint)
        if two_lengths(headers):
            message = "the request has a Content-Length and a Transfer-Encoding"
            return error(scope, 400, "BAD_REQUEST", message, Connection="close")
        coding = headers.get("content-encoding", b"").decode("latin-1")
        if coding.strip().lower() not in ("", "identity"):  # a blob would be kept compressed
            message = f"body: its Content-Encoding is {coding[:40]!r}"
            hint = {"hint": "send the body as it is"}
            return error(scope, 400, "BAD_REQUEST", message, hint, Connection="close")
        if int(headers.get("content-length", b"0")) > limit:  # h11 lets digits alone through
            return self._too_large(scope, limit)
        return None

    async def _unwanted(self, scope: Scope, headers: Mapping[str, bytes]) -> Response | None:
        """The answer to who may not ask at all, before anything is read of the body."""
        problem = await self.admit(headers.get("authorization", b"").decode("latin-1"))
        if problem is None:
            return None
        return error(
            scope, problem.status, problem.code, str(problem), problem.details, Connection="close"
        )

    def _is_full(self, scope: Scope) -> bool:
        return self.at_work >= self.max_requests and not scope["path"].startswith(HEALTH)

    def _busy(self, scope: Scope) -> Response:
        return error(
            scope,
            429,
            "CAPACITY_EXCEEDED",
            f"the server is at work on as many requests as it may, {self.max_requests}, or waits"
            " for the bodies of a quarter as many from this address",
            {"hint": "try again in a moment"},
            Retry_After="1",
        )

    async def _run(
        self, scope: Scope, receive: Receive, send: Send, limit: int, arriving: str | None
    ) -> None:
        """Hand the request on; while its body is `arriving` it is not yet one at work."""
        size = 0
        started = False

        def arrived() -> None:
            nonlocal arriving
            if arriving is not None:
                self.arrivals.end(arriving)
                arriving = None
                self.at_work += 1

        async def counted() -> Message:
            nonlocal size
            try:
                # whoever sends half a body must not keep a place among the others
                async with asyncio.timeout(None if arriving is None else self.stall):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(
                    408, f"no byte of the body arrived for {self.stall:g} s"
                ) from None
            size += len(message.get("body", b""))
            if size > limit:
                raise HTTPException(413, f"the body has more than {limit} bytes")
            if not message.get("more_body", False):
                arrived()
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        self.at_work += arriving is None
        try:
            await leaving.run(self.app, scope, counted, watched, has_body=arriving is not None)
        except Exception as problem:
            # the message of an error may quote what was asked; its place says enough
            frames = "".join(traceback.format_tb(problem.__traceback__))
            log.error("%s %s\n%s", scope["correlation_id"], type(problem).__name__, frames)
            if not started:
                code = "SLICE_FAILED" if "slice" in scope["path"] else "INTERNAL_ERROR"
                failed = error(scope, 500, code, "the request failed; the server's log says where")
                await failed(scope, receive, send)
        finally:
            arrived()
            self.at_work -= 1

    @staticmethod
    def _too_large(scope: Scope, limit: int) -> Response:
        return error(
            scope,
            413,
            "PAYLOAD_TOO_LARGE",
            f"the body has more than {limit} bytes",
            {"hint": "ragdb serve --max-body and --max-blob set the limits"},
        )
