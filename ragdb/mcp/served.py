"""What one server offers: its connections, its corpora, and the tools of contracts over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types
import psycopg
from mcp import MCPError
from psycopg import IsolationLevel
from psycopg_pool import ConnectionPool

from ragdb.client.calling import instead
from ragdb.client.client import Client
from ragdb.client.connecting import have_forms, options
from ragdb.client.corpora import searched
from ragdb.client.counting import FEW
from ragdb.errors import CorpusMoved, CorpusNotFound, EmbedderNotFound, RagdbError
from ragdb.models import asking, embedders, encoders, rerank
from ragdb.server import signing
from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.client._generated.rows import ListCorporaRow, ListToolsRow, RetrievalTraces

Json = dict[str, Any]

SECONDS = 30  # for a statement
MOST = 10_000  # rows of a list in the database


class ToolError(Exception):
    """A call that a model can correct: shown to it as the result."""


class Served:
    """A pool of connections, read-only unless retrievals are recorded or corpora may be changed.

    `corpora` are those to serve; None is all. Peers are asked only with `ask_peers`. `revive` is
    called before each connection; it may start the server again.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        revive: Callable[[], object] | None = None,
        corpora: Sequence[str] | None = None,
        record: bool = False,
        write: bool = False,
        ask_peers: bool = False,
        allow_private_peers: bool = False,
    ) -> None:
        self.corpora, self.record, self.write = corpora, record, write
        self.ask_peers, self.allow_private_peers = ask_peers, allow_private_peers
        keyed = signing.with_keys(conninfo)

        def revived() -> str:
            if revive is not None:
                revive()
            return keyed

        self.pool = ConnectionPool(
            revived,
            min_size=0,
            max_size=8,
            timeout=10,
            # a pool that has been trying for long tries seldom; one that gave up tries at each call
            reconnect_timeout=10,
            open=False,
            kwargs=options(conninfo, application_name=f"ragdb/{__version__} mcp"),
            configure=self._configure,
            # the database may have been restarted since the last question
            check=ConnectionPool.check_connection,
        )

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        have_forms(connection)
        # left to the server otherwise: a standby begins no transaction that is said to write
        connection.read_only = None if self.record or self.write else True
        # one snapshot for what a tool reads in several statements
        connection.isolation_level = IsolationLevel.REPEATABLE_READ

    @contextmanager
    def database(self) -> Iterator[Client]:
        """A transaction of its own."""
        with self.pool.connection() as connection:
            connection.execute(f"set local statement_timeout = '{SECONDS}s'")
            yield Client(connection)

    @contextmanager
    def changing(self) -> Iterator[Client]:
        """A transaction that goes on with what another writer has left, where it waits for one."""
        with self.database() as db:
            db.connection.execute("set transaction isolation level read committed")
            yield db

    def serves(self, corpus: str) -> bool:
        return self.corpora is None or corpus in self.corpora

    def check(self, corpus: str) -> None:
        """Raise ToolError for a corpus that neither is served nor a part of one that is."""
        if self.corpora is None or corpus in self.corpora:
            return
        with self.database() as db, suppress(CorpusNotFound):
            if db.corpus_info(corpus).part_of in self.corpora:
                return
        other = instead(corpus, self.names(), FEW)
        raise ToolError(f"corpus {corpus[:80]!r} is not served here; {other}")

    def evidence(self, db: Client, given: Json) -> None:
        """Raise ToolError for evidence of a corpus that is not served."""
        if self.corpora is not None:
            named = db.evidence_provenance(given)
            if named.corpus is not None:
                self.check(named.corpus)
            for trace in named.trace_ids:
                self.trace(db, str(trace))

    def tools_of_contracts(self, db: Client) -> list[ListToolsRow]:
        """Those of the corpora that are served."""
        rows = db.list_tools()
        return [row for row in rows if self.corpora is None or row.corpus in self.corpora]

    def readable(self) -> list[ListCorporaRow]:
        """The corpora that are served and that the role may read, by name."""
        with self.database() as db:
            return [row for row in db.list_corpora() if self.serves(row.name)]

    def page(self, prefix: str, after: str, most: int) -> tuple[list[ListCorporaRow], bool]:
        """The first of those that begin with a prefix and come after a name; whether that is all.

        All are asked for where not all are served, which the database does not know.
        """
        count = most + 1 if self.corpora is None and most < MOST else None
        with self.database() as db:
            rows = [row for row in db.list_corpora(prefix, after, count) if self.serves(row.name)]
        return rows[:most], len(rows) <= most

    def names(self) -> list[str]:
        """The corpora to search."""
        listed = self.readable()
        if self.corpora is not None:
            names = {corpus.name for corpus in listed}
            return [name for name in self.corpora if name in names]
        return searched(listed)

    def named(self, arguments: Json) -> list[str]:
        """The corpora that a call names, or all that are served."""
        given = arguments.get("corpora")
        for name in given or ():
            self.check(name)
        return list(given) if given is not None else self.names()

    def bound(self, name: str, arguments: Json) -> Json:
        """Call a tool of a contract."""
        with self.database() as db:
            found = next((row for row in self.tools_of_contracts(db) if row.name == name), None)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {name[:80]!r}")
        text = found.query if found.query_param is None else arguments.get(found.query_param)
        vector = None
        if found.mode in ("semantic", "hybrid") and isinstance(text, str) and text.strip():
            vector = self.embedded([found.corpus], text, found.mode)
        with self.database() as db:
            asked = db.tool_candidates(name, arguments, vector) if found.reranker else []
            bound = db.list_rerankers() if asked else []
        more: Json = {"client": "ragdb mcp"} if self.record else {}
        if found.reranker:
            more["rerank_scores"] = {}
        if asked and found.reranker:
            # no transaction is open while the model works
            model = rerank.load(rerank.named(bound, found.reranker))
            scores = rerank.score(model, asked[0].query, [row.passage for row in asked])
            ids = [row.chunk_id for row in asked]
            more["rerank_scores"] = dict(zip(ids, scores, strict=True))
        with self.database() as db:
            call = db.retrieve_tool if self.record else db.search_tool
            made: Json = call(name, arguments, vector, **more)
        return made

    def embedded(
        self, corpora: Sequence[str], text: str, mode: str | None = None
    ) -> list[float] | None:
        """The embedding of a query for corpora of one embedder; None where none is needed.

        That is `asking.for_query`, with no transaction open while the model works.
        """
        with self.database() as db:
            embedder = db.query_embedder(list(corpora), mode)
        if embedder is None or embedder.provider is None:
            return None
        try:
            return embedders.numbers(embedder, text)
        except (encoders.ProviderDown, encoders.InputRefused) as error:
            raise ToolError(f"the query cannot be embedded: {error}") from None
        except (ImportError, EmbedderNotFound) as error:
            with self.database() as db:
                asking.demand_kept(db, embedder, corpora, text, error)
            return None

    def embedded_or_words(
        self, corpora: Sequence[str], text: str, mode: str | None = None
    ) -> tuple[list[float] | None, Json]:
        """The same, or none with a note where the model cannot be asked."""
        try:
            return self.embedded(corpora, text, mode), {}
        except (CorpusMoved, CorpusNotFound):
            raise
        except (ToolError, RagdbError) as error:
            print(f"ragdb mcp: searching by words alone: {error}", file=sys.stderr)
            return None, {"note": "The query could not be embedded: this was found by words alone."}

    def trace(self, db: Client, trace_id: str) -> RetrievalTraces:
        """A recorded retrieval of a corpus that is served."""
        trace = db.get_trace(trace_id)
        self.check(trace.corpus)
        return trace
