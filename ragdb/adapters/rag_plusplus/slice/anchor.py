"""Anchors: the turn that a slice is built around, found by what is known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ragdb.adapters.rag_plusplus.database import only_corpus, vector_of
from ragdb.database import Database


class AnchorResolver:
    """Finds anchors in a database; ``corpus`` is needed where there are several."""

    def __init__(self, database: Database, corpus: str | None = None) -> None:
        self.database, self._corpus = database, corpus

    @property
    def corpus(self) -> str:
        return self._corpus or only_corpus(self.database)

    async def resolve_explicit(self, turn_id: str) -> str | None:
        """The turn itself where it is stored."""
        return await asyncio.to_thread(lambda: self.database.resolve_explicit(self.corpus, turn_id))

    async def resolve_from_session(self, session_id: str) -> str | None:
        """The latest turn of a session."""
        return await asyncio.to_thread(
            lambda: self.database.resolve_from_session(self.corpus, session_id)
        )

    async def resolve_from_query(
        self, query: str, embedding: Sequence[float] | None = None
    ) -> str | None:
        """The best hit of a query; its embedding is made where the corpus has one to compare."""

        def resolve() -> str | None:
            vector = vector_of(self.database, self.corpus, query, embedding)
            return self.database.resolve_from_query(self.corpus, query, query_embedding=vector)

        return await asyncio.to_thread(resolve)

    async def resolve_temporal(self, limit: int = 1, project_id: str | None = None) -> list[str]:
        """The most recent turns, of conversations whose metadata names the project."""
        rows = await asyncio.to_thread(
            lambda: self.database.resolve_temporal(self.corpus, limit, project_id)
        )
        return [row.chunk_id for row in rows]


class AutoAnchorResolver:
    """Tries what is known in turn: the turn, the session, the query, then the time."""

    def __init__(self, resolver: AnchorResolver) -> None:
        self.resolver = resolver

    async def resolve(
        self,
        turn_id: str | None = None,
        session_id: str | None = None,
        query: str | None = None,
        embedding: Sequence[float] | None = None,
        project_id: str | None = None,
    ) -> str | None:
        """The anchor that the first way gives (`ragdb.resolve_anchor`), or None."""
        db = self.resolver.database

        def resolve() -> str | None:
            corpus = self.resolver.corpus
            vector = vector_of(db, corpus, query, embedding) if query else None
            found = db.resolve_anchor(corpus, turn_id, session_id, query, vector, project_id)
            return found[0].anchor if found else None

        return await asyncio.to_thread(resolve)
