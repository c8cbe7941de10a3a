"""The routes of RAG++: search in a slice, and in a whole corpus."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field

from ragdb.client._generated.rows import TurnHit
from ragdb.client.client import AsyncClient
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.routes import InCorpus, Token, check_turn_ids, failures, policy_of
from ragdb.http.server import CLIENT, Server
from ragdb.http.spans import current, ids


class SearchRequest(m.Body):
    """A query under a slice."""

    query: m.Query
    anchor_turn_id: m.ChunkId
    policy_ref: m.PolicyRef | None = None
    limit: m.Limit = 10
    min_similarity: m.Similarity = 0.0
    mode: m.Mode = None
    filter: dict[str, Any] | None = None
    corpus: m.Corpus = None


# in a URL each of its characters may take twelve bytes
UrlQuery = Annotated[str, Field(min_length=1, max_length=4096, description="What is asked.")]


class Trajectory(BaseModel):
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float


class Result(BaseModel):
    """A hit. What only turns have is null for a chunk of a document."""

    turn_id: str
    content: str
    role: str | None
    similarity: float
    conversation_id: str | None
    trajectory: Trajectory | None
    phase: str | None
    salience: float | None
    rank: int
    source: str
    title: str | None
    page: int | None
    citation: dict[str, Any]
    metadata: dict[str, Any]
    content_hash: str


class GlobalAnswer(BaseModel):
    query: str
    results: list[Result]
    provenance: m.Provenance


class SearchAnswer(GlobalAnswer):
    slice_info: m.SliceInfo


def _result(hit: TurnHit) -> dict[str, Any]:
    trajectory = None
    if hit.depth is not None:
        trajectory = {
            name: getattr(hit, name)
            for name in ("depth", "sibling_order", "homogeneity", "temporal", "complexity")
        }
    return {
        "turn_id": hit.chunk_id,
        "content": hit.text,
        "role": hit.role,
        "similarity": hit.score,
        "conversation_id": hit.session_id,
        "trajectory": trajectory,
        "phase": hit.phase,
        "salience": hit.salience,
        "rank": hit.rank,
        "source": hit.source,
        "title": hit.title,
        "page": hit.page,
        "citation": hit.citation,
        "metadata": hit.metadata,
        "content_hash": hit.content_hash,
    }


async def noted(db: AsyncClient, request: Request, trace_id: UUID) -> dict[str, Any]:
    """The provenance of what was found; the span of the request hears of it."""
    found: dict[str, Any] = await db.provenance(trace_id)
    current(request).note(
        trace=trace_id,
        rank_mode=found["rank_mode"],
        retrieval_mode=found["retrieval_mode"],
        hits=found["limit_returned"],
    )
    return found


def register(app: FastAPI, server: Server) -> None:
    @app.post(
        "/api/rag/search/slice",
        tags=["RAG++"],
        response_model=SearchAnswer,
        responses=failures(404, 409),
    )
    async def search_slice(request: Request, body: SearchRequest, _: Token) -> Answer:
        """Search the slice around an anchor, and record the trace that proves it."""
        check_turn_ids([body.anchor_turn_id])

        async def search(db: Any, corpus: str) -> Any:
            hits = await db.retrieve_slice(
                corpus,
                body.query,
                anchor=body.anchor_turn_id,
                policy=policy_of(body.policy_ref),
                k=body.limit,
                mode=body.mode,
                min_score=body.min_similarity,
                filter=body.filter,
                client=CLIENT,
                **ids(request),
            )
            return hits, await noted(db, request, hits.trace_id)

        hits, provenance = await server.retrieve(
            request,
            body.corpus,
            [body.anchor_turn_id],
            body.query,
            body.mode,
            search,
            k=body.limit,
            min_score=body.min_similarity,
            filter=body.filter,
        )
        return Answer(
            {
                "query": body.query,
                "results": [_result(hit) for hit in hits],
                "slice_info": provenance["slice_info"],
                "provenance": provenance,
            }
        )

    async def search_global(
        request: Request,
        _: Token,
        query: Annotated[UrlQuery, Query()],
        limit: Annotated[int, Query(ge=1, le=1000, description="Results at most.")] = 10,
        min_similarity: Annotated[m.Similarity, Query()] = 0.0,
        mode: Annotated[m.Mode, Query()] = None,
        corpus: InCorpus = None,
    ) -> Answer:
        async def search(db: Any, corpus: str) -> Any:
            hits = await db.retrieve_global(
                corpus,
                query,
                limit,
                mode=mode,
                min_score=min_similarity,
                client=CLIENT,
                **ids(request),
            )
            return hits, await noted(db, request, hits.trace_id)

        hits, provenance = await server.retrieve(
            request, corpus, [], query, mode, search, k=limit, min_score=min_similarity
        )
        results = [_result(hit) for hit in hits]
        return Answer({"query": query, "results": results, "provenance": provenance})

    for path, about, is_old in (
        ("/api/rag/search/global", "Search the whole corpus; what is found is not admissible.", 0),
        ("/api/rag/search", "The same as /api/rag/search/global, under its first name.", 1),
    ):
        app.get(
            path,
            tags=["RAG++"],
            response_model=GlobalAnswer,
            responses=failures(404, 409),
            description=about,
            summary=about.partition(";")[0].partition(",")[0].rstrip("."),
            name=path.strip("/").replace("/", "_"),
            deprecated=bool(is_old) or None,
        )(search_global)
