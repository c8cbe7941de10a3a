"""Map: chunks of a corpus as points, near each other where their embeddings are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote_plus

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from ragdb.client.client import AsyncClient
from ragdb.studio import sessions
from ragdb.studio.pages import Blank, Studio, address

INKS = 6
SIDE = 1000  # of the picture
EDGE = 28  # the mark of a question at the border is seen whole
LIT = 20  # hits of a question
FIRST = 20  # corpora that are asked for embeddings, a statement each


@dataclass(frozen=True)
class Point:
    """A chunk where it stands. `ink` is a class of CSS, `is_lit` whether the question finds it."""

    of: Any
    link: str
    x: float
    y: float
    ink: str
    is_lit: bool


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/map")
    async def corpus_map(
        request: Request,
        corpus: Annotated[str | None, Blank] = None,
        q: str = "",
        count: Annotated[int, Query(ge=1, le=2000)] = 2000,
    ) -> HTMLResponse:
        if corpus is not None:
            studio.server.served(corpus)
        async with studio.transaction(request) as db:
            corpora, chosen = await studio.corpora(db, corpus, of_parts=False)
            if not corpus:
                chosen = await _first_embedded(db, corpora) or chosen
            placed, asked, chunks = [], None, 0
            found: dict[str, int] = {}
            if chosen is not None and q.strip():
                found = {hit.chunk_id: hit.rank for hit in await db.search(chosen, q, LIT)}
            if chosen is not None:
                chunks = (await db.corpus_info(chosen)).chunks
                placed = list(await db.map_corpus(chosen, count, q.strip() or None, [*found]))
            if placed and placed[-1].chunk_id is None:
                asked = _place(placed.pop())
        folders = {folder(row.source) for row in placed}
        group = folder if len(folders) > 1 else str
        groups = Counter(group(row.source) for row in placed)
        inks = {name: f"ink{n}" for n, (name, _) in enumerate(groups.most_common(INKS))}
        base = address(f"{sessions.root(request)}/documents/show", corpus=chosen, q=q)
        points = [_point(row, base, inks.get(group(row.source), "others"), found) for row in placed]
        return studio.page(
            request,
            "map.html",
            corpora=corpora,
            corpus=chosen,
            q=q,
            points=sorted(points, key=lambda point: point.is_lit),
            groups=[(name, n, inks.get(name, "others")) for name, n in groups.most_common(INKS)],
            others=sum(groups.values()) - sum(n for _, n in groups.most_common(INKS)),
            chunks=chunks,
            found=found,
            asked=asked,
        )


def folder(source: str) -> str:
    """What points are coloured by, where there are several: the folder, or a name without one."""
    return source.rpartition("/")[0] or source


async def _first_embedded(db: AsyncClient, corpora: list[Any]) -> str | None:
    """The first corpus of which there may be a map; how much of each is embedded takes a count."""
    for one in [one for one in corpora if one.chunks][:FIRST]:
        if await db.corpus_embedder(one.name) is not None:
            return str(one.name)
    return None


def _place(row: Any) -> tuple[float, float]:
    half = SIDE / 2
    return round(half + row.x * (half - EDGE), 1), round(half - row.y * (half - EDGE), 1)


def _point(row: Any, base: str, ink: str, found: dict[str, int]) -> Point:
    link = f"{base}&document={quote_plus(row.source)}&chunk={quote_plus(row.chunk_id)}#chunk"
    return Point(row, link, *_place(row), ink, row.chunk_id in found)
