"""Corpora and their synonyms."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Path, Query, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http import personal
from ragdb.http.gate import Answer
from ragdb.http.routes import After, Count, Prefix, Routes, Token, failures, next_after
from ragdb.http.server import Server

Corpus = Annotated[str, Path(min_length=1, max_length=64, description="Name of the corpus.")]
SourcePrefix = Annotated[str, Query(max_length=2048, description="How sources begin.")]
AfterSource = Annotated[str, Query(max_length=2048, description="The last source seen.")]
Reason = Annotated[
    str | None, Query(min_length=1, max_length=10000, description="Why, for the record.")
]
CORPUS = "/api/corpora/{corpus}"


class NewCorpus(m.Body):
    """A corpus to create; what is absent has the default of `ragdb.create_corpus`."""

    corpus: Annotated[str, Field(min_length=1, max_length=64, description="a-z, 0-9 and -.")]
    title: str | None = None
    text_config: Annotated[
        str, Field(min_length=1, max_length=63, description="Text configuration of pg_catalog.")
    ] = "english"
    k1: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 1.2
    b: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.75
    record_query_text: Literal["full", "hash", "none"] = "full"
    is_restricted: Annotated[
        bool, Field(description="Whether it is the caller's and the admins' alone.")
    ] = False
    part_of: Annotated[
        str | None,
        Field(min_length=1, max_length=64, description="The corpus that it becomes a part of."),
    ] = None


class Words(m.Body):
    """Words, or expressions of several, that stand for each other."""

    words: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=1000)]],
        Field(min_length=2, max_length=50),
    ]


class Corpora(BaseModel):
    """Corpora in the order of `name`; the next page begins after `next`, null at the end."""

    corpora: list[rows.ListCorporaRow]
    next: str | None


class Dropped(BaseModel):
    dropped: str


class Synonyms(BaseModel):
    """Words in their order; the next page begins after `next`, null at the end."""

    synonyms: list[rows.ListSynonymsRow]
    next: str | None


class Added(BaseModel):
    added: int


class Removed(BaseModel):
    removed: int


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Corpora", 404)
    _corpora(routes, server)
    _synonyms(routes, server)


def _corpora(routes: Routes, server: Server) -> None:
    @routes.get("/api/corpora", response_model=Corpora, responses=failures())
    async def list_corpora(
        request: Request,
        _: Token,
        prefix: Prefix = "",
        after: After = "",
        count: Count | None = None,
    ) -> Answer:
        """List the corpora that the role may read, with their sizes: all, or `count` of them."""
        async with server.transaction(request) as db:
            listed = await db.list_corpora(prefix, after, count)
        goes_on = next_after(listed, count, "name")
        return Answer({"corpora": personal.served(listed, "name"), "next": goes_on})

    @routes.post(
        "/api/corpora",
        status_code=201,
        response_model=rows.CorpusInfoRow,
        responses=failures(404, 409),
    )
    async def create_corpus(request: Request, body: NewCorpus, _: Token) -> Answer:
        """Create an empty corpus."""
        server.served(body.corpus)
        if body.part_of is not None:
            server.served(body.part_of)
        async with server.transaction(request) as db:
            await db.create_corpus(**body.model_dump())
            made = await db.corpus_info(body.corpus)
        return Answer(record(made), 201)

    @routes.get(CORPUS, response_model=rows.CorpusInfoRow)
    async def corpus_info(request: Request, corpus: Corpus, _: Token) -> Answer:
        """Return a corpus with how it is searched and the role's right to it."""
        async with server.transaction(request) as db:
            found = await db.corpus_info(server.served(corpus))
        return Answer(record(found))

    @routes.delete(CORPUS, response_model=Dropped)
    async def drop_corpus(
        request: Request, corpus: Corpus, _: Token, reason: Reason = None
    ) -> Answer:
        """Drop a corpus with its documents and what was derived from them."""
        async with server.transaction(request) as db:
            await db.drop_corpus(server.served(corpus), reason)
        return Answer({"dropped": corpus})


def _synonyms(routes: Routes, server: Server) -> None:
    path = f"{CORPUS}/synonyms"

    @routes.get(path, response_model=Synonyms)
    async def list_synonyms(
        request: Request,
        corpus: Corpus,
        _: Token,
        prefix: Annotated[str, Query(max_length=200, description="How words begin.")] = "",
        after: Annotated[str, Query(max_length=200, description="The last word seen.")] = "",
        count: Count | None = None,
    ) -> Answer:
        """List the words of a corpus that have synonyms: all, or `count` of them."""
        async with server.transaction(request) as db:
            listed = await db.list_synonyms(server.served(corpus), prefix, after, count)
        goes_on = next_after(listed, count, "word")
        return Answer({"synonyms": listed, "next": goes_on})

    @routes.post(path, response_model=Added)
    async def add_synonyms(request: Request, corpus: Corpus, body: Words, _: Token) -> Answer:
        """Make words synonyms in a corpus, and say how many pairs are new."""
        async with server.transaction(request) as db:
            added = await db.add_synonyms(server.served(corpus), body.words)
        return Answer({"added": added})

    @routes.delete(path, response_model=Removed)
    async def remove_synonyms(
        request: Request,
        corpus: Corpus,
        _: Token,
        word: Annotated[str, Query(min_length=1, max_length=1000)],
    ) -> Answer:
        """Take a word out of the synonyms of a corpus, and say how many pairs had it."""
        async with server.transaction(request) as db:
            removed = await db.remove_synonyms(server.served(corpus), word)
        return Answer({"removed": removed})
