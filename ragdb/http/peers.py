"""What peers read of a shared corpus: its feed of signed events."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel

from ragdb.client._generated import rows
from ragdb.client.rows import record
from ragdb.http.corpora import CORPUS, Corpus
from ragdb.http.gate import Answer
from ragdb.http.routes import Routes, Token
from ragdb.http.server import Server


class Feed(BaseModel):
    """What a shared corpus is at every peer, and what a copy of it needs."""

    feed: UUID
    author: str | None
    position: int
    lamport: int
    settings: dict[str, Any]


class EventPage(BaseModel):
    """Signed events in the order in which they came; `head` is the last position."""

    feed: UUID
    head: int
    events: list[rows.ListSharedEventsRow]


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Peers", 404)

    @routes.get(f"{CORPUS}/feed", response_model=Feed)
    async def feed(request: Request, corpus: Corpus, _: Token) -> Answer:
        """Return the feed of a corpus that is shared with peers."""
        async with server.transaction(request) as db:
            found = await db.shared_feed(server.served(corpus))
        return Answer(record(found))

    @routes.get(f"{CORPUS}/feed/events", response_model=EventPage)
    async def feed_events(
        request: Request,
        corpus: Corpus,
        _: Token,
        after: Annotated[int, Query(ge=0, le=2**63 - 1, description="The last position seen.")] = 0,
        count: Annotated[int, Query(ge=1, le=1000)] = 500,
    ) -> Answer:
        """Return the signed events after a position, with the documents that are there."""
        async with server.transaction(request) as db:
            found = await db.shared_feed(server.served(corpus))
            listed = await db.list_shared_events(corpus, after, count)
        return Answer({"feed": found.feed, "head": found.position, "events": listed})
