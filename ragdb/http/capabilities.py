"""The wire capabilities as routes, one for each that the server offers."""

from __future__ import annotations

import math
from typing import Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel

from ragdb.client._generated.rows import CapabilitySchemasRow
from ragdb.client.calling import instead
from ragdb.client.counting import LISTED
from ragdb.client.rows import record
from ragdb.http.gate import STATUSES, Answer
from ragdb.http.hints import spoken
from ragdb.http.routes import After, Count, Prefix, Token, failures
from ragdb.http.server import Server
from ragdb.http.transactions import Refused


class Capability(BaseModel):
    name: str
    version: str
    stability: str
    trust_required: Literal["unknown", "member", "trusted", "anchor"]
    timeout_seconds: int
    max_concurrent: int
    idempotent: bool
    params: dict[str, Any]
    request_schema: dict[str, Any]
    response_schema: dict[str, Any]


class Capabilities(BaseModel):
    """Of the corpora the next page begins after `next`, null at the end."""

    capabilities: list[Capability]
    next: str | None


def register(app: FastAPI, server: Server) -> None:
    @app.get(
        "/capabilities",
        tags=["Capabilities"],
        response_model=Capabilities,
        responses=failures(),
    )
    async def capabilities(
        request: Request, _: Token, prefix: Prefix = "", after: After = "", count: Count = LISTED
    ) -> Answer:
        """List the capabilities that the caller can route to, with their limits and schemas.

        Those of a corpus are listed for `count` corpora at once, in the order of their names.
        """
        async with server.transaction(request) as db:
            rows = await db.capabilities(prefix, after, count)
        corpora = [row.params["corpus"] for row in rows if row.name == "rag.query"]
        goes_on = corpora[-1] if len(corpora) == count else None
        return Answer({"capabilities": [record(row) for row in rows], "next": goes_on})

    for row in server.offered:
        _capability(app, server, row)

    @app.post("/capabilities/{name}", include_in_schema=False)
    async def unknown(name: str) -> Answer:
        there = instead(name, [f"{row.name}@{row.version}" for row in server.offered])
        message = f"there is no capability {name[:80]}"
        raise Refused(404, "NOT_FOUND", message, {"hint": there})


def _capability(app: FastAPI, server: Server, row: CapabilitySchemasRow) -> None:
    wire_name = f"{row.name}@{row.version}"
    responses = failures(404, 409)
    responses[200] = {
        "description": "What it answers.",
        "content": {"application/json": {"schema": row.response_schema}},
    }
    body = {"required": True, "content": {"application/json": {"schema": row.request_schema}}}

    async def invoke(request: Request, _: Token) -> Answer:
        # a page of any other site may send what it calls a text
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(400, "BAD_REQUEST", "body: its Content-Type is not application/json")
        answer, trace = await server.invoke(
            request, row.name, row.timeout_seconds, await request.body()
        )
        if "error" not in answer:
            return Answer(answer, headers={"Ragdb-Trace-Id": trace} if trace else None)
        if "hint" in answer:
            answer["hint"] = spoken(request, answer["hint"])
        word = str(answer["error"])
        more = {
            "code": word.upper(),
            "correlation_id": request.scope["correlation_id"],
            "details": {name: answer[name] for name in ("hint", "sqlstate") if name in answer},
        }
        headers = {"WWW-Authenticate": "Bearer"} if word == "unauthorized" else {}
        if "retry_after_ms" in answer:
            headers["Retry-After"] = str(math.ceil(answer["retry_after_ms"] / 1000))
        return Answer(answer | more, STATUSES.get(word, 500), headers)

    app.post(
        f"/capabilities/{wire_name}",
        tags=["Capabilities"],
        name=wire_name,
        operation_id=row.name.replace(".", "_"),
        summary=wire_name,
        description=f"Takes trust level {row.trust_required}.",
        responses=responses,
        openapi_extra={"requestBody": body},
    )(invoke)
