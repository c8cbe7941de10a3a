"""Search: one question in each mode side by side, and each score taken apart term by term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import BeforeValidator, Field
from starlette.responses import HTMLResponse

from ragdb.client._generated.rows import Embedders
from ragdb.client.client import AsyncClient
from ragdb.client.rows import record
from ragdb.studio.pages import Marks, Studio, shares

# a field of a form may be left empty
Blank = BeforeValidator(lambda given: given or None)
Count = Annotated[Annotated[int, Field(ge=1)] | None, Blank]
Share = Annotated[Annotated[float, Field(ge=0, le=1)] | None, Blank]
MODES = ("lexical", "semantic", "hybrid")


@dataclass(frozen=True)
class Card:
    """A hit as it is drawn."""

    hit: Any
    snippet: Markup
    terms: list[Any]
    lexical: tuple[float, float]
    semantic: tuple[float, float]


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/search")
    async def search(
        request: Request,
        corpus: str | None = None,
        q: str = "",
        k: Annotated[int, Query(ge=1, le=50)] = 5,
        weight: Share = None,
        syntax: str = "plain",
        per_document: Count = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            corpora = [c for c in await db.list_corpora() if c.name not in ("personal", "system")]
            chosen = corpus or (corpora[0].name if corpora else None)
            columns: dict[str, list[Card]] = {}
            meant = waiting = None
            embedder = await db.corpus_embedder(chosen) if chosen is not None else None
            part = await _lexical_part(db, embedder) if weight is None else weight
            if chosen is not None and q.strip():
                ready = await db.prepare_query(chosen, q)
                waiting = embedder is not None and not ready
                explained: dict[str, tuple[Markup, list[Any]]] = {}
                for mode in MODES if embedder is not None and ready else MODES[:1]:
                    hits = await db.search(
                        chosen,
                        q,
                        k,
                        mode,
                        lexical_weight=weight,
                        syntax=syntax,
                        per_document=per_document,
                    )
                    # one chunk may stand in each column
                    for id in {hit.chunk_id for hit in hits} - explained.keys():
                        explained[id] = await _explained(db, chosen, q, syntax, id)
                    columns[mode] = [_card(hit, part, *explained[hit.chunk_id]) for hit in hits]
                meant = await db.did_you_mean(chosen, q, syntax)
        return studio.page(
            request,
            "search.html",
            corpora=corpora,
            corpus=chosen,
            q=q,
            k=k,
            weight=part,
            syntax=syntax,
            per_document=per_document,
            columns=columns,
            meant=meant,
            waiting=waiting,
            here=studio.here(request),
            # as it was asked, for who says what they think of a hit
            asked={
                "corpus": chosen,
                "q": q,
                "k": k,
                "weight": weight,
                "syntax": syntax,
                "per_document": per_document,
            },
        )


async def _lexical_part(db: AsyncClient, embedder: Embedders | None) -> float:
    """The share of the words in a hybrid search by an embedder, where nobody says another."""
    if embedder is None:
        return 0.5
    known = {row.embedder: row.lexical_weight for row in await db.list_static_models()}
    return known.get(embedder.name, 0.5)


async def _explained(
    db: AsyncClient, corpus: str, query: str, syntax: str, chunk_id: str
) -> tuple[Markup, list[Any]]:
    """The text of a chunk with the words of the query marked, and what each of them gives."""
    marks = Marks()
    text = await db.highlight(corpus, chunk_id, query, marks.start, marks.end, syntax)
    terms = await db.explain_search(corpus, query, chunk_id, syntax=syntax)
    return marks.snippet(text), [record(term) for term in terms]


def _card(hit: Any, weight: float, snippet: Markup, terms: list[Any]) -> Card:
    of = {"lexical": (1.0, 0.0), "semantic": (0.0, 1.0)}.get(hit.mode, (weight, 1 - weight))
    lexical, semantic = shares(
        [of[0] * (hit.lexical_score or 0.0), of[1] * (hit.semantic_score or 0.0)]
    )
    return Card(hit, snippet, terms, lexical, semantic)
