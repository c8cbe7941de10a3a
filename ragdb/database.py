"""The front door: a connection that also reads files, runs models and moves corpora.

Each of these is a function of the room that does the work; `Database` puts them on one object.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import psycopg
from psycopg.conninfo import make_conninfo

from ragdb.client import connecting
from ragdb.client.client import AsyncClient, Client
from ragdb.server import settings, signing
from ragdb.version import __version__

if TYPE_CHECKING:
    from typing import Unpack

    from ragdb.client._generated.rows import Hit, TracedHit, TurnHit
    from ragdb.ingest.options import Options
    from ragdb.ingest.report import Report
    from ragdb.models.rerank import RerankedHit, RerankedTurn, Reranker
    from ragdb.portable.format import Exported

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


class Database(Client):
    """The functions of ragdb on a psycopg connection, and what takes files or models.

    A connection of the caller keeps its own transactions: nothing here commits or rolls back.
    `ragdb.connect` opens one in autocommit mode, where each call is a transaction of its own and
    `with db.connection.transaction():` joins several.
    """

    def ingest(self, paths: Paths, *, corpus: str, **options: Unpack[Options]) -> Report:
        """Read files, folders and JSONL corpora into a corpus, making it when there is none.

        Each batch of documents is one transaction, or a savepoint inside the caller's. A file that
        fails does not stop the others: see `Report.failed`.
        """
        from ragdb.ingest.ingest import ingest

        return ingest(self, paths, corpus=corpus, **options)

    if not TYPE_CHECKING:  # for a checker they are those of Client

        @functools.wraps(Client.search)
        def search(self, *args: Any, **how: Any) -> list[Hit]:
            from ragdb.models.asking import with_embedding

            return super().search(*args, **with_embedding(self.connection, args, how))

        @functools.wraps(Client.retrieve)
        def retrieve(self, *args: Any, **how: Any) -> list[TracedHit]:
            from ragdb.models.asking import with_embedding

            return super().retrieve(*args, **with_embedding(self.connection, args, how))

    @overload
    def rerank(
        self,
        query: str,
        hits: Sequence[TurnHit],
        reranker: str | Reranker,
        k: int | None = None,
    ) -> list[RerankedTurn]: ...
    @overload
    def rerank(
        self,
        query: str,
        hits: Sequence[Hit | TracedHit],
        reranker: str | Reranker,
        k: int | None = None,
    ) -> list[RerankedHit]: ...
    def rerank(self, query: str, hits: Any, reranker: str | Reranker, k: int | None = None) -> Any:
        """Have a model put the hits of a retrieval in order, and keep the `k` best (None: all).

        `hits` come from `search`, `retrieve` and their like, with `rerank_depth(k)` asked for;
        `reranker` is the name of one that was bound, or an object with that name and a method
        `score`. Hits that share a score keep their order. Of a recorded retrieval the scores go
        into its trace, once (`record_rerank`). Raises RerankerNotFound, RerankerMismatch,
        InvalidRerank, and what record_rerank raises; ValueError for hits of several retrievals.
        """
        from ragdb.models.rerank import rerank

        return rerank(self, query, hits, reranker, k)

    def export_file(
        self, corpus: str, path: str | PathLike[str], *, blobs: bool = True, force: bool = False
    ) -> Exported:
        """Write a corpus to one file, whole or not at all; docs/operations.md says what is in it.

        Raises `ragdb.portable.format.ExportError`, CorpusNotFound.
        """
        from ragdb.portable.exporter import write

        return write(self, corpus, path, blobs=blobs, force=force)

    def import_file(self, path: str | PathLike[str], *, corpus: str | None = None) -> Exported:
        """Make the corpus of a file, in one transaction, under its own name or another.

        Raises `ragdb.portable.format.ExportError`, NotAuthorized, EmbedderMismatch.
        """
        from ragdb.portable.importer import read

        return read(self, path, corpus=corpus)


class AsyncDatabase(AsyncClient):
    """The same as coroutines, on a psycopg asynchronous connection."""

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

    @overload
    async def rerank(
        self,
        query: str,
        hits: Sequence[TurnHit],
        reranker: str | Reranker,
        k: int | None = None,
    ) -> list[RerankedTurn]: ...
    @overload
    async def rerank(
        self,
        query: str,
        hits: Sequence[Hit | TracedHit],
        reranker: str | Reranker,
        k: int | None = None,
    ) -> list[RerankedHit]: ...
    async def rerank(
        self, query: str, hits: Any, reranker: str | Reranker, k: int | None = None
    ) -> Any:
        """Have a model put hits in order, in a thread of its own; see `Database.rerank`."""
        from ragdb.models.rerank import arerank

        return await arerank(self, query, hits, reranker, k)


def connect(
    dsn: str | None = None, *, signing_key: str | None = None, **parameters: Any
) -> Database:
    """Connect to the database that is meant, starting the embedded one if need be.

    `ragdb.server.settings` says which one that is.

    `signing_key` is `ID:HEX` of a signing key that is kept outside of the database, several with
    commas between them; without it RAGDB_SIGNING_KEY_FILE or RAGDB_SIGNING_KEY_COMMAND may name
    some. `parameters` are libpq's, such as `application_name`, and psycopg's: `prepare_threshold=5`
    saves some of each call's time, and does not work behind every pooler (docs/poolers.md). Raises
    psycopg.OperationalError, `ragdb.server.signing.SigningKeyError`.
    """
    parameters.setdefault("application_name", f"ragdb/{__version__}")
    conninfo = signing.with_keys(_conninfo(dsn, parameters), signing_key, **parameters)
    return Database(connecting.connect(conninfo, autocommit=True, **parameters))


async def aconnect(
    dsn: str | None = None, *, signing_key: str | None = None, **parameters: Any
) -> AsyncDatabase:
    """The asynchronous `connect`."""
    parameters.setdefault("application_name", f"ragdb/{__version__}")
    conninfo = _conninfo(dsn, parameters)
    conninfo = await asyncio.to_thread(signing.with_keys, conninfo, signing_key, **parameters)
    connection = await psycopg.AsyncConnection.connect(
        conninfo, autocommit=True, **connecting.options(conninfo, **parameters)
    )
    return AsyncDatabase(connection)


def _conninfo(dsn: str | None, parameters: dict[str, Any]) -> str:
    """What to connect to; `options` move into it, where the keys come."""
    conninfo = settings.connection(dsn).conninfo
    if options := parameters.pop("options", None):
        conninfo = make_conninfo(conninfo, options=options)
    return conninfo
