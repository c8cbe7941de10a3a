"""Pages of documents as pictures: of bytes that the database gives the caller, never of a path.

A path is the server's to read, and what the server may read is not what the caller may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import anyio
from fastapi import FastAPI, Path, Query, Request
from starlette.responses import Response

from ragdb.client.client import AsyncClient
from ragdb.errors import BlobNotFound
from ragdb.http.corpora import CORPUS, Corpus
from ragdb.http.routes import Token, failures
from ragdb.http.server import Server
from ragdb.http.transactions import Refused
from ragdb.readers import sandbox
from ragdb.readers.document import ReadError
from ragdb.readers.page import Page


async def picture(
    server: Server,
    db: AsyncClient,
    cid: str,
    number: int,
    sought: Sequence[str],
    is_drawn: bool = True,
) -> Page | str:
    """A page of a PDF and where it says what is sought, or why there is none."""
    try:
        async with db.connection.transaction():
            blob = await db.get_blob(cid)
    except BlobNotFound:
        return "the original is not kept: it was put without its bytes, or with --no-blobs"
    if blob.media_type != "application/pdf":
        return "only a page of a PDF is drawn"
    try:
        return await anyio.to_thread.run_sync(
            sandbox.draw, blob.bytes, number, sought, is_drawn, limiter=server.threads
        )
    except ReadError as error:
        return f"the page cannot be drawn: {error.reason}"


def register(app: FastAPI, server: Server) -> None:
    @app.get(
        f"{CORPUS}/pages/{{page}}",
        tags=["Corpora"],
        response_class=Response,
        responses={
            **failures(404),
            200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}},
        },
    )
    async def page_image(
        request: Request,
        corpus: Corpus,
        page: Annotated[int, Path(ge=1, description="Number of the page, from 1.")],
        document: Annotated[
            str,
            Query(
                min_length=1,
                max_length=2048,
                description="One of its sources, its external id, or the doc_cid of its bytes.",
            ),
        ],
        _: Token,
    ) -> Response:
        """Draw a page of a PDF whose original is kept."""
        async with server.transaction(request) as db:
            found = await db.get_document(server.served(corpus), document)
            drawn = await picture(server, db, found.doc_cid, page, [])
        if not isinstance(drawn, Page):
            raise Refused(404, "PAGE_NOT_FOUND", drawn)
        return Response(drawn.png, 200, media_type="image/png")
