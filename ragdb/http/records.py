"""Routes of our own: traces, blobs, jobs and events."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import AwareDatetime, BaseModel, Field

from ragdb.client._generated.rows import (
    ListBlobsRow,
    ReplayHitsRow,
    RetrievalHits,
    RetrievalReranks,
    RetrievalTraces,
    TraceStagesRow,
)
from ragdb.client.client import AsyncClient
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http import personal
from ragdb.http.corpora import CORPUS, Corpus, Dropped
from ragdb.http.gate import Answer
from ragdb.http.routes import Before, Count, InCorpus, Routes, Token, failures, next_after
from ragdb.http.server import Server
from ragdb.http.transactions import Refused


class TraceAnswer(BaseModel):
    trace: RetrievalTraces
    hits: list[RetrievalHits]
    reranks: list[RetrievalReranks]
    stages: list[TraceStagesRow]
    provenance: m.Provenance


class ReplayAnswer(BaseModel):
    verdict: Literal["exact", "same_order", "same_set", "drifted", "not_replayable"]
    cause: str | None
    detail: str | None
    changed_chunk_ids: list[str] | None
    recorded_chunk_ids: list[str] | None
    replayed_chunk_ids: list[str] | None
    hits: list[ReplayHitsRow]


class WhyNot(BaseModel):
    step: str
    reason: str


class Blob(BaseModel):
    doc_cid: str
    media_type: str
    size: int


class Blobs(BaseModel):
    """Blobs in the order of `cid`; the next page begins after `next`, null at the end."""

    blobs: list[ListBlobsRow]
    next: str | None


class Job(BaseModel):
    job_id: str
    capability: str
    corpus: str | None
    state: Literal["waiting", "in_work", "failed", "done"]
    error: str | None
    message: str | None
    hint: str | None
    created_at: str | None


class After(m.Body):
    """Where to go on in the events of all corpora; what is absent is the beginning."""

    after: Annotated[
        dict[str, int] | None, Field(description="next of the page before, as it came.")
    ] = None
    count: Annotated[int, Field(ge=1, le=10000)] = 100


class Events(BaseModel):
    """Envelopes, oldest first, and the place behind them."""

    events: list[dict[str, Any]]
    next: dict[str, int]


class CorpusEvents(BaseModel):
    """Envelopes of one corpus, oldest first, and the number behind them."""

    events: list[dict[str, Any]]
    next: int


class Traces(m.Latest):
    traces: list[RetrievalTraces]


def register(app: FastAPI, server: Server) -> None:
    traces, ingest = Routes(app, "Traces", 404), Routes(app, "Ingest", 404)

    @traces.get("/api/traces", response_model=Traces)
    async def list_traces(
        request: Request,
        _: Token,
        corpus: InCorpus = None,
        since: Annotated[AwareDatetime | None, Query(description="Recorded then or later.")] = None,
        count: Count = 50,
        until: Annotated[AwareDatetime | None, Query(description="Recorded before then.")] = None,
        mode: Annotated[m.Mode, Query()] = None,
        outcome: Annotated[
            Literal["found", "empty", "short", "failed"] | None,
            Query(description="With hits, without, with a shortfall, or failed."),
        ] = None,
        min_elapsed_ms: Annotated[
            float | None, Query(ge=0, description="Milliseconds that the search took at least.")
        ] = None,
        before: Before = None,
    ) -> Answer:
        """List the role's latest retrievals, newest first; an auditor's list has all roles'."""
        async with server.transaction(request) as db:
            named = server.served(corpus) if corpus is not None else None
            listed = await db.list_traces(
                named, since, count, until, mode, outcome, min_elapsed_ms, before
            )
        shown = personal.served(listed)
        return Answer({"traces": shown, "next": next_after(listed, count, "id")})

    @traces.get("/api/traces/{id}", response_model=TraceAnswer)
    async def get_trace(request: Request, id: UUID, _: Token) -> Answer:
        """Return a recorded retrieval with its hits, its reranking and its provenance."""
        async with server.transaction(request) as db:
            trace = await served_trace(db, id)
            hits = await db.trace_hits(id)
            reranks = await db.trace_reranks(id)
            stages = await db.trace_stages(id)
            provenance = await db.provenance(id)
        return Answer(
            {
                "trace": record(trace),
                "hits": [record(hit) for hit in hits],
                "reranks": [record(row) for row in reranks],
                "stages": stages,
                "provenance": provenance,
            }
        )

    @traces.post("/api/traces/{id}/replay", response_model=ReplayAnswer)
    async def replay(request: Request, id: UUID, _: Token) -> Answer:
        """Run a recorded retrieval again and say how the results compare, hit by hit."""
        async with server.transaction(request) as db:
            await served_trace(db, id)
            verdict = await db.replay(id)
            hits = await db.replay_hits(id)
        return Answer({**record(verdict), "hits": hits})

    @traces.get("/api/traces/{id}/why-not", response_model=WhyNot)
    async def why_not(
        request: Request,
        id: UUID,
        _: Token,
        chunk_id: Annotated[str, Query(min_length=1, max_length=512)],
    ) -> Answer:
        """Say at which step of a recorded retrieval a chunk fell out, or that it was a hit."""
        async with server.transaction(request) as db:
            await served_trace(db, id)
            found = await db.why_not(id, chunk_id)
        return Answer(record(found))

    # of any type; a generated client says this one
    octets = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    blob: dict[str, Any] = {"required": True, "content": octets}

    @ingest.post(
        "/api/blobs",
        status_code=201,
        response_model=Blob,
        responses=failures(),
        openapi_extra={"requestBody": blob},
    )
    async def put_blob(request: Request, _: Token) -> Answer:
        """Keep the bytes of a document, so that rag.ingest@1.0 can read them by their doc_cid."""
        async with server.transaction(request) as db:  # before the bytes are read: who asks?
            pass
        data = await request.body()
        media_type = request.headers.get("content-type", "application/octet-stream")
        if not data or len(media_type) > 200:
            raise Refused(400, "BAD_REQUEST", "the body is empty, or its type is over 200 bytes")
        # the second is what curl says where it is told no type
        if media_type.lower().startswith(("multipart/form-data", "application/x-www-form-")):
            hint = "curl --data-binary @FILE -H 'Content-Type: text/markdown' sends a file as it is"
            message = f"the body is called a form ({media_type}), not the bytes of one file"
            raise Refused(400, "BAD_REQUEST", message, {"hint": hint})
        async with server.transaction(request) as db:
            cid = await db.put_blob(data, media_type)
        return Answer({"doc_cid": cid, "media_type": media_type, "size": len(data)}, 201)

    @ingest.get("/api/blobs", response_model=Blobs)
    async def list_blobs(
        request: Request,
        _: Token,
        after: Annotated[str, Query(max_length=100, description="next of the page before.")] = "",
        count: Count = 100,
    ) -> Answer:
        """List the blobs that the caller has put, and which of them a corpus has."""
        async with server.transaction(request) as db:
            listed = await db.list_blobs(after, count)
        return Answer({"blobs": [*map(record, listed)], "next": next_after(listed, count, "cid")})

    @ingest.delete("/api/blobs/{cid}", response_model=Dropped, responses=failures(404, 409))
    async def drop_blob(request: Request, cid: str, _: Token) -> Answer:
        """Take back a blob that the caller has put and that no corpus has."""
        async with server.transaction(request) as db:
            await db.drop_blob(cid)
        return Answer({"dropped": cid})

    @ingest.get("/api/jobs/{id}", response_model=Job)
    async def job(request: Request, id: UUID, _: Token) -> Answer:
        """Say what has become of the job of a partition answer."""
        async with server.transaction(request) as db:
            state = await db.job_state(id)
        return Answer({"job_id": id, **record(state)})

    @ingest.get(f"{CORPUS}/events", response_model=CorpusEvents)
    async def corpus_events(
        request: Request,
        corpus: Corpus,
        _: Token,
        after: Annotated[int, Query(ge=0, le=2**62, description="next of the page before.")] = 0,
        count: Count = 100,
    ) -> Answer:
        """Return the envelopes of the next events of a corpus."""
        async with server.transaction(request) as db:
            page = await db.corpus_event_envelopes(server.served(corpus), after, count)
        return Answer(page)

    @ingest.post("/api/events", response_model=Events, responses=failures())
    async def events(request: Request, body: After, _: Token) -> Answer:
        """Return the envelopes of the next events of all corpora."""
        async with server.transaction(request) as db:
            page = await db.event_envelopes(body.after, body.count)
        return Answer(page)


async def served_trace(db: AsyncClient, id: UUID) -> RetrievalTraces:
    trace = await db.get_trace(id)
    personal.check_served(trace.corpus, "TRACE_NOT_FOUND")
    return trace
