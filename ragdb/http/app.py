"""The application of `ragdb serve`: its routes, its gate, its OpenAPI document."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote_to_bytes

from fastapi import Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi

from ragdb.http import (
    answers,
    capabilities,
    corpora,
    documents,
    evals,
    explaining,
    feedback,
    graph,
    graph_kernel,
    health,
    history,
    metrics,
    pages,
    peers,
    problems,
    promotion,
    rag,
    recorded,
    records,
    search,
)
from ragdb.http.config import Config
from ragdb.http.examples import show
from ragdb.http.gate import Answer, Gate
from ragdb.http.models import Error
from ragdb.http.routes import Route
from ragdb.http.server import Server
from ragdb.http.transactions import Refused
from ragdb.version import __version__


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
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_only_utf8), Depends(_only_known_parameters)],
        # what the functions of a generated client are called
        generate_unique_id_function=lambda route: route.name,
    )
    app.add_middleware(
        Gate,
        admit=server.admit,
        hosts=frozenset(name.lower() for name in config.hosts),
        max_body=config.max_body,
        max_blob=config.max_blob,
        max_requests=config.max_requests,
        stall=config.stall,
        counts=server.requests,
    )
    app.router.route_class = Route
    app.state.server = server
    problems.register(app, server)
    for routes in (
        search,
        explaining,
        answers,
        corpora,
        documents,
        history,
        graph,
        pages,
        peers,
        graph_kernel,
        rag,
        promotion,
        records,
        recorded,
        evals,
        feedback,
        capabilities,
        metrics,
        health,
    ):
        routes.register(app, server)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


async def _only_utf8(request: Request) -> None:
    """Refuse a path or query that is not UTF-8: two that differ would be read as one name.

    A name in a path has no NUL either; of a query the parameter that has one is named later.
    """
    for part, sent in (("path", "raw_path"), ("query", "query_string")):
        try:
            text = unquote_to_bytes(request.scope[sent]).decode()
        except UnicodeDecodeError as problem:
            message = f"{part}: it is not UTF-8 at byte {problem.start}"
            raise Refused(400, "BAD_REQUEST", message) from None
        if part == "path" and "\0" in text:
            message = "path: it has a NUL (%00), which no name has: leave it out"
            raise Refused(400, "BAD_REQUEST", message)


async def _only_known_parameters(request: Request) -> None:
    """Refuse what nothing obeys in a query string, as bodies do."""
    asked = request.scope["route"].dependant
    known = {field.alias for one in (asked, *asked.dependencies) for field in one.query_params}
    unknown = request.query_params.keys() - known
    if unknown:
        message = f"there is no parameter {min(unknown)[:80]!r}"
        raise Refused(400, "BAD_REQUEST", message, {"parameters": sorted(known)})
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name, times in given.items():
        if times > 1:  # none is a list, and the last would be obeyed
            raise Refused(400, "BAD_REQUEST", f"the parameter {name!r} is given twice")


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, without the 422 that FastAPI adds and this server never answers."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        schemas = document["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        # which failures() names
        schemas[Error.__name__] = Error.model_json_schema()
        show(document)
        app.openapi_schema = document
    return app.openapi_schema
