"""`ragdb.Servers`: one corpus whose parts are on several servers.

Each server ranks the parts that it has by the statistics of all of them. `ragdb.search_candidates`
refuses where these are not those of the other servers, so that scores which are merged compare.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ragdb.client._generated.rows import CountMatchesRow, FacetsRow, Hit
from ragdb.client.results import Rows
from ragdb.client.rows import dumps
from ragdb.errors import InvalidArgument, StatisticsDiffer
from ragdb.servers.fanout import FanOut, Lost, ServersMissing
from ragdb.servers.statistics import differing, exchange, homes_of, parts_of, ranked_by

if TYPE_CHECKING:
    from ragdb.client._generated.rows import SyncStatisticsRow
    from ragdb.database import Database

T = TypeVar("T")
RANKED = ("score", "lexical_rank", "semantic_rank")
MERGED = ("chunk_id", "lexical_score", "semantic_score", *RANKED)
MOST_VALUES = 10_000  # that ragdb.facets returns of a field
PAUSES = (0.0, 0.05, 0.1, 0.2)  # seconds before each try of a search, while statistics move


@dataclass(frozen=True, slots=True, repr=False)
class ServerHit(Hit):
    """A hit, and the server that has its part."""

    server: str


class Merged(Rows[T]):
    """What several servers found; `missing` are those that did not answer, and why."""

    def __init__(self, rows: Iterable[T], row: type[T], missing: Mapping[str, str]) -> None:
        super().__init__(rows, row)
        self.missing = dict(missing)


class Servers(FanOut):
    """The servers that have the parts of a corpus, each with the whole under its name.

    Calls go to all of them at once, and one that does not answer makes a call fail
    (`ServersMissing`) unless it takes `partial`. A thread has an object of its own. Nothing is
    recorded but what each server records of reads: `retrieve` and what rests on traces are asked of
    one server, about the parts that it has.
    """

    def __init__(self, dsns: Sequence[str], **how: Any) -> None:
        super().__init__(dsns, **how)
        self._digests: dict[str, str] = {}

    def database(self, server: str) -> Database:
        """The connection to one of the servers, by its name. Raises KeyError, ServersMissing."""
        found = self._opened(server)
        if isinstance(found, Lost):
            raise ServersMissing({server: found.why})
        self._open[server] = found
        return found

    def search(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        *,
        min_score: float = 0,
        min_lexical: float = 0,
        min_semantic: float = 0,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        partial: bool = False,
        **how: Any,
    ) -> Merged[ServerHit]:
        """The k best chunks of all servers, with the ids, order and scores of one corpus.

        `how` are filter, chunk_ids, query_embedding, syntax, per_document, context, section and
        typos of `ragdb.search`. Raises ServersMissing, StatisticsDiffer, and what
        `ragdb.search_candidates` raises.
        """
        fused: dict[str, Any] = {"fusion": fusion, "lexical_weight": lexical_weight}
        floors: dict[str, Any] = {"min_lexical": min_lexical, "min_semantic": min_semantic}
        if mode not in ("lexical", "reference") and how.get("query_embedding") is None:
            how["query_embedding"] = self._embedding(corpus, query)
        found, missing = self._candidates(corpus, query, partial, k=k, mode=mode, **fused, **how)
        modes = {hit.mode for hits in found.values() for hit in hits}
        if len(modes) > 1:
            # as over parts of one server, of which one has no embeddings yet
            modes, how["query_embedding"] = {"lexical"}, None
            found, missing = self._candidates(
                corpus, query, partial, k=k, mode="lexical", **fused, **how
            )
        shares = [
            [{name: getattr(hit, name) for name in MERGED} for hit in hits]
            for hits in found.values()
        ]
        servers = list(found)
        said: dict[str, Any] = {}
        if how.get("syntax") == "web":
            said["asked"] = query
            if not modes:
                words = {**how, **fused, "k": 1, "mode": mode, "syntax": "plain"}
                said["is_unmet"] = any(
                    self._candidates(corpus, query, partial, **words)[0].values()
                )
        mode = next(iter(modes), "lexical")
        merged = self._first(
            lambda db: db.merge_candidates(
                corpus, shares, k, mode, min_score, **fused, **floors, **said
            ),
            servers,
        )
        hits = []
        for row in merged:
            server = servers[row.share - 1]
            ranks = {name: getattr(row, name) for name in RANKED}
            hit = replace(found[server][row.place - 1], rank=row.rank, **ranks)
            hits.append(ServerHit(**_values(hit), server=server))
        return Merged(hits, ServerHit, missing)

    def count_matches(self, corpus: str, query: str | None = None, **how: Any) -> CountMatchesRow:
        """Count the documents and chunks of all servers that match, as `ragdb.count_matches`."""
        self._check_homes(corpus)
        counts, _ = self._all(lambda db: db.count_matches(corpus, query, **how), False)
        return CountMatchesRow(
            sum(c.documents for c in counts.values()), sum(c.chunks for c in counts.values())
        )

    def facets(
        self, corpus: str, query: str | None, fields: Sequence[str], most: int = 100, **how: Any
    ) -> Rows[FacetsRow]:
        """Count what matches on all servers by the values of fields, `most` of each.

        A field of which one server has 10,000 values or more is refused (InvalidArgument): a
        server returns no more, and sums of some would be wrong.
        """
        self._check_homes(corpus)
        with self._agreeing():
            found, _ = self._all(
                lambda db: db.facets(corpus, query, fields, most_values=MOST_VALUES, **how), False
            )
        sums: dict[str, dict[str, FacetsRow]] = {field: {} for field in fields}
        for rows in found.values():
            seen: defaultdict[str, int] = defaultdict(int)
            for row in rows:
                seen[row.field] += 1
                if seen[row.field] == MOST_VALUES:
                    raise InvalidArgument(f"field {row.field!r} has too many values to be summed")
                key, of_field = dumps(row.value), sums[row.field]
                if was := of_field.get(key):
                    row = replace(
                        row, documents=was.documents + row.documents, chunks=was.chunks + row.chunks
                    )
                of_field[key] = row
        best = [sorted(of_field.values(), key=_by_count)[:most] for of_field in sums.values()]
        return Rows((row for rows in best for row in rows), FacetsRow)

    def sync(self, corpus: str) -> dict[str, SyncStatisticsRow]:
        """Have each server count its parts, and tell the others: what each counted, by server.

        All servers change at once, but for the moment in which they commit. Raises ServersMissing;
        StatisticsDiffer where, with the same counts, the servers have another pivot (`optimize`
        gives them one), embedder, or synonyms.
        """
        synced = self._together(lambda dbs: exchange(dbs, self._of, corpus))
        self._check_digests(corpus)
        return synced

    def optimize(self, corpus: str, pivot: float | None = None) -> float:
        """Count all parts and optimize them for one pivot (None: the mean), which is returned.

        It waits for the writers of the parts, and they for it. Raises what `sync` raises.
        """

        def work(dbs: dict[str, Database]) -> float:
            exchange(dbs, self._of, corpus)
            first, *others = dbs.values()
            taken = first.optimize_corpus(corpus, pivot).pivot
            list(self._threads.map(lambda db: db.optimize_corpus(corpus, taken), others))
            exchange(dbs, self._of, corpus)  # what was written before the parts were locked
            return taken

        taken = self._together(work)
        self._check_digests(corpus)
        return taken

    def _candidates(
        self, corpus: str, query: str, partial: bool, **how: Any
    ) -> tuple[dict[str, Rows[Hit]], dict[str, str]]:
        """What each server finds, all by one digest. Raises StatisticsDiffer."""

        def asked(db: Database) -> Rows[Hit]:
            return db.search_candidates(corpus, query, expects=self._digests[corpus], **how)

        for pause in PAUSES:
            time.sleep(pause)
            if corpus not in self._digests:
                self._check_digests(corpus, partial)
            try:
                return self._all(asked, partial)
            except StatisticsDiffer as error:
                # they moved, on all servers or on some
                del self._digests[corpus]
                moved = error
        raise moved

    def _check_digests(self, corpus: str, partial: bool = False) -> None:
        """Learn what all servers rank by. Raises StatisticsDiffer, which says what differs."""
        self._check_homes(corpus, partial)
        for pause in PAUSES:
            time.sleep(pause)
            found, _ = self._all(lambda db: db.ranking_digest(corpus), partial)
            if len(digests := set(found.values())) == 1:
                self._digests[corpus] = digests.pop()
                return
        told, _ = self._all(lambda db: ranked_by(db, corpus), partial)
        raise StatisticsDiffer(
            f"the servers rank corpus {corpus!r} by other statistics ({differing(told)});"
            " `ragdb corpus sync` exchanges them, `ragdb corpus optimize` sets one pivot"
        )

    def _check_homes(self, corpus: str, partial: bool = False) -> None:
        """Raise InvalidArgument where a part is on two servers."""
        found, _ = self._all(lambda db: parts_of(db, corpus), partial)
        homes_of(corpus, found)

    def _embedding(self, corpus: str, query: str) -> list[float] | None:
        """The embedding of a query where a model outside the databases makes it."""
        from ragdb.models.asking import for_query

        return self._first(lambda db: for_query(db.connection, [corpus], query), self._dsns)


def _values(hit: Hit) -> dict[str, Any]:
    return {field.name: getattr(hit, field.name) for field in fields(hit)}


def _by_count(row: FacetsRow) -> tuple[Any, ...]:
    is_number = isinstance(row.value, int | float) and not isinstance(row.value, bool)
    number = (0, row.value) if is_number else (1, 0)
    return (-row.documents, -row.chunks, number, dumps(row.value).encode())
