"""The routes of `ragdb serve`: the Graph Kernel's, RAG++'s, the wire capabilities, and ours."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any
from uuid import UUID

import psycopg
from fastapi import Depends, FastAPI, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPBearer
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ragdb.client._generated.functions import CapabilitySchemasRow, RetrievalTraces, TurnHit
from ragdb.client.client import AsyncClient
from ragdb.client.rows import record
from ragdb.errors import RagdbError
from ragdb.http import models as m
from ragdb.http.gate import STATUSES, Answer, Gate, error
from ragdb.http.server import CLIENT, Config, Refused, Server, span
from ragdb.version import __version__

# codes that clients of the Graph Kernel know; the others are the names of our errors
CODES = {
    "RG400": "BAD_REQUEST",
    "RG401": "UNAUTHORIZED",
    "RG431": "POLICY_NOT_FOUND",
    "RG434": "SLICE_FAILED",
}
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
WHAT = {
    400: "A field is missing, unknown or out of range (INVALID_TURN_ID, BAD_REQUEST, …).",
    401: "No token, an unknown one, or a right that its role lacks (UNAUTHORIZED).",
    404: "What is named does not exist for this role (SLICE_FAILED, POLICY_NOT_FOUND, …).",
    408: "The statement took longer than it may, or the body did not come (TIMEOUT).",
    409: "It contradicts what is there (CORPUS_AMBIGUOUS, NO_SIGNING_KEY, …).",
    413: "The body is over the limit (PAYLOAD_TOO_LARGE).",
    429: "Too much at once (CAPACITY_EXCEEDED, RATE_LIMITED).",
    500: "A fault of the server (INTERNAL_ERROR, SLICE_FAILED).",
    503: "The database or a worker is missing (SERVICE_UNAVAILABLE, PARTITION).",
}
bearer = HTTPBearer(auto_error=False, description="A token of `ragdb token create`.")
Token = Annotated[Any, Security(bearer)]


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer, for the OpenAPI document."""
    listed = sorted({400, 401, 408, 413, 429, 500, 503, *statuses})
    return {status: {"model": m.Error, "description": WHAT[status]} for status in listed}


def create_app(config: Config) -> FastAPI:
    """The ASGI application."""
    server = Server(config)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with server.running():
            yield

    app = FastAPI(
        title="ragdb",
        version=__version__,
        summary="Retrieval whose every answer can be accounted for.",
        lifespan=lifespan,
        default_response_class=Answer,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_only_known_parameters)],
    )
    app.add_middleware(
        Gate,
        max_body=config.max_body,
        max_blob=config.max_blob,
        max_requests=config.max_requests,
        stall=config.stall,
    )
    app.state.server = server
    _errors(app, server)
    _graph_kernel(app, server)
    _rag(app, server)
    _capabilities(app, server)
    _ours(app, server)
    _health(app, server)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


async def _only_known_parameters(request: Request) -> None:
    """Refuse what nothing obeys in a query string, as bodies do."""
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    unknown = request.query_params.keys() - known
    if unknown:
        message = f"there is no parameter {min(unknown)[:80]!r}"
        raise Refused(400, "BAD_REQUEST", message, {"parameters": sorted(known)})


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, without the 422 that FastAPI adds and this server never answers."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


# ── errors ──────────────────────────────────────────────────────────────────────────────────────


