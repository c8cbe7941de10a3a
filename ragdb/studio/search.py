"""Search: one question in each mode side by side, each score taken apart, and why not a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import Field
from starlette.responses import HTMLResponse

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.notices import heard
from ragdb.http.hints import spoken
from ragdb.studio.pages import Blank, Studio
from ragdb.studio.parts import Part, meaning, stacked
from ragdb.studio.recipes import recipe
from ragdb.studio.texts import Marks
from ragdb.studio.turns import speakers

Count = Annotated[Annotated[int, Field(ge=1)] | None, Blank]
Share = Annotated[Annotated[float, Field(ge=0, le=1)] | None, Blank]
ALIKE = 5  # chunks that are shown beside one
MODES = ("hybrid", "lexical", "semantic")


# what each answer of ragdb.explain_missing means, in the order in which a search does it
STEPS = (
    ("ranking", "Ranks", "by its words or its meaning"),
    ("filter", "Filter", "what the filter asks"),
    ("min_score", "Least score", "min_score and the floors of the legs"),
    ("per_document", "Per document", "so many hits of one document"),
    ("collapse", "Repeats", "what nearly repeats a better hit"),
    ("diversity", "Diversity", "what is too much like better hits"),
    ("depth", "Depth", "candidates of each leg"),
    ("limit", "Hits", "how many are returned"),
)


@dataclass(frozen=True)
class Card:
    """A hit as it is drawn."""

    hit: rows.Hit
    snippet: Markup
    parts: list[Part]


def register(router: APIRouter, studio: Studio) -> None:
    _add_why(router, studio)

    @router.get("/search")
    async def search(
        request: Request,
        corpus: str | None = None,
        q: str = "",
        k: Annotated[int, Query(ge=1, le=20)] = 5,
        weight: Share = None,
        usual: Share = None,
        syntax: str = "plain",
        per_document: Count = None,
    ) -> HTMLResponse:
        if weight == usual:  # left as it was, so it is that of the corpus, which may be another now
            weight = None
        async with studio.transaction(request) as db:
            corpora, chosen = await studio.corpora(db, corpus)
            columns: dict[str, list[Card]] = {}
            turns: dict[str, rows.ListTurnsRow] = {}
            notes: list[str] = []
            said: dict[str, list[str]] = {}
            meant = waiting = None
            embedder = await db.corpus_embedder(chosen) if chosen is not None else None
            usual = await _lexical_part(db, embedder)
            part = usual if weight is None else weight
            is_bare = chosen is not None and not (await db.corpus_info(chosen)).chunks
            asked = {"lexical_weight": weight, "syntax": syntax, "per_document": per_document}
            evals: list[rows.ListEvalsRow] = []
            if chosen is not None and q.strip():
                evals = await studio.evals(db, chosen)
                waiting = embedder is not None and not await db.prepare_query(chosen, q)
                columns, said = await _columns(db, chosen, q, k, part, asked)
                turns = await speakers(
                    db, chosen, [card.hit.chunk_id for found in columns.values() for card in found]
                )
                # what is said of one mode stands in its column
                if not any(columns.values()) or len(columns) > 1 or embedder is None:
                    notes = _common(said.values())
                meant = await db.did_you_mean(chosen, q, syntax)
        return studio.page(
            request,
            "search.html",
            corpora=corpora,
            corpus=chosen,
            q=q,
            k=k,
            part=part,
            usual=usual,
            syntax=syntax,
            per_document=per_document,
            columns=columns,
            turns=turns,
            meant=meant,
            waiting=waiting,
            notes=[spoken(request, note) for note in notes],
            said={
                mode: [spoken(request, note) for note in told if note not in notes]
                for mode, told in said.items()
            },
            unmeant=not notes
            and embedder is not None
            and not is_bare
            and 0 < len(columns) < len(MODES),
            is_bare=is_bare,
            evals=evals,
            recipe=recipe(str(request.base_url), chosen or "", q, k, asked),
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


def _add_why(router: APIRouter, studio: Studio) -> None:
    @router.get("/search/why")
    async def why(
        request: Request,
        corpus: str,
        q: str,
        chunk: Annotated[str, Query(min_length=1, max_length=512)],
        k: Annotated[int, Query(ge=1, le=1000)] = 5,
        mode: str | None = None,
        weight: Share = None,
        syntax: str = "plain",
        per_document: Count = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            id = await db.find_chunk(studio.server.served(corpus), chunk.strip())
            missing = await db.explain_missing(
                corpus,
                q,
                id,
                k,
                mode or None,
                lexical_weight=weight,
                syntax=syntax,
                per_document=per_document,
            )
            found = await db.explain_score(
                corpus, q, id, mode or None, lexical_weight=weight, syntax=syntax
            )
            parts = [Part.of(row) for row in found]
            text = (await marked(db, corpus, q, syntax, [id]))[id]
            row = await db.get_chunk(corpus, id)
            alike = await db.similar(corpus, id, ALIKE)
            turns = await speakers(db, corpus, [id, *(one.chunk_id for one in alike)])
        return studio.page(
            request,
            "why.html",
            corpus=corpus,
            q=q,
            k=k,
            mode=mode,
            weight=weight,
            syntax=syntax,
            per_document=per_document,
            chunk=row,
            text=text,
            missing=missing,
            parts=stacked(parts),
            steps=STEPS,
            alike=alike,
            turns=turns,
        )


async def _lexical_part(db: AsyncClient, embedder: rows.Embedders | None) -> float:
    """The share of the words in a hybrid search by an embedder, where nobody says another."""
    if embedder is None:
        return 0.5
    known = {row.embedder: row.lexical_weight for row in await db.list_static_models()}
    return known.get(embedder.name, 0.5)


async def _columns(
    db: AsyncClient, corpus: str, query: str, k: int, weight: float, asked: dict[str, Any]
) -> tuple[dict[str, list[Card]], dict[str, list[str]]]:
    """What each mode finds, first that of a search which names none, and what is said of it.

    Only words are compared where nobody can embed the query.
    """
    with heard(db.connection) as notes:
        best = await db.search(corpus, query, k, **asked)
    first = best[0].mode if best else "lexical"
    found, said = {first: best}, {first: notes}
    if MODES[0] in found:
        for mode in MODES[1:]:
            with heard(db.connection) as notes:
                found[mode] = await db.search(corpus, query, k, mode, **asked)
            said[mode] = notes
    # one chunk may stand in each column
    ids = list({hit.chunk_id: None for hits in found.values() for hit in hits})
    syntax = asked["syntax"]
    texts = await marked(db, corpus, query, syntax, ids)
    terms: dict[str, list[rows.ExplainScoresRow]] = {id: [] for id in ids}
    if ids:
        for row in await db.explain_scores(corpus, query, ids, "lexical", syntax=syntax):
            terms[row.chunk_id].append(row)
    cards = {
        mode: [_card(hit, weight, texts[hit.chunk_id], terms[hit.chunk_id]) for hit in hits]
        for mode, hits in found.items()
    }
    return cards, said


def _common(said: Iterable[list[str]]) -> list[str]:
    """What is said of each of some searches."""
    first, *others = said
    return [note for note in dict.fromkeys(first) if all(note in other for other in others)]


async def marked(
    db: AsyncClient, corpus: str, query: str, syntax: str, ids: list[str]
) -> dict[str, Markup]:
    """The texts of chunks around the first word that the query matches."""
    marks = Marks()
    found = await db.highlight_chunks(corpus, ids, query, marks.start, marks.end, syntax)
    return {row.chunk_id: marks.snippet(row.text) for row in found}


def _card(
    hit: rows.Hit, weight: float, snippet: Markup, terms: list[rows.ExplainScoresRow]
) -> Card:
    of = {"lexical": (1.0, 0.0), "semantic": (0.0, 1.0)}.get(hit.mode, (weight, 1 - weight))
    parts = [Part.of(row, of[0]) for row in terms] if of[0] else []
    if of[1]:
        parts.append(meaning(hit.semantic_score, of[1]))
    return Card(hit, snippet, stacked(parts))
