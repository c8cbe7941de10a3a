"""The routes of Studio: login, assets, and its views."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ragdb.http.gate import PAGES
from ragdb.http.server import Server
from ragdb.http.transactions import Refused
from ragdb.studio import (
    answers,
    api,
    documents,
    evals,
    feedback,
    health,
    map,
    search,
    sessions,
    slices,
    traces,
)
from ragdb.studio.pages import Studio, address

if TYPE_CHECKING:
    from collections.abc import Mapping


WRONG_TOKEN = "The token is unknown, revoked or expired."


def register(app: FastAPI, link: sessions.Link | None = None) -> None:
    """Add Studio to the application of `ragdb serve`."""
    server: Server = app.state.server
    studio = Studio(server)
    router = APIRouter(prefix="/studio", include_in_schema=False)
    _add_doors(router, studio, link)
    for view in (search, traces, slices, evals, documents, answers, map, health, feedback):
        view.register(router, studio)
    app.include_router(router)
    api.register(app, studio)

    @app.get("/", include_in_schema=False)
    async def root(request: Request) -> RedirectResponse:
        return sessions.lead(request, sessions.HOME)

    @app.get("/favicon.ico", include_in_schema=False)
    async def favicon(request: Request) -> RedirectResponse:
        return sessions.lead(request, studio.asset("favicon.svg"))

    def problem(request: Request, status: int, body: Mapping[str, object]) -> Response:
        """An error as a page; who is not logged in is led to the login."""
        is_known = request.scope.get("role") is not None
        if status == 401 and is_known:
            status = 403  # a right that the role lacks: to log in again would not help
        elif status == 401 and request.url.path.startswith(PAGES):
            # the browser keeps the cookie back from who follows a link of another site
            if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
                return studio.page(request, "again.html", here=studio.here(request))
            answer = studio.to_login(request)
            if request.cookies.get(sessions.COOKIE):
                sessions.forget(answer)
            return answer
        back = sessions.sender(request)
        # who is in has the menu also where the request is refused before it is known who asks
        is_in = is_known or sessions.session_of(request) is not None
        passes = status in (408, 429, 503)
        page = studio.page(
            request,
            "error.html",
            status,
            code=status,
            problem=body,
            back=back,
            again=studio.here(request) if passes and request.method == "GET" else None,
            is_in=is_in,
        )
        # who watches goes on once the database answers again
        if passes and request.query_params.get("every", "").isdecimal():
            page.headers["Refresh"] = request.query_params["every"]
        return page

    app.state.error_page = problem


def _add_doors(router: APIRouter, studio: Studio, link: sessions.Link | None) -> None:
    @router.get("")
    @router.get("/")
    async def home(request: Request) -> RedirectResponse:
        return sessions.lead(request, sessions.HOME)

    @router.get("/assets/{name}")
    async def asset(request: Request, name: str) -> Response:
        if name not in studio.assets:
            raise Refused(404, "NOT_FOUND", "there is no such asset")
        content, kind = studio.assets[name]
        kept = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, 200, {**sessions.headers(), **kept}, kind)

    @router.get("/login")
    async def login(request: Request, next: str = "", refused: bool = False) -> HTMLResponse:
        why, status = (WRONG_TOKEN, 401) if refused else (None, 200)
        # whoever sends the form checks where it leads
        return studio.page(request, "login.html", status, next=next, problem=why)

    @router.post("/login")
    async def log_in(request: Request, next: str = "", refused: bool = False) -> Response:
        # it has the address of its page; where to go is what the form says
        fields = await sessions.fields_of(request)
        secret = await studio.server.open_session(sessions.digest(fields.get("token", "").strip()))
        goal = sessions.inside(fields.get("next", ""))
        if secret is None:
            if sessions.written(request):  # no address has room for it
                return studio.page(request, "login.html", 401, next=goal, problem=WRONG_TOKEN)
            return sessions.lead(request, address("/login", next=goal, refused="true"))
        answer = sessions.lead(request, goal)
        sessions.keep(answer, request, secret)
        return answer

    @router.get("/enter")
    async def enter(request: Request, key: str = "") -> Response:
        if link is None or not link.opens(key):
            with suppress(Refused):  # who is in already may come by it again
                async with studio.transaction(request):
                    return sessions.lead(request, sessions.HOME)
            why = "The link has been used, or is too old. Start ragdb studio again for a new one."
            return studio.page(request, "login.html", 401, next=sessions.HOME, problem=why)
        secret = await studio.server.open_session(None)
        assert secret is not None  # of the server's own login
        answer = sessions.lead(request, sessions.HOME)
        sessions.keep(answer, request, secret)
        return answer

    @router.post("/logout")
    async def log_out(request: Request) -> Response:
        session = sessions.session_of(request)
        if session is not None:
            await sessions.form_of(request)
            await studio.server.close_session(session)
        answer = sessions.lead(request, "/login")
        sessions.forget(answer)
        return answer
