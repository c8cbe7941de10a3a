"""The front door: a connection that also reads files, runs models and moves corpora.

Each of these is a function of the room that does the work; `Database` puts them on one object, and
`AsyncDatabase` runs the same in a thread, on its own connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast, overload

from psycopg.conninfo import make_conninfo

from ragdb.client import connecting, notices
from ragdb.client.bridge import aside
from ragdb.client.shown import VERBS, described
from ragdb.ingest.stopping import Left
from ragdb.models.searching import AsyncEmbeddingClient, EmbeddingClient
from ragdb.server import settings, signing
from ragdb.version import __version__

if TYPE_CHECKING:
    from typing import Unpack

    from ragdb.client._generated.rows import CalibrateGateRow, Hit, TracedHit, TurnHit
    from ragdb.evidence.answers import Answer
    from ragdb.evidence.asking import Asking
    from ragdb.ingest.options import Options, Paths
    from ragdb.ingest.report import Report
    from ragdb.models.rerank import RerankedHit, RerankedTurn, Reranker
    from ragdb.portable.format import Exported
    from ragdb.portable.mover import Moved

Metadatas = Iterable[Mapping[str, Any] | None]


class Database(EmbeddingClient):
    """The functions of ragdb on a psycopg connection, and what takes files or models.

    A connection of the caller keeps its own transactions: nothing here commits or rolls back.
    `ragdb.connect` opens one in autocommit mode, where each call is a transaction of its own and
    `with db.connection.transaction():` joins several.
    """

    def __repr__(self) -> str:
        return f"<ragdb.Database {described(self.connection)}>"

    def __dir__(self) -> Iterable[str]:
        return VERBS

    def ask(  # type: ignore[override]  # beside the function's arguments it takes models
        self, corpus: str | None, question: str, **asking: Unpack[Asking]
    ) -> Answer:
        """Answer a question from a corpus (None: the only one), with citations that were checked.

        It is `ragdb.ask` with models: the answer consists of sentences of the corpus unless `model`
        names what writes it. Where the corpus does not say, `is_answered` is false, and `reason`
        says why. Retrieval, gate and answer are recorded. Raises what `retrieve` raises, and
        InvalidArgument for an empty question.
        """
        from ragdb.evidence.asking import ask

        return ask(self, corpus, question, asking)

    def add(
        self,
        texts: Iterable[str],
        metadatas: Metadatas | None = None,
        ids: Iterable[str] | None = None,
        *,
        corpus: str,
        cut: bool = True,
        embedder: str | None = None,
        embeddings: Sequence[Sequence[float]] | None = None,
    ) -> list[str]:
        """Put texts into a corpus, making it when there is none, and return their ids.

        A text that has the id of an earlier one takes its place; without ids each is named by a
        hash of itself and its metadata. Each text is cut into chunks, or is one (`cut=False`).
        `embeddings` are those of whole texts by an embedder that runs elsewhere. About a thousand
        texts are one transaction. Raises ValueError for lists of unequal lengths and for an id
        given twice, and what `put_texts` raises.
        """
        from ragdb.ingest.texts import add

        return add(
            self, texts, metadatas, ids, corpus, cut=cut, embedder=embedder, embeddings=embeddings
        )

    def ingest(self, paths: Paths, *, corpus: str, **options: Unpack[Options]) -> Report:
        """Read files, folders and JSONL corpora into a corpus, making it when there is none.

        The bytes of one file, such as an upload, are read under the `name` that is given. Each
        batch of documents is one transaction, or a savepoint inside the caller's. A file that
        fails does not stop the others: see `Report.failed`.
        """
        from ragdb.ingest.ingest import ingest

        return ingest(self, paths, corpus=corpus, **options)

    def calibrate(self, corpus: str) -> list[CalibrateGateRow]:
        """Measure what a search of a corpus must score at least for its gate, for each mode.

        It is `calibrate_gate`, for which a model outside the database, where the corpus has one,
        embeds the questions here. Raises CorpusNotFound, NotAuthorized, ProviderDown.
        """
        from ragdb.models.asking import calibrate

        return calibrate(self, corpus)

    @overload
    def rerank(
        self, query: str, hits: Sequence[TurnHit], reranker: str | Reranker, k: int | None = None
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

    def move_corpus(
        self, corpus: str, target: Database, *, destination: str | None = None, longest: float = 10
    ) -> Moved:
        """Move a corpus to another database while it is searched and written, or go on with that.

        Its writers wait at the end, for at most `longest` seconds. Who asks for it here later is
        told that it went to `destination` (default: the address of the target). Raises
        `ragdb.portable.format.ExportError`, MoveFailed, MoveDelayed, CorpusNotFound, NotAuthorized.
        """
        from ragdb.portable.mover import move

        return move(self, target, corpus, destination=destination, longest=longest)


class AsyncDatabase(AsyncEmbeddingClient):
    """The same as coroutines, on a psycopg asynchronous connection."""

    def __repr__(self) -> str:
        return f"<ragdb.AsyncDatabase {described(self.connection)}>"

    def __dir__(self) -> Iterable[str]:
        return VERBS

    async def ask(  # type: ignore[override]  # beside the function's arguments it takes models
        self, corpus: str | None, question: str, **asking: Unpack[Asking]
    ) -> Answer:
        """Answer a question from a corpus; see `Database.ask`."""
        return cast("Answer", await self._aside("ask", corpus, question, **asking))

    async def add(
        self,
        texts: Iterable[str],
        metadatas: Metadatas | None = None,
        ids: Iterable[str] | None = None,
        *,
        corpus: str,
        cut: bool = True,
        embedder: str | None = None,
        embeddings: Sequence[Sequence[float]] | None = None,
    ) -> list[str]:
        """Put texts into a corpus and return their ids; see `Database.add`."""
        how = {"corpus": corpus, "cut": cut, "embedder": embedder, "embeddings": embeddings}
        return cast("list[str]", await self._aside("add", texts, metadatas, ids, **how))

    async def ingest(self, paths: Paths, *, corpus: str, **options: Unpack[Options]) -> Report:
        """Read files into a corpus; see `Database.ingest`."""
        with Left() as stop:
            how = {"stop": stop, **options}
            return cast("Report", await self._aside("ingest", paths, corpus=corpus, **how))

    async def export_file(
        self, corpus: str, path: str | PathLike[str], *, blobs: bool = True, force: bool = False
    ) -> Exported:
        """Write a corpus to one file; see `Database.export_file`."""
        how = {"blobs": blobs, "force": force}
        return cast("Exported", await self._aside("export_file", corpus, path, **how))

    async def import_file(
        self, path: str | PathLike[str], *, corpus: str | None = None
    ) -> Exported:
        """Make the corpus of a file; see `Database.import_file`."""
        return cast("Exported", await self._aside("import_file", path, corpus=corpus))

    async def calibrate(self, corpus: str) -> list[CalibrateGateRow]:
        """Measure what a search must score at least; see `Database.calibrate`."""
        return cast("list[CalibrateGateRow]", await self._aside("calibrate", corpus))

    async def move_corpus(
        self, corpus: str, target: AsyncDatabase, *, destination: str | None = None,
        longest: float = 10,
    ) -> Moved:  # fmt: skip
        """Move a corpus to another database; see `Database.move_corpus`."""
        how: dict[str, Any] = {"destination": destination, "longest": longest}

        def work(here: Any, there: Any) -> Moved:
            return Database(here).move_corpus(corpus, Database(there), **how)

        return await aside(work, self.connection, target.connection)

    async def _aside(self, method: str, *args: Any, **how: Any) -> Any:
        """Run a method of `Database` in a thread, on this connection."""

        def work(here: Any) -> Any:
            return getattr(Database(here), method)(*args, **how)

        return await aside(work, self.connection)

    @overload
    async def rerank(
        self, query: str, hits: Sequence[TurnHit], reranker: str | Reranker, k: int | None = None
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
        """Have a model put hits in order; see `Database.rerank`."""
        return await self._aside("rerank", query, hits, reranker, k)


def connect(
    dsn: str | None = None, *, signing_key: str | None = None, **parameters: Any
) -> Database:
    """Connect to the database that is meant, starting the embedded one if need be.

    `ragdb.server.settings` says which one that is. `signing_key` is `ID:HEX` of a key that is kept
    outside of the database, several with commas between them; without it RAGDB_SIGNING_KEY_FILE or
    RAGDB_SIGNING_KEY_COMMAND may name some. `parameters` are libpq's, and psycopg's, of which
    `prepare_threshold=5` saves some of each call's time, but not behind every pooler
    (docs/poolers.md). `on_notice` is called with each notice; without it those of ragdb are logged.
    Raises psycopg.OperationalError, `ragdb.server.signing.SigningKeyError`.
    """
    hear = parameters.pop("on_notice", notices.log)
    conninfo = signing.with_keys(_conninfo(dsn, parameters), signing_key, **parameters)
    connection = connecting.connect(conninfo, autocommit=True, **parameters)
    connection.add_notice_handler(hear)
    return Database(connection)


async def aconnect(
    dsn: str | None = None, *, signing_key: str | None = None, **parameters: Any
) -> AsyncDatabase:
    """The asynchronous `connect`."""
    hear = parameters.pop("on_notice", notices.log)
    conninfo = _conninfo(dsn, parameters)
    conninfo = await asyncio.to_thread(signing.with_keys, conninfo, signing_key, **parameters)
    connection = await connecting.aconnect(conninfo, autocommit=True, **parameters)
    connection.add_notice_handler(hear)
    return AsyncDatabase(connection)


def _conninfo(dsn: str | None, parameters: dict[str, Any]) -> str:
    """What to connect to; `options` move into it, where the keys come."""
    parameters.setdefault("application_name", f"ragdb/{__version__}")
    options = {"options": parameters.pop("options")} if parameters.get("options") else {}
    return make_conninfo(settings.connection(dsn).conninfo, **options)
