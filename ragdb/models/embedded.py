"""Searches of the front door: each has the embedding of its query made first."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragdb.database import AsyncDatabase, Database

BY_DOCUMENT = (
    "corpus", "query", "k", "chunks_per_document", "mode", "min_score", "filter",
    "query_embedding", "syntax", "typos",
)  # fmt: skip


def embedded(method: Any, names: Sequence[str] = ()) -> Any:
    """A search that has the embedding of its query made first; its `names` stand for places."""

    @functools.wraps(method)
    def call(self: Database, *args: Any, **how: Any) -> Any:
        # only who searches needs what a model needs
        from ragdb.models.asking import with_embedding

        if names:
            args, how = (), {**dict(zip(names, args, strict=False)), **how}
        return method(self, *args, **with_embedding(self.connection, args, how))

    return call


def aembedded(method: Any, names: Sequence[str] = ()) -> Any:
    """The same for a coroutine."""

    @functools.wraps(method)
    async def call(self: AsyncDatabase, *args: Any, **how: Any) -> Any:
        from ragdb.models.asking import awith_embedding

        if names:
            args, how = (), {**dict(zip(names, args, strict=False)), **how}
        return await method(self, *args, **await awith_embedding(self.connection, args, how))

    return call