def _errors(app: FastAPI, server: Server) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, problem: Refused) -> Answer:
        more = {"Retry_After": str(problem.retry_after)} if problem.retry_after else {}
        return error(
            request.scope, problem.status, problem.code, str(problem), problem.details, **more
        )

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> Answer:
        found = problem.errors()
        places = [".".join(str(part) for part in one["loc"])[:80] for one in found]
        code = "INVALID_TURN_ID" if any("anchor_turn_id" in p for p in places) else "BAD_REQUEST"
        listed = [
            {"field": place, "problem": one["msg"][:200]}
            for place, one in zip(places, found, strict=True)
        ]
        first = f"{listed[0]['field']}: {listed[0]['problem']}"
        if isinstance(problem.body, bytes):  # left unread, because it does not say that it is JSON
            first = "body: its Content-Type is not application/json"
        if code == "INVALID_TURN_ID":
            first = f"Invalid anchor turn ID: {first}"
        return error(request.scope, 400, code, first, listed[:20])

    @app.exception_handler(HTTPException)
    async def http(request: Request, problem: HTTPException) -> Answer:
        codes = {
            404: "NOT_FOUND",
            405: "METHOD_NOT_ALLOWED",
            408: "TIMEOUT",
            413: "PAYLOAD_TOO_LARGE",
        }
        code = codes.get(problem.status_code, "BAD_REQUEST")
        more = {k: v for k, v in (problem.headers or {}).items() if k.lower() == "allow"}
        return error(request.scope, problem.status_code, code, str(problem.detail), **more)

    @app.exception_handler(RagdbError)
    async def ours(request: Request, problem: RagdbError) -> Answer:
        diag = problem.diag
        state = problem.sqlstate or ""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(problem).__name__).upper()
        message = diag.message_primary or name
        if state == "RG434":
            message = f"Slice generation failed: Anchor turn not found: {message}"
        details = {"detail": diag.message_detail, "hint": diag.message_hint, "sqlstate": state}
        status = server.statuses.get(state, 500)
        return error(request.scope, status, CODES.get(state, name), message, details)

    @app.exception_handler(psycopg.errors.QueryCanceled)
    async def canceled(request: Request, _: Exception) -> Answer:
        hint = {"hint": "ask for less, or raise ragdb serve --timeout"}
        return error(request.scope, 408, "TIMEOUT", "the statement took longer than it may", hint)

    @app.exception_handler(psycopg.errors.InsufficientPrivilege)
    async def forbidden(request: Request, _: Exception) -> Answer:
        role = request.scope["role"]
        message = f"role {str(role)[:80]} lacks the right to do this"
        return error(request.scope, 401, "UNAUTHORIZED", message)

    @app.exception_handler(psycopg.DataError)
    @app.exception_handler(UnicodeError)
    @app.exception_handler(RecursionError)
    async def unstorable(request: Request, _: Exception) -> Answer:
        message = "a text has characters, a number a size, or a list a depth that cannot be stored"
        return error(request.scope, 400, "BAD_REQUEST", message)

    @app.exception_handler(ClientDisconnect)
    async def hung_up(request: Request, _: Exception) -> Answer:
        return error(request.scope, 400, "BAD_REQUEST", "the body ended before its length")

    @app.exception_handler(TooManyRequests)
    async def crowded(request: Request, _: Exception) -> Answer:
        message = "too many requests wait for the database"
        return error(request.scope, 429, "CAPACITY_EXCEEDED", message, Retry_After="1")

    @app.exception_handler(PoolTimeout)
    @app.exception_handler(PoolClosed)
    @app.exception_handler(psycopg.OperationalError)
    async def unavailable(request: Request, _: Exception) -> Answer:
        message = "the database is not available"
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, Retry_After="1")

    @app.exception_handler(psycopg.errors.ReadOnlySqlTransaction)
    async def read_only(request: Request, _: Exception) -> Answer:
        hint = {"hint": "connect ragdb serve to the primary: a search records its trace"}
        message = "the database takes no writes"
        return error(request.scope, 503, "SERVICE_UNAVAILABLE", message, hint, Retry_After="1")


def _check_turn_ids(ids: Sequence[str]) -> None:
    for one in ids:
        try:
            bad = not one.strip() or len(one.encode()) > 512 or CONTROL.search(one)
        except UnicodeError:
            bad = True
        if bad:
            raise Refused(
                400,
                "INVALID_TURN_ID",
                "Invalid anchor turn ID: it is blank, over 512 bytes, or has control characters",
            )


# ── Graph Kernel ────────────────────────────────────────────────────────────────────────────────


def _policy(ref: m.PolicyRef | None) -> dict[str, str] | None:
    return ref.model_dump() if ref else None


def _slice(row: Any) -> dict[str, Any]:
    return {
        "slice_id": row.slice_id,
        "anchor_turn_id": row.anchor_chunk_id,
        "turn_ids": row.chunk_ids,
        "edge_count": row.edge_count,
        "policy_id": row.policy_id,
        "policy_params_hash": row.params_hash,
        "schema_version": row.schema_version,
        "graph_snapshot_hash": row.graph_snapshot_hash,
        "admissibility_token": row.admissibility_token,
    }


def _ref(row: Any) -> dict[str, str]:
    return {"policy_id": row.policy_id, "params_hash": row.params_hash}


