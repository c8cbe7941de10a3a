"""Answers: what was recorded of them, what each citation came to, and what had no answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from ragdb.client._generated import rows
from ragdb.errors import TraceNotFound
from ragdb.http import personal
from ragdb.studio.pages import Blank, Studio
from ragdb.studio.turns import speakers

AROUND = 160  # characters before and after a quote
Count = Annotated[int, Query(ge=1, le=500)]


@dataclass(frozen=True)
class Cited:
    """A row of a recorded answer, with the words that it cites."""

    row: rows.ListCitationsRow
    words: Markup | None
    quote: str | None
    meaning: str | None


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/answers")
    async def answers(
        request: Request,
        corpus: Annotated[str | None, Blank] = None,
        count: Count = 50,
        wrong: bool = False,
    ) -> HTMLResponse:
        if corpus is not None:
            studio.server.served(corpus)
        async with studio.transaction(request) as db:
            corpora, _ = await studio.corpora(db, None)
            listed = await db.list_answers(corpus, None, 500 if wrong else count)
            gates = await db.list_gates(corpus, None, count)
            unanswered = await db.list_unanswered(corpus, None, count)
            evals = await studio.evals(db) if unanswered else []
        shown = [row for row in personal.served(listed) if not (wrong and row.is_verified)]
        return studio.page(
            request,
            "answers.html",
            corpora=corpora,
            corpus=corpus,
            answers=shown[:count],
            wrong=wrong,
            gates=personal.served(gates),
            count=count,
            is_cut=any(len(one) >= count for one in (shown, gates, unanswered)),
            unanswered=personal.served(unanswered),
            evals=evals,
        )

    @router.get("/answers/{id}")
    async def answer(request: Request, id: UUID) -> HTMLResponse:
        async with studio.transaction(request) as db:
            found = await db.get_answer(id)
            personal.check_served(found.corpus, "ANSWER_NOT_FOUND")
            cited = await db.list_citations(id)
            shown = [row.chunk_id for row in cited if row.text is not None]
            turns = await speakers(db, found.corpus, shown)
            checked: Sequence[rows.VerifyTraceRow] = []
            if found.trace_id is not None:
                with suppress(TraceNotFound):  # which was dropped with its month
                    async with db.connection.transaction():
                        checked = await db.verify_trace(found.trace_id)
            meanings = {row.code: row.meaning for row in await db.citation_codes()}
        drawn = [
            Cited(row, quoted(row), _quote(row), meanings.get(row.code or "")) for row in cited
        ]
        return studio.page(
            request,
            "answer.html",
            answer=found,
            cited=drawn,
            checked=checked,
            turns=turns,
            here=studio.here(request),
        )


def quoted(row: rows.ListCitationsRow) -> Markup | None:
    """The cited words, marked, with what stands around them; null where the chunk is gone."""
    if row.text is None:
        return None
    start, end = _characters(row)
    if start is None or end is None:
        return Markup("{}").format(row.text[: 2 * AROUND])
    first, last = max(0, start - AROUND), min(len(row.text), end + AROUND)
    return Markup("{}{}<mark>{}</mark>{}{}").format(
        "… " if first else "",
        row.text[first:start],
        row.text[start:end],
        row.text[end:last],
        " …" if last < len(row.text) else "",
    )


def _quote(row: rows.ListCitationsRow) -> str | None:
    start, end = _characters(row)
    return row.text[start:end] if row.text is not None and start is not None else None


def _characters(row: rows.ListCitationsRow) -> tuple[int | None, int | None]:
    """The place of a quote in characters, whatever the caller counted in."""
    if row.start_offset is None or row.end_offset is None or row.text is None:
        return None, None
    if row.unit == "codepoint":
        return row.start_offset, row.end_offset
    encoding, width = ("utf-8", 1) if row.unit == "byte" else ("utf-16-le", 2)
    raw = row.text.encode(encoding)
    before = raw[: row.start_offset * width].decode(encoding, "ignore")
    within = raw[: row.end_offset * width].decode(encoding, "ignore")
    return len(before), len(within)
