"""Conversations that grow, and the edges between chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.http import models as m
from ragdb.http.corpora import CORPUS, Added, Corpus, Removed
from ragdb.http.gate import Answer
from ragdb.http.routes import Count, Routes, Token, failures, next_after
from ragdb.http.server import Server

Session = Annotated[str, Path(min_length=1, max_length=500, description="Name of the session.")]
Chunk = Annotated[str, Field(min_length=1, max_length=2048)]
EdgeType = Literal["reply", "branch", "reference", "default"]


class Turn(m.Body):
    """A message of a session, under an id of its own."""

    id: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    role: Annotated[str, Field(max_length=64)] = "user"
    speaker: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Name of who says it.")
    ] = None
    parent_id: Annotated[str | None, Field(max_length=500, description="What it answers.")] = None
    parents: Annotated[
        list[str | dict[str, Any]] | None,
        Field(max_length=1000, description="Ids, or objects of id and edge_type."),
    ] = None
    created_at: Annotated[str | None, Field(max_length=64, description="Now, without one.")] = None
    phase: Annotated[str | None, Field(max_length=64)] = None
    salience: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    feedback: Annotated[float | None, Field(allow_inf_nan=False)] = None


class Turns(m.Body):
    """Turns to append, and what a new session says of itself."""

    turns: Annotated[list[Turn], Field(max_length=10000)]
    document: Annotated[
        dict[str, Any] | None, Field(description="title, language, metadata of a new session.")
    ] = None


class NewEdge(m.Body):
    """An edge between two chunks of a corpus."""

    parent: Chunk
    child: Chunk
    edge_type: EdgeType = "reference"


class Edges(m.Body):
    edges: Annotated[list[NewEdge], Field(max_length=10000)]


class Appended(BaseModel):
    turns: list[rows.AppendTurnsRow]


class Around(BaseModel):
    """Edges of a chunk; the next pages begin after `next_parent` and `next`, null at the ends."""

    parents: list[rows.Edge]
    next_parent: str | None
    children: list[rows.Edge]
    next: str | None


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Corpora", 404)
    _turns(routes, server)
    _edges(routes, server)


def _turns(routes: Routes, server: Server) -> None:
    @routes.post(
        f"{CORPUS}/sessions/{{session:name}}/turns",
        response_model=Appended,
        responses=failures(404, 409),
    )
    async def append_turns(
        request: Request, corpus: Corpus, session: Session, body: Turns, _: Token
    ) -> Answer:
        """Append turns to a session; one that is there already is not written again."""
        turns = [turn.model_dump(exclude_unset=True) for turn in body.turns]
        async with server.transaction(request) as db:
            made = await db.append_turns(server.served(corpus), session, turns, body.document)
        return Answer({"turns": made})


def _edges(routes: Routes, server: Server) -> None:
    path = f"{CORPUS}/edges"

    @routes.get(path, response_model=Around)
    async def list_edges(
        request: Request,
        corpus: Corpus,
        _: Token,
        chunk_id: Annotated[str, Query(min_length=1, max_length=2048)],
        after: Annotated[str, Query(max_length=2048, description="The last child seen.")] = "",
        after_parent: Annotated[
            str, Query(max_length=2048, description="The last parent seen.")
        ] = "",
        count: Count = 100,
    ) -> Answer:
        """List `count` of the edges that lead to a chunk, and of those that lead from it.

        With `after` or `after_parent` alone, those of that side only.
        """
        parents: Sequence[rows.Edge] = ()
        children: Sequence[rows.Edge] = ()
        async with server.transaction(request) as db:
            name = server.served(corpus)
            if after_parent or not after:
                parents = await db.get_parents(name, chunk_id, after_parent, count)
            if after or not after_parent:
                children = await db.get_children(name, chunk_id, after, count)
        return Answer(
            {
                "parents": parents,
                "next_parent": next_after(parents, count, "parent_id"),
                "children": children,
                "next": next_after(children, count, "child_id"),
            }
        )

    @routes.post(path, response_model=Added)
    async def add_edges(request: Request, corpus: Corpus, body: Edges, _: Token) -> Answer:
        """Join chunks of any sessions and documents, and say how many edges are new."""
        edges = [edge.model_dump() for edge in body.edges]
        async with server.transaction(request) as db:
            added = await db.add_edges(server.served(corpus), edges)
        return Answer({"added": added})

    @routes.delete(path, response_model=Removed)
    async def remove_edge(
        request: Request,
        corpus: Corpus,
        _: Token,
        parent: Annotated[str, Query(min_length=1, max_length=2048)],
        child: Annotated[str, Query(min_length=1, max_length=2048)],
        edge_type: Annotated[EdgeType, Query()] = "reference",
    ) -> Answer:
        """Take away an edge that was added, and say whether there was one."""
        edge = {"parent": parent, "child": child, "edge_type": edge_type}
        async with server.transaction(request) as db:
            removed = await db.remove_edges(server.served(corpus), [edge])
        return Answer({"removed": removed})
