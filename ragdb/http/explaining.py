"""Why: a score taken apart, a chunk that a search leaves out, and where a chunk says a quote."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.routes import Routes, Token
from ragdb.http.search import Filter, Name, Syntax
from ragdb.http.server import Server


class Ranking(m.Body):
    """A chunk, and the search that ranks it. What is absent has its default in `ragdb.search`."""

    query: m.Query
    corpus: Name
    chunk_id: m.ChunkId
    mode: m.Mode = None
    statistics: Name | None = None
    query_embedding: Annotated[
        list[Annotated[float, Field(allow_inf_nan=False)]] | None,
        Field(min_length=1, max_length=16000),
    ] = None
    fusion: Literal["convex", "rrf"] = "convex"
    lexical_weight: m.Share | None = None
    syntax: Syntax = "plain"
    typos: bool = True


class Missing(Ranking):
    """A chunk, and the search that leaves it out."""

    k: m.Limit = 10
    min_score: m.Similarity = 0.0
    filter: Filter = None
    min_lexical: m.Share = 0.0
    min_semantic: m.Share = 0.0
    per_document: Annotated[int | None, Field(ge=1, le=1000)] = None
    collapse: bool = False
    diversity: m.Share = 0.0


class Quote(m.Body):
    """Words that a chunk is said to say."""

    corpus: Name
    chunk_id: m.ChunkId
    quote: Annotated[str, Field(min_length=1, max_length=10000)]


class Parts(BaseModel):
    """What each word and the meaning give to a score: the points add up to it."""

    parts: list[rows.ExplainScoreRow]


class Place(BaseModel):
    """Where a chunk says a quote, in characters from 0; nulls where it does not."""

    method: Literal["exact", "normalised", "approximate"] | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    similarity: float | None = None


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Search", 404)

    @routes.post("/api/explain/score", response_model=Parts)
    async def explain_score(request: Request, body: Ranking, _: Token) -> Answer:
        """Take the score of a chunk apart: what each word gives, and what the meaning gives."""
        async with server.transaction(request) as db:
            corpus = _corpus(server, body)
            parts = await db.explain_score(corpus, **body.model_dump(exclude={"corpus"}))
        return Answer({"parts": parts})

    @routes.post("/api/explain/missing", response_model=rows.ExplainMissingRow)
    async def explain_missing(request: Request, body: Missing, _: Token) -> Answer:
        """Say at which step a search leaves a chunk out."""
        async with server.transaction(request) as db:
            corpus = _corpus(server, body)
            found = await db.explain_missing(corpus, **body.model_dump(exclude={"corpus"}))
        return Answer(record(found))

    @routes.post("/api/quotes", response_model=Place)
    async def locate_quote(request: Request, body: Quote, _: Token) -> Answer:
        """Find where a chunk says a quote, as citations are checked."""
        async with server.transaction(request) as db:
            corpus = server.served(body.corpus)
            found = await db.locate_quote(corpus, body.chunk_id, body.quote)
        return Answer(record(found[0]) if found else {})


def _corpus(server: Server, body: Ranking) -> str:
    """The corpus of a chunk. The one that weighs the words, which its parts tell of, is served."""
    server.served(body.statistics)
    return server.served(body.corpus)
