"""A corpus in one piece beside the same in parts: p50 of a search, and loading by several writers.

Both have the same documents, the manuals of scale_tech_docs. The hits of all questions are compared
too: ids, order and scores are equal, or the bench fails.
"""

from __future__ import annotations

import itertools
import json
import statistics
import threading
import time
import zlib
from collections.abc import Sequence
from typing import Any

import psycopg

from bench import common

PUT = "select from ragdb.put_documents(%s, %s)"
ASK = "select chunk_id, score from ragdb.search(%s, %s, mode => 'lexical') order by rank"


def manuals(chunks: int) -> list[dict[str, Any]]:
    records = itertools.islice(common.texts("scale_tech_docs"), chunks)
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


def load(dsn: str, batches: dict[str, list[str]], writers: int) -> float:
    """Seconds that so many writers take, each with a share of the corpora."""
    shares = [list(batches)[n::writers] for n in range(writers)]

    def write(share: Sequence[str]) -> None:
        with psycopg.connect(dsn, autocommit=True) as db:
            for corpus in share:
                for batch in batches[corpus]:
                    db.execute(PUT, (corpus, batch))

    threads = [threading.Thread(target=write, args=(share,)) for share in shares]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def made(dsn: str, documents: Sequence[dict[str, Any]], parts: int, writers: int) -> float:
    """A corpus `whole`, in one piece or in parts, loaded anew; the seconds of the loading."""
    names = [f"part-{n}" for n in range(parts)] if parts else ["whole"]
    with psycopg.connect(dsn, autocommit=True) as db:
        there = db.execute("select name from ragdb.list_corpora() order by part_of nulls last")
        for (name,) in there.fetchall():
            if name != "system":
                db.execute("select ragdb.drop_corpus(%s)", (name,))
        db.execute("vacuum")
        db.execute("select ragdb.create_corpus('whole')")
        for name in names if parts else ():
            db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (name,))
    return load(dsn, divided(documents, names), writers)


def asked(db: common.Connection, questions: Sequence[str]) -> tuple[list[Any], list[float]]:
    hits, times = [], []
    for turn in range(2):  # the first warms up
        for question in questions:
            started = time.perf_counter()
            found = db.execute(ASK, ("whole", question)).fetchall()
            if turn:
                times.append(1000 * (time.perf_counter() - started))
                hits.append(found)
    return hits, times


def main() -> None:
    flags = common.parser(__doc__)
    flags.add_argument("--chunks", type=int, default=207_712)
    flags.add_argument("--parts", type=int, default=8)
    flags.add_argument("--questions", type=int, default=300)
    given = flags.parse_args()
    documents = manuals(given.chunks)
    records = common.records("scale_tech_docs", "queries.jsonl")
    questions = [record["text"] for record in itertools.islice(records, given.questions)]
    lines = ["| corpus | writers | loaded in s | optimized in s | p50 ms | p95 ms | equal |"]
    lines.append("|---|---|---|---|---|---|---|")
    with common.server() as server:
        dsn = server.database()
        expected: list[Any] = []
        for parts, writers in ((0, 1), (given.parts, 1), (given.parts, 2), (given.parts, 4)):
            loaded = made(dsn, documents, parts, writers)
            with psycopg.connect(dsn, autocommit=True) as db:
                started = time.perf_counter()
                db.execute("select ragdb.optimize_corpus('whole')")
                optimized = time.perf_counter() - started
                db.execute("vacuum analyze")
                hits, times = asked(db, questions)
            expected = expected or hits
            equal = sum(one == other for one, other in zip(hits, expected, strict=True))
            median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            name = f"{parts} parts" if parts else "in one piece"
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