def _graph_kernel(app: FastAPI, server: Server) -> None:
    @app.post(
        "/api/slice",
        tags=["Graph Kernel"],
        response_model=m.SliceAnswer,
        responses=failures(404, 409),
    )
    async def build_slice(request: Request, body: m.SliceRequest, _: Token) -> Answer:
        """Build the slice that a policy admits around an anchor, with its admissibility token."""
        _check_turn_ids([body.anchor_turn_id])
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, [body.anchor_turn_id])
            built = await db.build_slice(corpus, body.anchor_turn_id, _policy(body.policy_ref))
        return Answer({"slice": _slice(built), "policy_ref": _ref(built)})

    @app.post(
        "/api/slice/batch",
        tags=["Graph Kernel"],
        response_model=m.BatchAnswer,
        responses=failures(404, 409),
    )
    async def build_slices(request: Request, body: m.BatchRequest, _: Token) -> Answer:
        """Build a slice for each anchor; an anchor that is missing does not fail the others."""
        _check_turn_ids(body.anchor_turn_ids)
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, body.anchor_turn_ids)
            policy = _policy(body.policy_ref)
            rows = await db.build_slices(corpus, body.anchor_turn_ids, policy)
            if policy is None:
                default = await db.policy_hash({})
                policy = {"policy_id": "slice_policy_v1", "params_hash": default}
        slices = [_slice(row) for row in rows if row.error_code is None]
        failed = [
            {"anchor_turn_id": row.anchor_chunk_id, "error": row.error}
            for row in rows
            if row.error_code is not None
        ]
        return Answer(
            {
                "slices": slices,
                "policy_ref": policy,
                "success_count": len(slices),
                "errors": failed,
            }
        )

    @app.post(
        "/api/verify_token",
        tags=["Graph Kernel"],
        response_model=m.Verdict,
        responses=failures(404, 409),
    )
    async def verify_token(request: Request, body: m.VerifyRequest, _: Token) -> Answer:
        """Say whether a token was issued for these fields and the evidence is still what it was."""
        _check_turn_ids([body.anchor_turn_id, *(body.turn_ids or ())])
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, [body.anchor_turn_id])
            verdict = await db.verify_token(
                corpus,
                body.admissibility_token,
                body.slice_id,
                body.anchor_turn_id,
                body.policy_id,
                body.policy_params_hash,
                body.graph_snapshot_hash,
                body.schema_version,
                body.turn_ids,
            )
        return Answer({"valid": verdict.valid, "reason": verdict.reason})

    @app.get(
        "/api/policies", tags=["Graph Kernel"], response_model=m.Policies, responses=failures()
    )
    async def policies(request: Request, _: Token) -> Answer:
        """List the registered slice policies."""
        async with server.transaction(request) as db:
            rows = await db.list_policies()
            fingerprint = await db.registry_fingerprint()
        listed = [
            {
                "policy_ref": _ref(row),
                "policy": row.policy,
                "created_at": row.created_at,
                "created_by": row.created_by,
            }
            for row in rows
        ]
        return Answer({"policies": listed, "registry_fingerprint": fingerprint})

    @app.post(
        "/api/policies",
        tags=["Graph Kernel"],
        response_model=m.PolicyAnswer,
        responses=failures(409),
    )
    async def register_policy(request: Request, body: m.Policy, _: Token) -> Answer:
        """Register a slice policy; registering it again changes nothing."""
        async with server.transaction(request) as db:
            row = await db.register_policy(body.model_dump(exclude_unset=True))
        return Answer({"policy_ref": _ref(row)})


# ── RAG++ ───────────────────────────────────────────────────────────────────────────────────────


def _result(hit: TurnHit) -> dict[str, Any]:
    trajectory = None
    if hit.depth is not None:
        trajectory = {
            name: getattr(hit, name)
            for name in ("depth", "sibling_order", "homogeneity", "temporal", "complexity")
        }
    return {
        "turn_id": hit.chunk_id,
        "content": hit.text,
        "role": hit.role,
        "similarity": hit.score,
        "conversation_id": hit.session_id,
        "trajectory": trajectory,
        "phase": hit.phase,
        "salience": hit.salience,
        "rank": hit.rank,
        "source": hit.source,
        "title": hit.title,
        "page": hit.page,
        "citation": hit.citation or {"uri": hit.source},
        "metadata": hit.metadata,
        "content_hash": hit.content_hash,
    }


