"""The embedding that a search by Python needs, where a model outside the database makes it.

Queries for a static embedder are embedded in SQL.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus

from ragdb.client._generated.async_functions import AsyncFunctions
from ragdb.client._generated.functions import Functions
from ragdb.errors import EmbedderNotFound, ModeNotAvailable, NoAnswer
from ragdb.models import embedders

if TYPE_CHECKING:
    import psycopg

    from ragdb.client._generated.rows import CalibrateGateRow, Embedders

ARGUMENTS = ("corpus", "query", "k", "mode", "min_score", "filter", "chunk_ids", "statistics")
PATIENCE = 10.0
"""Seconds that a search waits for a worker, which may be loading its model."""


def is_kept(db: Functions, corpora: Sequence[str], text: str) -> bool:
    """Whether the database has the embedding of a query for each of these corpora."""
    return all(db.query_embedding_state(corpus, text)[0].is_ready for corpus in corpora)


def is_made(db: Functions, corpora: Sequence[str], text: str) -> bool:
    """Whether a worker that is connected has embedded a query for these corpora.

    It needs a connection in autocommit mode, because the worker must see what is asked.
    """
    if not _may_wait(db.connection) or not db.has_worker():
        return False
    try:
        for corpus in corpora:
            db.embed_query(text, corpus, PATIENCE)
    except NoAnswer:
        return False
    return True


def for_query(
    connection: psycopg.Connection[Any], corpora: Sequence[str], text: str, mode: str | None = None
) -> list[float] | None:
    """The embedding to search these corpora by, made by the model where it is installed.

    None where the database can do without: no model outside is needed in this mode, nobody runs
    it here (its embedder has no provider), or what is kept or a worker makes takes its place.
    Raises ModeNotAvailable, which names who could make it, and what `embedders.numbers` raises.
    """
    db = Functions(connection)
    embedder = db.query_embedder(list(corpora), mode)
    if embedder is None or embedder.provider is None:
        return None
    try:
        return embedders.numbers(embedder, text)
    except (ImportError, EmbedderNotFound) as error:
        demand_kept(db, embedder, corpora, text, error)
        return None


def demand_kept(
    db: Functions, embedder: Embedders, corpora: Sequence[str], text: str, error: Exception
) -> None:
    """Raise ModeNotAvailable unless the database has the embedding of a query, or a worker did."""
    if not (is_kept(db, corpora, text) or is_made(db, corpora, text)):
        raise _nobody(embedder, error) from error


def with_embedding(
    connection: psycopg.Connection[Any], args: Sequence[Any], how: dict[str, Any]
) -> dict[str, Any]:
    """The named arguments of a search, with the embedding of its query where one is needed.

    Raises what `for_query` raises.
    """
    asked = _asked(args, how)
    vector = None if asked is None else for_query(connection, *asked)
    return how if vector is None else {**how, "query_embedding": vector}


async def awith_embedding(
    connection: psycopg.AsyncConnection[Any], args: Sequence[Any], how: dict[str, Any]
) -> dict[str, Any]:
    """The same, the model in a thread of its own."""
    asked = _asked(args, how)
    if asked is None:
        return how
    corpora, query, mode = asked
    db = AsyncFunctions(connection)
    embedder = await db.query_embedder(corpora, mode)
    if embedder is None or embedder.provider is None:
        return how
    try:
        vector = await asyncio.to_thread(embedders.numbers, embedder, query)
        return {**how, "query_embedding": vector}
    except (ImportError, EmbedderNotFound) as error:
        may_wait = _may_wait(connection) and await db.has_worker()
        for corpus in corpora:
            if (await db.query_embedding_state(corpus, query))[0].is_ready:
                continue
            if not may_wait:
                raise _nobody(embedder, error) from error
            try:
                await db.embed_query(query, corpus, PATIENCE)
            except NoAnswer:
                raise _nobody(embedder, error) from error
        return how


def calibrate(db: Functions, corpus: str) -> list[CalibrateGateRow]:
    """Measure the floors of a gate, a model outside embedding what they are measured by.

    Without that model by words alone. Raises what `ragdb.calibrate_gate` raises.
    """
    embedder = db.query_embedder([corpus], "hybrid")
    if embedder is not None and embedder.provider is not None:
        with contextlib.suppress(ImportError, EmbedderNotFound):
            for row in db.gate_questions(corpus):
                vector = embedders.numbers(embedder, row.question)
                db.put_query_embedding(corpus, row.question, vector, embedder.name)
    return list(db.calibrate_gate(corpus))


def _may_wait(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether what is asked of a worker is seen by it at once."""
    idle = connection.info.transaction_status == TransactionStatus.IDLE
    return bool(connection.autocommit) and idle


def _asked(args: Sequence[Any], how: dict[str, Any]) -> tuple[list[str], str, str | None] | None:
    """Corpora, query and mode of a search that may need an embedding.

    Who gives one, and be it None, has asked for it already.
    """
    given = {**dict(zip(ARGUMENTS, args, strict=False)), **how}
    corpora, query = given.get("corpora", given.get("corpus")), given.get("query")
    if (
        len(args) > len(ARGUMENTS)
        or "query_embedding" in how
        or not isinstance(query, str)
        or not corpora
    ):
        return None
    several: list[Any] = [corpora] if isinstance(corpora, str | bytes) else list(corpora)
    return several, query, given.get("mode")


def _nobody(embedder: Embedders, error: Exception) -> ModeNotAvailable:
    return ModeNotAvailable(
        f"the query cannot be embedded by {embedder.name} here: {error}; install"
        " 'ragdb-postgres[embed]', pass query_embedding, start a worker (`ragdb worker`), which"
        " makes it here and for call ragdb.embed_query(...), or search with mode='lexical'"
    )
