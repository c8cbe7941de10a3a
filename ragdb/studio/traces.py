"""Traces: recorded retrievals, what each rests on, and what has changed since."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import HTMLResponse

from ragdb.client._generated import rows
from ragdb.client._generated.rows import RetrievalTraces
from ragdb.client.client import AsyncClient
from ragdb.http import personal
from ragdb.http.records import served_trace
from ragdb.studio.pages import Blank, Studio
from ragdb.studio.parts import Part, stacked
from ragdb.studio.turns import speakers

# what a browser sends for a time has no zone: it is UTC, as the page says
Moment = Annotated[datetime | None, Blank]
Mode = Annotated[Literal["lexical", "semantic", "hybrid", "reference"] | None, Blank]
Outcome = Annotated[Literal["found", "empty", "short", "failed"] | None, Blank]
Milliseconds = Annotated[Annotated[float, Field(ge=0)] | None, Blank]
Seconds = Annotated[Annotated[int, Field(ge=5, le=3600)] | None, Blank]
PAGE = 50
WATCHED = 10  # seconds between two looks


def register(router: APIRouter, studio: Studio) -> None:
    @router.get("/traces")
    async def traces(
        request: Request,
        corpus: Annotated[str | None, Blank] = None,
        since: Moment = None,
        until: Moment = None,
        mode: Mode = None,
        outcome: Outcome = None,
        slower: Milliseconds = None,
        before: Annotated[UUID | None, Blank] = None,
        every: Seconds = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            corpora, _ = await studio.corpora(db, corpus)
            listed = await db.list_traces(
                corpus, _utc(since), PAGE + 1, _utc(until), mode, outcome, slower, before
            )
        shown = personal.served(listed[:PAGE])
        asked = {
            "corpus": corpus,
            "since": since.isoformat(timespec="minutes") if since else None,
            "until": until.isoformat(timespec="minutes") if until else None,
            "mode": mode,
            "outcome": outcome,
            "slower": slower,
        }
        page = studio.page(
            request,
            "traces.html",
            corpora=corpora,
            traces=shown,
            asked=asked,
            is_first=before is None,
            older=listed[PAGE - 1].id if len(listed) > PAGE else None,
            slowest=max((trace.elapsed_ms for trace in shown), default=0.0),
            every=every,
            watched=WATCHED,
        )
        if every is not None:
            page.headers["Refresh"] = str(every)  # by the browser itself, also without script
        return page

    @router.get("/traces/{id}")
    async def trace(
        request: Request,
        id: UUID,
        replay: bool = False,
        chunk: Annotated[str | None, Query(max_length=512), Blank] = None,
    ) -> HTMLResponse:
        async with studio.transaction(request) as db:
            found = await served_trace(db, id)
            named_so = await db.list_corpora(found.corpus, count=1)
            readable = [row.name for row in named_so] == [found.corpus]
            checked = await db.verify_trace(id)
            hits = await _hits(db, found, readable)
            read = [chunk.chunk_id for _, chunk, _ in hits if chunk is not None]
            page: dict[str, Any] = {
                "trace": found,
                "readable": readable,
                "checked": checked,
                "stages": await db.trace_stages(id),
                "reranks": {row.chunk_id: row for row in await db.trace_reranks(id)},
                "token": await _token(db, found) if readable else None,
                "hits": hits,
                "turns": await speakers(db, found.corpus, read),
                "verdict": await db.replay(id) if replay and readable else None,
                "changes": await db.replay_hits(id) if replay and readable else [],
                "why": None,
                "failure": await _failure(db, found.error_code),
                "chunk": chunk,
                "here": studio.here(request),
            }
            if chunk is not None and readable:
                # one that was a hit may be gone since
                if chunk not in {hit.chunk_id for hit, _, _ in hits}:
                    page["chunk"] = await db.find_chunk(found.corpus, chunk.strip())
                page["why"] = await db.why_not(id, page["chunk"])
        return studio.page(request, "trace.html", **page)


def _utc(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


async def _hits(
    db: AsyncClient, trace: RetrievalTraces, readable: bool
) -> list[tuple[rows.RetrievalHits, rows.Chunk | None, list[Part]]]:
    """Each hit with its chunk as it is now, where the role may read it, and its bar."""
    hits = await db.trace_hits(trace.id)
    ids = [hit.chunk_id for hit in hits]
    chunks: dict[str, rows.Chunk] = {}
    if ids and readable:
        listed = await db.list_chunks(trace.corpus, None, ids, count=len(ids))
        chunks = {chunk.chunk_id: chunk for chunk in listed}
    weight = float((trace.ranking or {}).get("lexical_weight", 0.5))
    return [(hit, chunks.get(hit.chunk_id), _parts(hit, trace, weight)) for hit in hits]


def _parts(hit: rows.RetrievalHits, trace: RetrievalTraces, weight: float) -> list[Part]:
    """A recorded score as its words and its meaning; whole where it is not their sum."""
    fusion = (trace.ranking or {}).get("fusion", "convex")
    if trace.rank_mode == "hybrid" and fusion == "convex":
        return stacked(
            [
                Part("word", "words", weight * (hit.lexical_score or 0), weight),
                Part("meaning", "meaning", (1 - weight) * (hit.semantic_score or 0), 1 - weight),
            ]
        )
    kind = "meaning" if trace.rank_mode == "semantic" else "word"
    return stacked([Part(kind, str(trace.rank_mode), hit.score, 1.0)])


async def _failure(db: AsyncClient, code: str | None) -> rows.ErrorCodesRow | None:
    """What an error code of ours means; None of PostgreSQL's, and without one."""
    if code is None:
        return None
    return next((row for row in await db.error_codes() if row.sqlstate == code), None)


async def _token(db: AsyncClient, trace: RetrievalTraces) -> rows.VerifyTokenRow | None:
    """Whether what the trace's token signed is still there; None without one."""
    if trace.admissibility_token is None:
        return None
    return await db.verify_token(
        trace.corpus,
        trace.admissibility_token,
        str(trace.slice_id),
        str(trace.anchor_chunk_id),
        str(trace.policy_id),
        str(trace.policy_params_hash),
        str(trace.graph_snapshot_hash),
        str(trace.schema_version),
        None,
        trace.slice_edge_count,
    )
