"""What carries the protocol: stdin and stdout, or streamable HTTP."""

from __future__ import annotations

import hmac
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio

from ragdb.client.rows import NotHeld, loads
from ragdb.mcp.served import SECONDS
from ragdb.mcp.server import server
from ragdb.mcp.tools import Tools

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "RAGDB_MCP_TOKEN"
INVALID_REQUEST, INVALID_PARAMS, PARSE_ERROR = -32600, -32602, -32700  # of JSON-RPC


def serve_stdio(tools: Tools) -> None:
    """Speak on stdin and stdout until stdin ends. Raises BrokenPipeError when nobody reads."""
    from mcp.server.stdio import stdio_server

    # the thread that waits for stdin would outlive a KeyboardInterrupt until the next line comes
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    async def run() -> None:
        made = server(tools)
        lines = _Lines(TextIOWrapper(_own_stdin(), encoding="utf-8", errors="replace"))
        async with stdio_server(stdin=lines) as (read, write):
            lines.write = write
            heard = _Heard(read, write)
            await made.run(heard, _Said(write, heard), made.create_initialization_options())

    try:
        with tools.pool:
            anyio.run(run)
    except BaseExceptionGroup as problems:
        if problems.split(BrokenPipeError)[1] is None:
            sys.unraisablehook = _all_but_broken_pipes
            raise BrokenPipeError from None
        raise


def _own_stdin() -> BinaryIO:
    """Stdin as only this reads it: a tool, or what it starts, finds an empty one."""
    own = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return own


class _Lines(anyio.AsyncFile[str]):
    """The lines of a client but those of which others would obey another part: these are refused.

    mcp and what it is built on take the last of a key that stands twice.
    """

    write: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError

        async for line in super().__aiter__():
            if refused := _twice(line):
                await self.write.send(SessionMessage(JSONRPCError.model_validate(refused)))
            else:
                yield line


def _twice(said: str | bytes) -> dict[str, Any] | None:
    """The answer to a message that has a key twice; None for another."""
    try:
        loads(said)
    except NotHeld as problem:
        given = json.loads(said)
        id = given.get("id") if isinstance(given, dict) else None
        error = {"code": INVALID_PARAMS, "message": str(problem)}
        return {"jsonrpc": "2.0", "id": id if isinstance(id, int | str) else None, "error": error}
    except ValueError:  # which mcp tells
        return None
    return None


class _Heard:
    """What a client says. A line that is no message is answered here: mcp passes it over.

    The end comes when all is answered: mcp gives up what it works on, as for `… | ragdb mcp`.
    """

    def __init__(self, read: Any, write: Any) -> None:
        self.read, self.write = read, write
        self.unanswered: set[int | str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.read, name)

    def __aiter__(self) -> _Heard:
        return self

    async def __anext__(self) -> Any:
        from mcp.shared.message import SessionMessage
        from mcp_types import ErrorData, JSONRPCError

        try:
            while wrong := _wrong(found := await anext(self.read)):
                code, message = wrong
                error = ErrorData(code=code, message=message)
                said = JSONRPCError(jsonrpc="2.0", id=None, error=error)
                await self.write.send(SessionMessage(said))
        except StopAsyncIteration:
            with anyio.move_on_after(2 * SECONDS):  # a stream of events has no last answer
                while self.unanswered:
                    await anyio.sleep(0.05)
            raise
        self._note(found.message)
        return found

    def _note(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method == "notifications/cancelled":
            self.unanswered.discard((message.params or {}).get("requestId"))
        elif method and hasattr(message, "id"):
            self.unanswered.add(message.id)


class _Said:
    """What a client is told, of which is noted what it answers."""

    def __init__(self, write: Any, heard: _Heard) -> None:
        self.write, self.heard = write, heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self.write, name)

    async def __aenter__(self) -> _Said:
        await self.write.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> None:
        await self.write.__aexit__(*why)

    async def send(self, said: Any) -> None:
        await self.write.send(said)
        self.heard.unanswered.discard(getattr(said.message, "id", None))


def _wrong(found: Any) -> tuple[int, str] | None:
    """The code and the words for what is not a message."""
    if isinstance(found, Exception):
        if "json_invalid" in {e["type"] for e in getattr(found, "errors", list)()}:
            return PARSE_ERROR, "the line is not JSON: send one message a line"
        return INVALID_REQUEST, "the line is not a message of JSON-RPC: send one message a line"
    # mcp takes a request whose id is null, a fraction or an object for a notification
    method = getattr(found.message, "method", "notifications/")
    if not hasattr(found.message, "id") and not method.startswith("notifications/"):
        return INVALID_REQUEST, f"{method[:80]} is a request: give it an id, an integer or a text"
    return None


def _all_but_broken_pipes(problem: sys.UnraisableHookArgs) -> None:
    """Since Python 3.13 a file that goes says what it could not write: the answer of nobody."""
    if not isinstance(problem.exc_value, BrokenPipeError):
        sys.__unraisablehook__(problem)


def http_app(tools: Tools, host: str, token: str | None) -> ASGIApp:
    """The streamable HTTP transport at /mcp; with a token, for who sends it as bearer."""
    app: ASGIApp = server(tools).streamable_http_app(
        host=host, stateless_http=True, json_response=True
    )
    app = _Once(app)
    return app if token is None else _Guard(app, token)


def serve_http(tools: Tools, host: str, listener: socket.socket) -> None:
    """Serve HTTP until interrupted."""
    import uvicorn

    app = http_app(tools, host, os.environ.get(TOKEN) or None)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    with tools.pool:
        uvicorn.Server(config).run(sockets=[listener])


class _Once:
    """Refuses what `_Lines` refuses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import JSONResponse

        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        if refused := _twice(body):
            await JSONResponse(refused, 400)(scope, receive, send)
            return
        heard: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return heard.pop() if heard else await receive()

        await self.app(scope, again, send)


class _Guard:
    """Lets nobody in without the token; its refusal has the form of the transport's errors."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            from starlette.responses import JSONResponse

            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self.expected):
                what = "the bearer token is not that" if given else "give the bearer token"
                message = f"{what} of this server: send the text of its {TOKEN}"
                error = {"code": INVALID_REQUEST, "message": message}
                body = {"jsonrpc": "2.0", "id": None, "error": error}
                refusal = JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)