def _rag(app: FastAPI, server: Server) -> None:
    @app.post(
        "/api/rag/search/slice",
        tags=["RAG++"],
        response_model=m.SearchAnswer,
        responses=failures(404, 409),
    )
    async def search_slice(request: Request, body: m.SearchRequest, _: Token) -> Answer:
        """Search the slice around an anchor, and record the trace that proves it."""
        _check_turn_ids([body.anchor_turn_id])

        async def search(db: Any, corpus: str) -> Any:
            hits = await db.retrieve_slice(
                corpus,
                body.query,
                anchor=body.anchor_turn_id,
                policy=_policy(body.policy_ref),
                k=body.limit,
                mode=body.mode,
                min_score=body.min_similarity,
                filter=body.filter,
                client=CLIENT,
                **span(request),
            )
            return hits, await db.provenance(await db.last_trace_id())

        hits, provenance = await server.retrieve(
            request,
            body.corpus,
            [body.anchor_turn_id],
            body.query,
            body.mode,
            search,
            k=body.limit,
            min_score=body.min_similarity,
            filter=body.filter,
        )
        return Answer(
            {
                "query": body.query,
                "results": [_result(hit) for hit in hits],
                "slice_info": provenance["slice_info"],
                "provenance": provenance,
            }
        )

    async def search_global(
        request: Request,
        _: Token,
        query: Annotated[m.UrlQuery, Query()],
        limit: Annotated[int, Query(ge=1, le=1000, description="Results at most.")] = 10,
        min_similarity: Annotated[m.Similarity, Query()] = 0.0,
        mode: Annotated[m.Mode, Query()] = None,
        corpus: Annotated[m.Corpus, Query()] = None,
    ) -> Answer:
        async def search(db: Any, corpus: str) -> Any:
            hits = await db.retrieve_global(
                corpus,
                query,
                limit,
                mode=mode,
                min_score=min_similarity,
                client=CLIENT,
                **span(request),
            )
            return hits, await db.provenance(await db.last_trace_id())

        hits, provenance = await server.retrieve(
            request, corpus, [], query, mode, search, k=limit, min_score=min_similarity
        )
        results = [_result(hit) for hit in hits]
        return Answer({"query": query, "results": results, "provenance": provenance})

    for path, about, is_old in (
        ("/api/rag/search/global", "Search the whole corpus; what is found is not admissible.", 0),
        ("/api/rag/search", "The same as /api/rag/search/global, under its first name.", 1),
    ):
        app.get(
            path,
            tags=["RAG++"],
            response_model=m.GlobalAnswer,
            responses=failures(404, 409),
            description=about,
            summary=about.partition(";")[0].partition(",")[0].rstrip("."),
            name=path.strip("/").replace("/", "_"),
            deprecated=bool(is_old) or None,
        )(search_global)


# ── capabilities ────────────────────────────────────────────────────────────────────────────────


def _capabilities(app: FastAPI, server: Server) -> None:
    @app.get(
        "/capabilities",
        tags=["Capabilities"],
        response_model=m.Capabilities,
        responses=failures(),
    )
    async def capabilities(request: Request, _: Token) -> Answer:
        """List the capabilities that the caller can route to, with their limits and schemas."""
        async with server.transaction(request) as db:
            rows = await db.capabilities()
        return Answer({"capabilities": [record(row) for row in rows]})

    for row in server.offered:
        _capability(app, server, row)

    @app.post("/capabilities/{name}", include_in_schema=False)
    async def unknown(name: str) -> Answer:
        raise Refused(404, "NOT_FOUND", f"there is no capability {name[:80]}")


def _capability(app: FastAPI, server: Server, row: CapabilitySchemasRow) -> None:
    wire_name = f"{row.name}@{row.version}"
    responses = failures(404, 409)
    responses[200] = {
        "description": "What it answers.",
        "content": {"application/json": {"schema": row.response_schema}},
    }
    body = {"required": True, "content": {"application/json": {"schema": row.request_schema}}}

    async def invoke(request: Request, _: Token) -> Answer:
        answer, trace = await server.invoke(
            request, row.name, row.timeout_seconds, await request.body()
        )
        if "error" not in answer:
            return Answer(answer, headers={"Ragdb-Trace-Id": trace} if trace else None)
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


# ── ours ────────────────────────────────────────────────────────────────────────────────────────


