"""Errors as answers: each class of error has its status, its code and its words."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError
from typing import Any, get_args

import psycopg
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from ragdb.client.calling import instead
from ragdb.client.connecting import is_lost, is_replaced
from ragdb.errors import RagdbError
from ragdb.http.gate import error, log
from ragdb.http.hints import spoken
from ragdb.http.routes import not_json
from ragdb.http.server import Server
from ragdb.http.transactions import Refused

# codes that clients of the Graph Kernel know; the others are the names of our errors
CODES = {
    "RG400": "BAD_REQUEST",
    "RG401": "UNAUTHORIZED",
    "RG431": "POLICY_NOT_FOUND",
    "RG434": "SLICE_FAILED",
}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


async def as_error(request: Request, problem: Exception) -> Response:
    """What a problem is answered with, where the answer has begun already."""
    handlers = request.app.exception_handlers
    found = next((handlers[kind] for kind in type(problem).__mro__ if kind in handlers), None)
    if found is None:
        log.error("%s %s", request.scope["correlation_id"], type(problem).__name__)
        message = "the request failed; the server's log says where"
        return error(request.scope, 500, "INTERNAL_ERROR", message)
    made: Response = await found(request, problem)
    return made


def register(app: FastAPI, server: Server) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, problem: Refused) -> Response:
        more = {"Retry_After": str(problem.retry_after)} if problem.retry_after else {}
        return error(
            request.scope, problem.status, problem.code, str(problem), problem.details, **more
        )

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> Response:
        found = [_told(one, problem.body, request) for one in problem.errors()]
        places = [".".join(str(part) for part in one["loc"])[:80] for one in found]
        code = "INVALID_TURN_ID" if any("anchor_turn_id" in p for p in places) else "BAD_REQUEST"
        listed = [
            {"field": place, "problem": one["msg"][:400]}
            for place, one in zip(places, found, strict=True)
        ]
        first = f"{listed[0]['field']}: {listed[0]['problem']}"
        if isinstance(problem.body, bytes):  # left unread, because it does not say that it is JSON
            listed[0]["problem"] = "its Content-Type is not application/json"
            first = f"body: {listed[0]['problem']}"
        if code == "INVALID_TURN_ID":
            first = f"Invalid anchor turn ID: {first}"
        return error(request.scope, 400, code, first, listed[:20])

    @app.exception_handler(HTTPException)
    async def http(request: Request, problem: HTTPException) -> Response:
        codes = {
            404: "NOT_FOUND",
            405: "METHOD_NOT_ALLOWED",
            408: "TIMEOUT",
            413: "PAYLOAD_TOO_LARGE",
        }
        code = codes.get(problem.status_code, "BAD_REQUEST")
        more = {"allow": _methods(request)} if problem.status_code == 405 else {}
        message = str(problem.detail)
        if isinstance(problem.__cause__, ValueError):
            message = not_json(problem.__cause__)
        # the router raises these two, and nobody else
        if problem.status_code == 404:
            message = "there is no such route"
        elif problem.status_code == 405:
            message = f"this route takes {more['allow']}, not {request.method}"
        routes = {"hint": "GET /docs lists the routes"}
        details = routes if problem.status_code in (404, 405) else None
        return error(request.scope, problem.status_code, code, message, details, **more)

    @app.exception_handler(RagdbError)
    async def ours(request: Request, problem: RagdbError) -> Response:
        diag = problem.diag
        state = problem.sqlstate or ""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(problem).__name__).upper()
        message = diag.message_primary or str(problem)
        if state == "RG434":
            message = f"Slice generation failed: Anchor turn not found: {message}"
        hint = spoken(request, diag.message_hint)
        details = {"detail": diag.message_detail, "hint": hint, "sqlstate": state}
        status = server.statuses.get(state, 500)
        return error(request.scope, status, CODES.get(state, name), message, details)

    @app.exception_handler(psycopg.errors.LockNotAvailable)
    @app.exception_handler(psycopg.errors.QueryCanceled)
    @app.exception_handler(psycopg.errors.TransactionTimeout)
    @app.exception_handler(psycopg.errors.IdleInTransactionSessionTimeout)
    async def canceled(request: Request, _: Exception) -> Response:
        hint = {"hint": "ask for less, or raise ragdb serve --timeout and what the database sets"}
        return error(request.scope, 408, "TIMEOUT", "the statement took longer than it may", hint)

    @app.exception_handler(psycopg.errors.ConfigurationLimitExceeded)
    async def too_large(request: Request, _: Exception) -> Response:
        message = "the statement needs more room than temp_file_limit of the database"
        hint = {"hint": "ask for less; a DBA raises work_mem or temp_file_limit"}
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, hint)

    @app.exception_handler(psycopg.errors.InsufficientPrivilege)
    async def forbidden(request: Request, _: Exception) -> Response:
        role = request.scope["role"]
        message = f"role {str(role)[:80]} lacks the right to do this"
        hint = {"hint": "roles by what they may do: ragdb_reader < ragdb_writer < ragdb_admin"}
        return error(request.scope, 401, "UNAUTHORIZED", message, hint)

    @app.exception_handler(psycopg.DataError)
    @app.exception_handler(UnicodeError)
    @app.exception_handler(RecursionError)
    async def unstorable(request: Request, _: Exception) -> Response:
        message = "a text has characters, a number a size, or a list a depth that cannot be stored"
        if place := await _unstorable(request):
            message = f"{place}: a text cannot hold NUL or half of a surrogate pair"
        return error(request.scope, 400, "BAD_REQUEST", message)

    @app.exception_handler(ClientDisconnect)
    async def hung_up(request: Request, _: Exception) -> Response:
        return error(request.scope, 400, "BAD_REQUEST", "the body ended before its length")

    @app.exception_handler(TooManyRequests)
    async def crowded(request: Request, _: Exception) -> Response:
        message = "too many requests wait for the database"
        return error(request.scope, 429, "CAPACITY_EXCEEDED", message, Retry_After="1")

    @app.exception_handler(psycopg.errors.SerializationFailure)
    @app.exception_handler(psycopg.errors.DeadlockDetected)
    async def met_another(request: Request, _: Exception) -> Response:
        message = "another transaction changed the same meanwhile"
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, Retry_After="1")

    @app.exception_handler(PoolTimeout)
    @app.exception_handler(PoolClosed)
    @app.exception_handler(psycopg.OperationalError)
    async def unavailable(request: Request, problem: Exception) -> Response:
        full = isinstance(problem, psycopg.errors.DiskFull)
        message = "the disk of the database is full" if full else "the database is not available"
        hint = {"hint": "ask again in a moment; where it stays so, `ragdb doctor` says why"}
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, hint, Retry_After="1")

    @app.exception_handler(psycopg.InternalError)
    async def replaced(request: Request, problem: psycopg.Error) -> Response:
        if is_lost(problem):
            return await unavailable(request, problem)
        if not is_replaced(problem):
            raise problem
        message = "the functions of the database are being replaced"
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, Retry_After="1")

    @app.exception_handler(psycopg.errors.ReadOnlySqlTransaction)
    async def read_only(request: Request, problem: psycopg.Error) -> Response:
        hint = {"hint": "connect ragdb serve to the primary; a search writes too, its trace"}
        message = f"the database takes no writes: {problem.diag.message_primary}"
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, hint, Retry_After="1")


def _methods(request: Request) -> str:
    """The methods that a path takes: the router tells of one route, and a path may have several."""
    there = (r for r in _routes(request.app) if r.matches(request.scope)[0] is not Match.NONE)
    found = {method for route in there for method in getattr(route, "methods", None) or ()}
    return ", ".join(sorted(found | {"HEAD"} if "GET" in found else found))


def _routes(router: FastAPI | APIRouter) -> Iterator[BaseRoute]:
    """The routes of a router and of those in it, which a new FastAPI keeps apart."""
    for route in router.routes:
        inner = getattr(route, "original_router", None)
        yield from [route] if inner is None else _routes(inner)


def _told(found: Mapping[str, Any], body: Any, request: Request) -> Mapping[str, Any]:
    """What is wrong with a request, in words that help: where it is not JSON, what there is."""
    if found["type"] == "json_invalid" and isinstance(body, str):
        at = found["loc"][-1]
        why = not_json(JSONDecodeError(found["ctx"]["error"], body, at))
        return {"loc": ("body",), "msg": why.removeprefix("body: ")}
    taken = getattr(request.scope["route"], "body_field", None)
    if found["type"] == "extra_forbidden" and taken is not None:
        *way, name = found["loc"][1:]
        names = _fields(taken.field_info.annotation, way)
        return {
            "loc": found["loc"],
            "msg": f"there is no such field; {instead(str(name), names)}",
        }
    if found["type"] in ("string_too_short", "too_short") and found["ctx"]["min_length"] == 1:
        return {"loc": found["loc"], "msg": "it is empty"}
    if found["type"].startswith("datetime_") or found["type"] == "timezone_aware":
        message = "give a time with its zone, such as 2026-03-01T12:00:00Z; in a URL a + is %2B"
        return {"loc": found["loc"], "msg": message}
    if found["type"] == "model_attributes_type":
        return {"loc": found["loc"], "msg": "it is not an object"}
    return found


def _fields(annotation: Any, way: Iterable[str | int]) -> Iterable[str]:
    """The fields of an object of a body, by its model and the way to it there."""
    for step in way:
        if isinstance(step, str):
            annotation = annotation.model_fields[step].annotation
        while not hasattr(annotation, "model_fields"):  # a list of them, or null
            annotation = get_args(annotation)[0]
    return tuple(annotation.model_fields)


async def _unstorable(request: Request) -> str | None:
    """The first place of a request whose text PostgreSQL has no characters for, if that is why."""
    places: list[tuple[str, Any]] = []
    with contextlib.suppress(ValueError, RuntimeError):
        places.append(("body", await request.json() if await request.body() else None))
    places += [(f"query.{name}", value) for name, value in request.query_params.items()]
    while places:
        place, value = places.pop()
        if isinstance(value, str) and _UNSTORABLE.search(value):
            return place
        if isinstance(value, dict) and any(map(_UNSTORABLE.search, value)):
            return f"{place}: a name"
        inner: Iterable[tuple[Any, Any]] = ()
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list):
            inner = enumerate(value)
        places += [(f"{place}.{name}"[:80], one) for name, one in reversed([*inner])]
    return None
