"""The embedding that a search by Python needs, where a model outside the database makes it.

The model is asked where it is installed; else what the database has kept counts. Queries for a
static embedder are embedded in SQL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragdb.client._generated.async_functions import AsyncFunctions
from ragdb.client._generated.functions import Functions
from ragdb.errors import EmbedderNotFound, ModeNotAvailable
from ragdb.models import embedders

if TYPE_CHECKING:
    import psycopg

    from ragdb.client._generated.rows import Embedders

ARGUMENTS = ("corpus", "query", "k", "mode", "min_score", "filter", "chunk_ids", "statistics")


def is_kept(db: Functions, corpora: Sequence[str], text: str) -> bool:
    """Whether the database has the embedding of a query for each of these corpora."""
    return all(db.query_embedding_state(corpus, text)[0].is_ready for corpus in corpora)


def with_embedding(
    connection: psycopg.Connection[Any], args: Sequence[Any], how: dict[str, Any]
) -> dict[str, Any]:
    """The named arguments of a search, with the embedding of its query where one is needed.

    Raises ModeNotAvailable, which names who could make it, and what `embedders.query` raises.
    """
    asked = _asked(args, how)
    if asked is None:
        return how
    corpora, query = asked
    embedder = embedders.common(connection, corpora)
    if embedder is None or embedder.provider is None:
        return how
    try:
        return {**how, "query_embedding": embedders.numbers(embedder, query)}
    except (ImportError, EmbedderNotFound) as error:
        if is_kept(Functions(connection), corpora, query):
            return how
        raise _nobody(embedder, error) from error


async def awith_embedding(
    connection: psycopg.AsyncConnection[Any], args: Sequence[Any], how: dict[str, Any]
) -> dict[str, Any]:
    """The same, the model in a thread of its own."""
    asked = _asked(args, how)
    if asked is None:
        return how
    corpora, query = asked
    db = AsyncFunctions(connection)
    embedder = embedders.outside([await db.corpus_embedder(corpus) for corpus in corpora])
    if embedder is None or embedder.provider is None:
        return how
    try:
        vector = await asyncio.to_thread(embedders.numbers, embedder, query)
        return {**how, "query_embedding": vector}
    except (ImportError, EmbedderNotFound) as error:
        for corpus in corpora:
            if not (await db.query_embedding_state(corpus, query))[0].is_ready:
                raise _nobody(embedder, error) from error
        return how


def _asked(args: Sequence[Any], how: dict[str, Any]) -> tuple[list[str], str] | None:
    """Corpora and query of a search that may need an embedding and brings none."""
    given = {**dict(zip(ARGUMENTS, args, strict=False)), **how}
    corpora, query = given.get("corpora", given.get("corpus")), given.get("query")
    if (
        len(args) > len(ARGUMENTS)
        or how.get("query_embedding") is not None
        or given.get("mode") in ("lexical", "reference")
        or not isinstance(query, str)
        or not corpora
    ):
        return None
    return [corpora] if isinstance(corpora, str) else list(corpora), query


def _nobody(embedder: Embedders, error: Exception) -> ModeNotAvailable:
    return ModeNotAvailable(
        f"the query cannot be embedded by {embedder.name} here: {error}; install"
        " 'ragdb-postgres[embed]', pass query_embedding, have a worker make it by"
        " call ragdb.embed_query(...), or search with mode='lexical'"
    )
