"""A corpus in one piece beside the same in parts: p50 of a search, and loading by several writers.

The parts are in one database, then on several servers of this machine, asked by `ragdb.Servers`.
All have the same documents, the manuals of scale_tech_docs. The hits of all questions are compared
too: ids, order and scores are equal, or the bench fails.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

import ragdb
from bench import common

PUT = "select from ragdb.put_documents(%s, %s)"
ASK = "select chunk_id, score from ragdb.search(%s, %s, mode => 'lexical') order by rank"


def manuals(chunks: int) -> list[dict[str, Any]]:
    records = itertools.islice(common.manuals(), chunks)
    return [
        common.document(uri, *(record["text"] for record in found))
        for uri, found in itertools.groupby(records, lambda record: record["_id"].split("#")[0])
    ]


def divided(documents: Sequence[dict[str, Any]], corpora: Sequence[str]) -> dict[str, list[str]]:
    """The batches that each corpus is loaded by, as JSON, of about 2,000 chunks."""
    batches: dict[str, list[str]] = {}
    for number, corpus in enumerate(corpora):
        own = [d for d in documents if zlib.crc32(d["uri"].encode()) % len(corpora) == number]
        batches[corpus], batch, size = [], [], 0
        for document in own:
            batch.append(document)
            size += len(document["chunks"])
            if size >= 2000:
                batches[corpus].append(json.dumps(batch))
                batch, size = [], 0
        batches[corpus].append(json.dumps(batch))
    return batches


def load(homes: dict[str, str], batches: dict[str, list[str]], writers: int) -> float:
    """Seconds that so many writers take, each with a share of the corpora; homes are DSNs."""
    shares = [list(batches)[n::writers] for n in range(writers)]

    def write(share: Sequence[str]) -> None:
        for corpus in share:
            with psycopg.connect(homes[corpus], autocommit=True) as db:
                for batch in batches[corpus]:
                    db.execute(PUT, (corpus, batch))

    started = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, shares))  # raises what a writer raised
    return time.perf_counter() - started


def made(
    dsns: Sequence[str], documents: Sequence[dict[str, Any]], parts: int, writers: int
) -> float:
    """A corpus `whole`, in one piece or in parts, loaded anew; the seconds of the loading."""
    names = [f"part-{n}" for n in range(parts)] if parts else ["whole"]
    homes = {name: dsns[n % len(dsns)] for n, name in enumerate(names)}
    for dsn in dsns:
        with psycopg.connect(dsn, autocommit=True) as db:
            there = db.execute("select name from ragdb.list_corpora() order by part_of nulls last")
            for (name,) in there.fetchall():
                if name != "system":
                    db.execute("select ragdb.drop_corpus(%s)", (name,))
            db.execute("vacuum")
            db.execute("select ragdb.create_corpus('whole')")
            for name in names if parts else ():
                if homes[name] == dsn:
                    db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (name,))
    return load(homes, divided(documents, names), writers)


def timed(
    questions: Sequence[str], ask: Callable[[str], list[Any]]
) -> tuple[list[Any], list[float]]:
    hits, times = [], []
    for turn in range(2):  # the first warms up
        for question in questions:
            started = time.perf_counter()
            found = ask(question)
            if turn:
                times.append(1000 * (time.perf_counter() - started))
                hits.append(found)
    return hits, times


def run(
    dsns: Sequence[str], questions: Sequence[str], pivot: float | None
) -> tuple[float, float, list[Any], list[float]]:
    """The pivot, seconds to optimize, and what is found in which time: by SQL or `ragdb.Servers`.

    A corpus in one piece may keep a pivot that is nearly the mean, which its parts are given.
    """
    started = time.perf_counter()
    with ragdb.Servers(dsns) as servers, psycopg.connect(dsns[0], autocommit=True) as db:
        if len(dsns) > 1:
            servers.optimize("whole", pivot)
        else:
            db.execute("select ragdb.optimize_corpus('whole', %s)", (pivot,))
        optimized = time.perf_counter() - started
        ((taken,),) = db.execute("select pivot from ragdb.corpus_info('whole')").fetchall()
        for dsn in dsns:
            with psycopg.connect(dsn, autocommit=True) as other:
                other.execute("vacuum analyze")

        def by_servers(question: str) -> list[Any]:
            hits = servers.search("whole", question, mode="lexical")
            return [(hit.chunk_id, hit.score) for hit in hits]

        def by_sql(question: str) -> list[Any]:
            return db.execute(ASK, ("whole", question)).fetchall()

        return taken, optimized, *timed(questions, by_servers if len(dsns) > 1 else by_sql)


def main() -> None:
    flags = common.parser(__doc__)
    flags.add_argument("--chunks", type=int, default=207_712)
    flags.add_argument("--parts", type=int, default=8)
    flags.add_argument("--questions", type=int, default=300)
    flags.add_argument("--servers", type=int, default=3, help="1: parts in one database alone")
    given = flags.parse_args()
    documents = manuals(given.chunks)
    records = common.records("scale_tech_docs", "queries.jsonl")
    questions = [record["text"] for record in itertools.islice(records, given.questions)]
    lines = ["| corpus | writers | loaded in s | optimized in s | p50 ms | p95 ms | equal |"]
    lines.append("|---|---|---|---|---|---|---|")
    plans = [(0, 1, 1), *((given.parts, n, w) for n in (1, given.servers) for w in (1, 2, 4))]
    with contextlib.ExitStack() as stack:
        all_ = [stack.enter_context(common.server()) for _ in range(given.servers)]
        server, dsns = all_[0], [one.database() for one in all_]
        expected: list[Any] = []
        pivot = None
        for parts, count, writers in dict.fromkeys(plans):
            loaded = made(dsns[:count], documents, parts, writers)
            pivot, optimized, hits, times = run(dsns[:count], questions, pivot)
            expected = expected or hits
            equal = sum(one == other for one, other in zip(hits, expected, strict=True))
            median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            name = f"{parts} parts" if parts else "in one piece"
            name += f" on {count} servers" if count > 1 else ""
            lines.append(
                f"| {name} | {writers} | {loaded:.1f} | {optimized:.1f} | {median:.1f} | {p95:.1f}"
                f" | {equal} of {len(hits)} |"
            )
            if equal < len(hits):
                raise SystemExit("\n".join([*lines, "the hits differ"]))
        chunks = sum(len(document["chunks"]) for document in documents)
        common.publish(
            given.results,
            "Parts of a corpus",
            f"{chunks} chunks of {len(documents)} documents of scale_tech_docs, lexical, k 10",
            lines,
            server.version,
        )


if __name__ == "__main__":
    main()
