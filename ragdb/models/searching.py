"""Clients whose searches bring the embedding of their query, where a model outside makes it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ragdb.client.client import AsyncClient, Client

if TYPE_CHECKING:
    from ragdb.client._generated.rows import DocumentHit, Hit, TracedHit

BY_DOCUMENT = (
    "corpus", "query", "k", "chunks_per_document", "mode", "min_score", "filter",
    "query_embedding", "syntax", "typos",
)  # fmt: skip


class EmbeddingClient(Client):
    """The functions of ragdb, whose searches need no embedding from the caller."""

    if not TYPE_CHECKING:  # for a checker they are those of Client

        @functools.wraps(Client.search)
        def search(self, *args: Any, **how: Any) -> list[Hit]:
            from ragdb.models.asking import with_embedding

            return super().search(*args, **with_embedding(self.connection, args, how))

        @functools.wraps(Client.retrieve)
        def retrieve(self, *args: Any, **how: Any) -> list[TracedHit]:
            from ragdb.models.asking import with_embedding

            return super().retrieve(*args, **with_embedding(self.connection, args, how))

        @functools.wraps(Client.search_documents)
        def search_documents(self, *args: Any, **how: Any) -> list[DocumentHit]:
            from ragdb.models.asking import with_embedding

            how = {**dict(zip(BY_DOCUMENT, args, strict=False)), **how}
            return super().search_documents(**with_embedding(self.connection, (), how))


class AsyncEmbeddingClient(AsyncClient):
    """The same as coroutines."""

    if not TYPE_CHECKING:  # for a checker they are those of AsyncClient

        @functools.wraps(AsyncClient.search)
        async def search(self, *args: Any, **how: Any) -> list[Hit]:
            from ragdb.models.asking import awith_embedding

            how = await awith_embedding(self.connection, args, how)
            return await super().search(*args, **how)

        @functools.wraps(AsyncClient.retrieve)
        async def retrieve(self, *args: Any, **how: Any) -> list[TracedHit]:
            from ragdb.models.asking import awith_embedding

            how = await awith_embedding(self.connection, args, how)
            return await super().retrieve(*args, **how)

        @functools.wraps(AsyncClient.search_documents)
        async def search_documents(self, *args: Any, **how: Any) -> list[DocumentHit]:
            from ragdb.models.asking import awith_embedding

            how = {**dict(zip(BY_DOCUMENT, args, strict=False)), **how}
            return await super().search_documents(**await awith_embedding(self.connection, (), how))
