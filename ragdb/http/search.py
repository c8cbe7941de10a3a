"""Search with all its options, and counts of what matches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.notices import heard
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.hints import spoken
from ragdb.http.routes import Routes, Token, failures
from ragdb.http.server import CLIENT, Server
from ragdb.http.spans import current, ids
from ragdb.http.transactions import Refused

Name = Annotated[str, Field(min_length=1, max_length=64)]
Corpora = Annotated[
    list[Name] | None,
    Field(
        min_length=1,
        max_length=1000,
        description="Corpora; the server's own, or all that the role may read, when absent.",
    ),
]
Syntax = Annotated[
    Literal["plain", "web"],
    Field(
        description='web has "phrases", +required and -excluded words; plain takes all as words.'
    ),
]
Filter = Annotated[
    dict[str, Any] | None, Field(description="Conditions on metadata and built-in fields.")
]


class Search(m.Body):
    """A query, and how `ragdb.search` answers it. What is absent has its default there."""

    query: m.Query
    corpora: Corpora = None
    k: m.Limit = 10
    mode: m.Mode = None
    min_score: m.Similarity = 0.0
    filter: Filter = None
    chunk_ids: Annotated[
        list[m.ChunkId] | None, Field(max_length=10000, description="Rank among these alone.")
    ] = None
    statistics: Annotated[
        Name | None, Field(description="Corpus whose statistics weigh the words.")
    ] = None
    query_embedding: Annotated[
        list[Annotated[float, Field(allow_inf_nan=False)]] | None,
        Field(
            min_length=1,
            max_length=16000,
            description="Embedding of the query by the corpus's model.",
        ),
    ] = None
    fusion: Annotated[
        Literal["convex", "rrf"], Field(description="How a hybrid search joins its legs.")
    ] = "convex"
    lexical_weight: Annotated[
        m.Share | None, Field(description="Share of the lexical leg; null: what its embedder says.")
    ] = None
    min_lexical: Annotated[m.Share, Field(description="Least lexical score.")] = 0.0
    min_semantic: Annotated[m.Share, Field(description="Least semantic score.")] = 0.0
    syntax: Syntax = "plain"
    per_document: Annotated[
        int | None, Field(ge=1, le=1000, description="Hits of one document at most.")
    ] = None
    collapse: Annotated[bool, Field(description="Leave out what nearly repeats a better hit.")] = (
        False
    )
    diversity: Annotated[
        m.Share, Field(description="What likeness to better hits takes from a score.")
    ] = 0.0
    context: Annotated[
        int, Field(ge=0, le=20, description="Neighbours of a hit on each side, in its `context`.")
    ] = 0
    section: Annotated[
        bool, Field(description="The section of a hit as its `context`, or neighbours in it only.")
    ] = False
    typos: Annotated[
        bool, Field(description="For a word that a corpus lacks, take one that is near.")
    ] = True
    as_of: Annotated[
        int | None,
        Field(ge=0, le=9223372036854775807, description="Version of one corpus with history."),
    ] = None
    record: Annotated[
        bool, Field(description="Record the retrieval (one corpus), and answer its trace.")
    ] = False


class Found(BaseModel):
    """Hits, best first; `trace_id` where the retrieval was recorded.

    `note` is what the database said: what it searched without, or why nothing was found.
    """

    hits: list[rows.Hit]
    did_you_mean: str | None
    note: str | None
    trace_id: str | None


class Matching(m.Body):
    """What a query (all, when absent) matches under a filter."""

    query: m.Query | None = None
    corpora: Corpora = None
    filter: Filter = None
    syntax: Syntax = "plain"


class Facets(Matching):
    """Fields to count by: built-in ones such as source and language, or keys of the metadata."""

    fields: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]],
        Field(min_length=1, max_length=20),
    ]
    most_values: Annotated[int, Field(ge=1, le=10000, description="Values of a field at most.")] = (
        100
    )


class FacetsAnswer(BaseModel):
    """Counts, and in `note` which of the fields no document has."""

    facets: list[rows.FacetsRow]
    note: str | None


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Search", 404)

    @routes.post("/api/search", response_model=Found, responses=failures(404, 409))
    async def search(request: Request, body: Search, _: Token) -> Answer:
        """Search corpora as ragdb.search does. Nothing is written unless `record` is true."""
        server.served(body.statistics)
        how = body.model_dump(exclude={"query", "corpora", "record"})

        async def meant(db: AsyncClient, names: list[str], hits: Any) -> str | None:
            # what the best hit comes from knows the words; where nothing is found, nobody does
            asked = [hits[0].corpus] if hits else names
            return await db.did_you_mean(asked, body.query, body.syntax)

        async def retrieve(db: AsyncClient, corpus: str) -> dict[str, Any]:
            with heard(db.connection) as notes:
                hits = await db.retrieve(corpus, body.query, client=CLIENT, **how, **ids(request))
            mode = hits[0].mode if hits else None
            current(request).note(trace=hits.trace_id, rank_mode=mode, hits=len(hits))
            listed = [record(hit) for hit in hits]
            for hit in listed:
                del hit["trace_id"]
            return {
                "hits": listed,
                "did_you_mean": await meant(db, [corpus], hits),
                "note": spoken(request, "\n".join(notes)) or None,
                "trace_id": hits.trace_id,
            }

        async def look(db: AsyncClient, names: list[str]) -> dict[str, Any]:
            with heard(db.connection) as notes:
                hits = await db.search(names, body.query, **how)
            mode = hits[0].mode if hits else None
            span.note(corpus=", ".join(names[:10]), rank_mode=mode, hits=len(hits), k=body.k)
            return {
                "hits": hits,
                "did_you_mean": await meant(db, names, hits),
                "note": spoken(request, "\n".join(notes)) or None,
                "trace_id": None,
            }

        if body.record and how.pop("as_of") is not None:
            raise Refused(400, "BAD_REQUEST", "as_of goes without record", {"as_of": body.as_of})
        if body.record:
            if body.corpora is not None and len(set(body.corpora)) > 1:
                message = "record works with one corpus"
                raise Refused(400, "BAD_REQUEST", message, {"corpora": body.corpora})
            asked = {name: how[name] for name in ("k", "min_score", "filter", "chunk_ids")}
            corpus = body.corpora[0] if body.corpora else None
            is_embedded = body.query_embedding is not None
            return Answer(
                await server.retrieve(
                    request, corpus, [], body.query, body.mode, retrieve,
                    is_embedded=is_embedded, **asked,
                )
            )  # fmt: skip
        with server.spans.retrieval(request, body.query) as span:
            needs = body.query if body.query_embedding is None else None
            found = await server.when_ready(
                request,
                lambda db: server.corpora(db, body.corpora),
                needs,
                body.mode,
                look,
                reads=True,
            )
            span.stage("search")
        return Answer(found)

    @routes.post("/api/facets", response_model=FacetsAnswer)
    async def facets(request: Request, body: Facets, _: Token) -> Answer:
        """Count what matches a query by the values of fields, exactly."""

        async def ask(db: AsyncClient) -> dict[str, Any]:
            names = await server.corpora(db, body.corpora)
            with heard(db.connection) as notes:
                counted = await db.facets(
                    names, body.query, body.fields, body.filter, body.most_values, body.syntax
                )
            return {"facets": counted, "note": spoken(request, "\n".join(notes)) or None}

        return Answer(await server.read(request, ask))

    @routes.post("/api/count", response_model=rows.CountMatchesRow)
    async def count(request: Request, body: Matching, _: Token) -> Answer:
        """Count the documents and chunks that match a query."""

        async def ask(db: AsyncClient) -> rows.CountMatchesRow:
            names = await server.corpora(db, body.corpora)
            return await db.count_matches(names, body.query, body.filter, body.syntax)

        return Answer(record(await server.read(request, ask)))
