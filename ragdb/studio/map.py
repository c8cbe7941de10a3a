"""Map: chunks of a corpus as points, near each other where their embeddings are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator
from starlette.responses import HTMLResponse

from ragdb.studio.pages import Studio

INKS = 6
SIDE = 1000  # of the picture
Blank = BeforeValidator(lambda given: given or None)


@dataclass(frozen=True)
class Point:
    """A chunk where it stands. `ink` is a class of CSS, `is_lit` whether the question finds it."""

    of: Any
    x: float
    y: float
    ink: str
    is_lit: bool


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/map")
    async def corpus_map(
        request: Request,
        corpus: Annotated[str | None, Blank] = None,
        q: Annotated[str, Query(max_length=10000)] = "",
        count: Annotated[int, Query(ge=1, le=2000)] = 2000,
    ) -> HTMLResponse:
        if corpus is not None:
            studio.server.served(corpus)
        async with studio.transaction(request) as db:
            corpora = [c for c in await db.list_corpora() if c.name != "personal"]
            embedded = [row.corpus for row in await db.embedding_status() if row.embedded]
            named = [c for c in corpora if c.name in embedded]
            chosen = corpus or (named[0].name if named else None)
            placed = await db.map_corpus(chosen, count) if chosen is not None else []
            found: dict[str, int] = {}
            if chosen is not None and q.strip():
                hits = await db.search(chosen, q, 50, "lexical")
                found = {hit.chunk_id: hit.rank for hit in hits}
        folders = {folder(row.source) for row in placed}
        group = folder if len(folders) > 1 else str
        groups = Counter(group(row.source) for row in placed)
        inks = {name: f"ink{n}" for n, (name, _) in enumerate(groups.most_common(INKS))}
        points = [_point(row, inks.get(group(row.source), "others"), found) for row in placed]
        return studio.page(
            request,
            "map.html",
            corpora=named or corpora,
            corpus=chosen,
            q=q,
            points=sorted(points, key=lambda point: point.is_lit),
            groups=[(name, n, inks.get(name, "others")) for name, n in groups.most_common(INKS)],
            others=sum(groups.values()) - sum(n for _, n in groups.most_common(INKS)),
            chunks=next((c.chunks for c in corpora if c.name == chosen), 0),
            found=found,
        )


def folder(source: str) -> str:
    """What points are coloured by, where there are several: the folder, or a name without one."""
    return source.rpartition("/")[0] or source


def _point(row: Any, ink: str, found: dict[str, int]) -> Point:
    half = SIDE / 2
    return Point(
        row,
        round(half + row.x * (half - 20), 1),
        round(half - row.y * (half - 20), 1),
        ink,
        row.chunk_id in found,
    )
