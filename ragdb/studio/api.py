"""/docs: the OpenAPI document as a page, from files that lie beside this server."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, Response

from ragdb.http.transactions import Refused
from ragdb.studio import sessions
from ragdb.studio.pages import Studio

# the routes of the document lie beside the page, which a proxy may serve below a path
START = b"""fetch("openapi.json").then((answer) => answer.json()).then((spec) => SwaggerUIBundle({
  spec: { ...spec, servers: [{ url: new URL(".", location.href).pathname.slice(0, -1) }] },
  dom_id: "#document", deepLinking: true, displayRequestDuration: true,
}));
"""


def register(app: FastAPI, studio: Studio) -> None:
    """Add the page. Swagger UI comes with the package fastapi-offline, and from no other host."""
    vendored = files("fastapi_offline").joinpath("static")
    held = {
        "swagger-ui.css": (vendored.joinpath("swagger-ui.css").read_bytes(), "text/css"),
        "swagger-ui-bundle.js": (
            vendored.joinpath("swagger-ui-bundle.js").read_bytes(),
            "text/javascript",
        ),
        "start.js": (START, "text/javascript"),
    }
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def docs(request: Request) -> HTMLResponse:
        """Who may see the document may see the page: it names routes, and nothing stored."""
        template = studio.templates.get_template("docs.html")
        text = template.render(root=sessions.root(request))
        return HTMLResponse(text, 200, dict(sessions.headers()))

    @router.get("/docs/{name}")
    async def part(request: Request, name: str) -> Response:
        if name not in held:
            raise Refused(404, "NOT_FOUND", "there is no such asset")
        content, kind = held[name]
        kept = {"Cache-Control": "public, max-age=86400"}
        return Response(content, 200, {**sessions.headers(), **kept}, kind)

    app.include_router(router)
