"""Anchors of slices, and what is promoted from what slices hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.client import AsyncClient
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.records import served_trace
from ragdb.http.routes import InCorpus, Routes, Token, failures
from ragdb.http.server import Server
from ragdb.http.transactions import Refused

Statement = Annotated[str, Field(min_length=1, max_length=32768)]
Count = Annotated[int, Query(ge=1, le=10000, description="Rows at most.")]


class Anchor(m.Body):
    """What is known: the first of these that gives an anchor does."""

    chunk_id: m.ChunkId | None = None
    session: Annotated[str | None, Field(min_length=1, max_length=512)] = None
    query: m.Query | None = None
    project: Annotated[str | None, Field(min_length=1, max_length=512)] = None
    corpus: m.Corpus = None


class Promotion(m.Body):
    """A statement that hits of an admissible retrieval say."""

    trace_id: Annotated[UUID, Field(strict=False)]
    chunk_ids: Annotated[list[m.ChunkId], Field(min_length=1, max_length=1000)]
    text: Statement
    sufficiency: Literal["default", "lenient", "strict"] = "default"


class Proposal(m.Body):
    """A conclusion that rests on atoms of one slice."""

    atom_ids: Annotated[
        list[Annotated[UUID, Field(strict=False)]], Field(min_length=1, max_length=1000)
    ]
    text: Statement
    corpus: m.Corpus = None


class Decision(m.Body):
    decision: Literal["accepted", "rejected"]
    reason: Annotated[str | None, Field(min_length=1, max_length=10000)] = None
    corpus: m.Corpus = None


class AnchorAnswer(BaseModel):
    """The anchor and what gave it; null where nothing did."""

    anchor: str | None
    resolved_by: str | None


class Atoms(BaseModel):
    atoms: list[rows.ListAtomsRow]


class Proposals(BaseModel):
    proposals: list[rows.ListProposalsRow]


class Incidents(BaseModel):
    incidents: list[rows.ListIncidentsRow]


def _settled(row: Any, done: str, status: int = 200) -> Answer:
    """What a function decided: a refusal is an error, whose incident stays."""
    found = record(row)
    if found["code"] != done:
        said = found.get("reason") or found.get("detail")
        raise Refused(409, found["code"], str(said))
    return Answer(found, status)


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Promotion", 404, 409)
    _anchors(app, server)
    _atoms(routes, server)
    _proposals(routes, server)


def _anchors(app: FastAPI, server: Server) -> None:
    @app.post(
        "/api/anchors",
        tags=["Graph Kernel"],
        response_model=AnchorAnswer,
        responses=failures(404, 409),
    )
    async def resolve_anchor(request: Request, body: Anchor, _: Token) -> Answer:
        """Find a chunk to build a slice around."""
        known = [body.chunk_id] if body.chunk_id else []

        async def named(db: AsyncClient) -> list[str]:
            return [await server.corpus(db, body.corpus, known)]

        async def resolve(db: AsyncClient, names: list[str]) -> dict[str, Any]:
            given = body.model_dump(exclude={"corpus"})
            found = await db.resolve_anchor(names[0], **given)
            return record(found[0]) if found else {"anchor": None, "resolved_by": None}

        return Answer(await server.when_ready(request, named, body.query, None, resolve))


def _atoms(routes: Routes, server: Server) -> None:
    @routes.post("/api/atoms", status_code=201, response_model=rows.PromoteToAtomRow)
    async def promote_to_atom(request: Request, body: Promotion, _: Token) -> Answer:
        """Make a statement out of hits of an admissible retrieval. A refusal is an incident."""
        async with server.transaction(request) as db:
            await served_trace(db, body.trace_id)
            made = await db.promote_to_atom(**body.model_dump())
        return _settled(made, "PROMOTED", 201)

    @routes.get("/api/atoms", response_model=Atoms)
    async def list_atoms(
        request: Request, _: Token, corpus: InCorpus = None, count: Count = 100
    ) -> Answer:
        """List the latest statements with what has become of their evidence."""
        async with server.transaction(request) as db:
            listed = await db.list_atoms(await server.corpus(db, corpus), count)
        return Answer({"atoms": listed})

    @routes.get("/api/incidents", response_model=Incidents)
    async def list_incidents(
        request: Request, _: Token, corpus: InCorpus = None, count: Count = 100
    ) -> Answer:
        """List the latest promotions that were refused."""
        async with server.transaction(request) as db:
            listed = await db.list_incidents(await server.corpus(db, corpus), count)
        return Answer({"incidents": listed})


def _proposals(routes: Routes, server: Server) -> None:
    @routes.post("/api/proposals", status_code=201, response_model=rows.ProposeRow)
    async def propose(request: Request, body: Proposal, _: Token) -> Answer:
        """Store a conclusion that rests on atoms. A refusal is an incident."""
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus)
            made = await db.propose(corpus, body.atom_ids, body.text)
        return _settled(made, "PROPOSED", 201)

    @routes.get("/api/proposals", response_model=Proposals)
    async def list_proposals(
        request: Request,
        _: Token,
        corpus: InCorpus = None,
        state: Annotated[Literal["open", "accepted", "rejected"] | None, Query()] = None,
        count: Count = 100,
    ) -> Answer:
        """List the latest conclusions with what has become of what they rest on."""
        async with server.transaction(request) as db:
            listed = await db.list_proposals(await server.corpus(db, corpus), state, count)
        return Answer({"proposals": listed})

    @routes.post("/api/proposals/{id}/decision", response_model=rows.DecideProposalRow)
    async def decide(request: Request, id: UUID, body: Decision, _: Token) -> Answer:
        """Accept or reject an open conclusion, once."""
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus)
            made = await db.decide_proposal(corpus, id, body.decision, body.reason)
        return _settled(made, body.decision.upper())
