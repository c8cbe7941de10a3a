"""The hints of the database for who asks over HTTP: routes, and verbs for who runs the server."""

from __future__ import annotations

from fastapi import Request
from fastapi.routing import APIRoute

from ragdb.client import hints
from ragdb.http.gate import is_browser


def spoken(request: Request, text: str | None) -> str | None:
    """A text of the database in which `GET /api/corpora` stands for ragdb.list_corpora().

    A function without a route has its verb of the command line, as every function has for a
    browser, which sends no requests of its own.
    """
    if not text:
        return text
    names = hints.VERBS
    if not is_browser(request.scope):
        names = names | {
            route.name: f"{min(route.methods or ())} {route.path}"
            for route in request.app.routes
            if isinstance(route, APIRoute) and route.include_in_schema
        }
    return hints.spoken(text, names)
