"""Documents: where they come from, how they are cut, and the words that a citation means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from markupsafe import Markup, escape
from psycopg.types.json import Jsonb
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.http.pages import picture
from ragdb.http.transactions import Refused
from ragdb.readers.page import Page
from ragdb.studio import sessions
from ragdb.studio.pages import Blank, Studio
from ragdb.studio.texts import Marks
from ragdb.studio.turns import speakers

Number = Annotated[Annotated[int, Field(ge=1)] | None, Blank]
PAGE = 50
CHUNKS = 40
VERSIONS = 20
LAST = "\U0010ffff"  # no character comes after it


@dataclass(frozen=True)
class Cut:
    """A chunk as it is shown: its text with marks, after what it repeats of the one before."""

    chunk: rows.Chunk
    repeated: str
    text: Markup
    is_meant: bool


def register(router: APIRouter, studio: Studio) -> None:
    _add_list(router, studio)

    @router.get("/documents/show")
    async def show(
        request: Request,
        corpus: str,
        document: str,
        first: Annotated[int, Query(ge=0)] = 0,
        chunk: Annotated[str | None, Query(max_length=512), Blank] = None,
        q: str = "",
        quote: Annotated[str | None, Query(max_length=10000), Blank] = None,
        page: Number = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            found = await db.get_document(studio.server.served(corpus), document)
            meant = marks = located = None
            if chunk is not None:
                meant = await db.get_chunk(corpus, await db.find_chunk(corpus, chunk))
                if meant.doc_cid != found.doc_cid:
                    raise Refused(404, "CHUNK_NOT_FOUND", "the chunk is of another document")
                first = max(0, meant.ordinal - 3) if first == 0 else first
                page = page or meant.page
                marks, located = await _marked(db, corpus, meant, q, quote)
            elif page is not None and first == 0:
                first = await _first_of_page(db, corpus, document, page, found.chunks)
            chunks = await db.document_chunks(corpus, document, first, CHUNKS)
            versions = await db.document_versions(corpus, document, VERSIONS + 1)
            turns = await speakers(db, corpus, [one.chunk_id for one in chunks])
            drawn, sought = None, []
            if page is not None and found.media_type == "application/pdf":
                sought = _sought(meant, marks)
                drawn = await picture(studio.server, db, found.doc_cid, page, sought, False)
        return studio.page(
            request,
            "document.html",
            corpus=corpus,
            document=found,
            cuts=_cuts(chunks, meant, marks),
            turns=turns,
            first=first,
            most=CHUNKS,
            versions=versions[:VERSIONS],
            has_older=len(versions) > VERSIONS,
            meant=meant,
            quote=quote,
            located=located,
            page=page,
            drawn=drawn,
            sought=len(sought),
        )

    @router.get("/documents/page")
    async def page_image(
        request: Request, corpus: str, document: str, page: Annotated[int, Query(ge=1)]
    ) -> Response:
        async with studio.transaction(request) as db:
            found = await db.get_document(studio.server.served(corpus), document)
            drawn = await picture(studio.server, db, found.doc_cid, page, [])
        if not isinstance(drawn, Page):
            raise Refused(404, "PAGE_NOT_FOUND", drawn)
        return Response(drawn.png, 200, dict(sessions.headers()), "image/png")


def _add_list(router: APIRouter, studio: Studio) -> None:
    @router.get("/documents")
    async def documents(
        request: Request,
        corpus: Annotated[str | None, Blank] = None,
        q: str = "",
        prefix: Annotated[str, Query(max_length=2048)] = "",
        after: Annotated[str, Query(max_length=2048)] = "",
    ) -> HTMLResponse:
        q = "" if q.isspace() else q
        async with studio.transaction(request) as db:
            corpora, chosen = await studio.corpora(db, corpus)
            listed: Sequence[rows.Document] = []
            hits: Sequence[rows.DocumentHit] = []
            turns: dict[str, rows.ListTurnsRow] = {}
            info = None
            spaces: Sequence[rows.EmbeddingStatusRow] = []
            if chosen is not None:
                info = await db.corpus_info(chosen)
                spaces = await db.embedding_status(chosen)
                if q:
                    hits = await db.search_documents(chosen, q, 30, 1, filter=_begins(prefix))
                    turns = await speakers(db, chosen, [hit.chunks[0]["chunk_id"] for hit in hits])
                else:
                    listed = await db.list_documents(chosen, prefix, after, PAGE + 1)
        last = listed[PAGE - 1].source if len(listed) > PAGE else None
        return studio.page(
            request,
            "documents.html",
            corpora=corpora,
            corpus=chosen,
            info=info,
            spaces=spaces,
            q=q,
            prefix=prefix,
            is_first=not after,
            # two parts may have a source, and the next page begins behind it
            documents=[row for row in listed if last is None or row.source <= last],
            hits=hits,
            turns=turns,
            next=last,
            folders=_folders(prefix),
        )


async def _first_of_page(
    db: AsyncClient, corpus: str, document: str, page: int, chunks: int
) -> int:
    """The ordinal of the chunk before the first of a page, on which it may go on.

    Chunks are in the order of their pages.
    """
    low, high = 0, chunks
    while low < high:
        middle = (low + high) // 2
        (chunk,) = await db.document_chunks(corpus, document, middle, 1)
        if (chunk.page or 0) < page:
            low = middle + 1
        else:
            high = middle
    return max(0, low - 1)


def _begins(prefix: str) -> Jsonb | None:
    """The filter of the sources that begin so; none where all do."""
    return Jsonb({"source": {"gte": prefix, "lt": f"{prefix}{LAST}"}}) if prefix else None


def _folders(prefix: str) -> list[tuple[str, str]]:
    """The folders above a prefix, with their names."""
    parts = prefix.split("/")[:-1]
    return [(name, "/".join(parts[: n + 1]) + "/") for n, name in enumerate(parts)]


async def _marked(
    db: AsyncClient, corpus: str, chunk: rows.Chunk, q: str, quote: str | None
) -> tuple[Markup | None, rows.LocateQuoteRow | None]:
    """The text of a chunk with the quote marked that it says, else the words of the question."""
    if quote is not None and quote.strip():
        found = await db.locate_quote(corpus, chunk.chunk_id, quote)
        if not found:
            return None, None
        located = found[0]
        start, end = located.start_offset, located.end_offset
        text = Markup("{}<mark>{}</mark>{}").format(
            chunk.text[:start], chunk.text[start:end], chunk.text[end:]
        )
        return text, located
    if q.strip():
        marks = Marks()
        shown = await db.highlight(corpus, chunk.chunk_id, q, marks.start, marks.end)
        return marks.snippet(shown, len(shown)), None
    return None, None


def _sought(meant: rows.Chunk | None, marks: Markup | None) -> list[str]:
    """What to mark on a page: the quote or the words that are marked, then all of the chunk."""
    if meant is None:
        return []
    marked = re.findall(r"<mark>(.*?)</mark>", marks or "", re.DOTALL)
    words = sorted({Markup(word).unescape() for word in marked})
    return [*words[:50], meant.text]


def _cuts(
    chunks: Iterable[rows.Chunk], meant: rows.Chunk | None, marks: Markup | None
) -> list[Cut]:
    cuts: list[Cut] = []
    covered = 0
    for chunk in chunks:
        is_meant = meant is not None and chunk.chunk_id == meant.chunk_id
        repeats = max(0, covered - chunk.start_offset) if cuts else 0
        if is_meant and marks is not None:
            cuts.append(Cut(chunk, "", marks, True))
        else:
            text = escape(chunk.text[repeats:])
            cuts.append(Cut(chunk, chunk.text[:repeats], text, is_meant))
        covered = max(covered, chunk.end_offset)
    return cuts