def _ours(app: FastAPI, server: Server) -> None:
    @app.get(
        "/api/traces/{id}", tags=["Traces"], response_model=m.TraceAnswer, responses=failures(404)
    )
    async def get_trace(request: Request, id: UUID, _: Token) -> Answer:
        """Return a recorded retrieval with its hits, its reranking and its provenance."""
        async with server.transaction(request) as db:
            trace = await _served_trace(db, id)
            hits = await db.trace_hits(id)
            reranks = await db.trace_reranks(id)
            provenance = await db.provenance(id)
        return Answer(
            {
                "trace": record(trace),
                "hits": [record(hit) for hit in hits],
                "reranks": [record(row) for row in reranks],
                "provenance": provenance,
            }
        )

    @app.post(
        "/api/traces/{id}/replay",
        tags=["Traces"],
        response_model=m.ReplayAnswer,
        responses=failures(404),
    )
    async def replay(request: Request, id: UUID, _: Token) -> Answer:
        """Run a recorded retrieval again and say how the results compare."""
        async with server.transaction(request) as db:
            await _served_trace(db, id)
            verdict = await db.replay(id)
        return Answer(record(verdict))

    blob: dict[str, Any] = {"required": True, "content": {"*/*": {"schema": {}}}}  # any bytes

    @app.post(
        "/api/blobs",
        tags=["Ingest"],
        status_code=201,
        response_model=m.Blob,
        responses=failures(),
        openapi_extra={"requestBody": blob},
    )
    async def put_blob(request: Request, _: Token) -> Answer:
        """Keep the bytes of a document, so that rag.ingest@1.0 can read them by their doc_cid."""
        async with server.transaction(request) as db:  # before the bytes are read: who asks?
            pass
        data = await request.body()
        media_type = request.headers.get("content-type", "application/octet-stream")
        if not data or len(media_type) > 200:
            raise Refused(400, "BAD_REQUEST", "the body is empty, or its type is over 200 bytes")
        async with server.transaction(request) as db:
            cid = await db.put_blob(data, media_type)
        return Answer({"doc_cid": cid, "media_type": media_type, "size": len(data)}, 201)

    @app.get("/api/jobs/{id}", tags=["Ingest"], response_model=m.Job, responses=failures(404))
    async def job(request: Request, id: UUID, _: Token) -> Answer:
        """Say what has become of the job of a partition answer."""
        async with server.transaction(request) as db:
            state = await db.job_state(id)
        return Answer({"job_id": id, **record(state)})

    @app.get("/api/events", tags=["Ingest"], response_model=m.Events, responses=failures())
    async def events(
        request: Request,
        _: Token,
        after: Annotated[UUID | None, Query(description="The last event seen.")] = None,
        count: Annotated[int, Query(ge=1, le=10000)] = 100,
    ) -> Answer:
        """Return the envelopes of the events after one, oldest first."""
        async with server.transaction(request) as db:
            listed = await db.event_envelopes(after, count)
        return Answer({"events": listed})


async def _served_trace(db: AsyncClient, id: UUID) -> RetrievalTraces:
    trace = await db.get_trace(id)
    if trace.corpus == "personal":
        raise Refused(404, "TRACE_NOT_FOUND", "a personal corpus is not served")
    return trace


# ── health ──────────────────────────────────────────────────────────────────────────────────────


def _health(app: FastAPI, server: Server) -> None:
    async def live() -> Answer:
        """Say that the server runs."""
        return Answer({"status": "ok", "version": __version__})

    async def ready() -> Answer:
        """Say whether the database answers."""
        try:
            async with asyncio.timeout(2), server.pool.connection() as connection:
                await connection.execute("select ragdb.last_trace_id()")
        except (psycopg.Error, TimeoutError):
            return Answer({"status": "unavailable", "version": __version__}, 503)
        return Answer({"status": "ok", "version": __version__})

    unknown: dict[int | str, dict[str, Any]] = {
        400: {"model": m.Error, "description": "There is no such parameter (BAD_REQUEST)."}
    }
    unready: dict[int | str, dict[str, Any]] = {
        503: {"model": m.Health, "description": "The database does not answer."}
    }
    for path, in_schema in (("/health/live", True), ("/live", False)):
        app.get(
            path,
            tags=["Health"],
            response_model=m.Health,
            responses=unknown,
            include_in_schema=in_schema,
        )(live)
    for path, in_schema in (("/health", True), ("/health/ready", True), ("/ready", False)):
        app.get(
            path,
            tags=["Health"],
            response_model=m.Health,
            responses=unknown | unready,
            include_in_schema=in_schema,
        )(ready)

    @app.get("/", include_in_schema=False)
    async def index() -> RedirectResponse:
        return RedirectResponse("/docs")
