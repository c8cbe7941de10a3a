"""Cost of recording a retrieval: `retrieve` minus `search`, interleaved, query by query.

The peer is what an application does without us: the same search, then its own insert of the query
and the hits, as one jsonb, into a plain table. Once each call waits until its commit is on the
disk, once all are in one transaction; and, for the throughput, several clients ask at once.
Usage: python -m bench.traces.run [--corpus FILE.jsonl] [--queries FILE.jsonl] [--rounds 3]
    [--clients 4]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

import ragdb
from bench.common import DATA, Server, parser, publish, server

SCIFACT = DATA / "beir_scifact"
SEARCH = "select * from ragdb.search('bench', %s, 10)"
RETRIEVE = "select * from ragdb.retrieve('bench', %s, 10)"


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--corpus", type=Path, default=SCIFACT / "corpus.jsonl")
    flags.add_argument("--queries", type=Path, default=SCIFACT / "queries.jsonl")
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--clients", type=int, default=4)
    given = flags.parse_args()
    if not given.corpus.is_file():
        sys.exit(f"no file {given.corpus}: set RAGDB_SHARED, or give --corpus and --queries")
    with server() as own:
        report(given, own)


def report(given: argparse.Namespace, own: Server) -> None:
    dsn = own.database()
    queries = [json.loads(line)["text"] for line in given.queries.open()]
    with ragdb.connect(dsn) as database:
        database.ingest(given.corpus, corpus="bench")
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("create schema own")
        db.execute(
            "create table own.log (id bigint generated always as identity primary key,"
            " at timestamptz default now(), query text, hits jsonb)"
        )

        ways = ways_of(db)
        committed = measure(ways, queries, given.rounds)
        with db.transaction():
            together = measure(ways, queries, given.rounds)
        ((chunks,),) = db.execute("select chunks from ragdb.corpus_info('bench')").fetchall()
        ((size,),) = db.execute(
            "select sum(pg_total_relation_size(i.inhrelid))"
            " / (select count(*) from ragdb.retrieval_traces)"
            " from pg_inherits i where i.inhparent in"
            " ('ragdb.retrieval_traces'::regclass, 'ragdb.retrieval_hits'::regclass)"
        ).fetchall()
    answers = throughput(dsn, queries, given.clients, given.rounds)
    publish(
        given.results,
        "What recording a retrieval costs",
        f"{given.corpus.parent.name}, {chunks:,} chunks, {len(queries)} queries, k = 10, each way"
        f" in turn on each query, best of {given.rounds}; {size:,.0f} bytes of disk a trace.",
        [
            "| ms | median | p95 | over search, median | throughput lost |",
            "|---|---|---|---|---|",
            *rows("each call commits", committed),
            *rows("one transaction", together),
            "",
            f"| {given.clients} clients at once, each call commits | answers a second"
            " | throughput lost |",
            "|---|---|---|",
            *shares(answers),
        ],
        own.version,
    )


def ways_of(db: psycopg.Connection[Any]) -> dict[str, Callable[[str], None]]:
    """Each way of asking, by its name."""

    def search(query: str) -> None:
        db.execute(SEARCH, (query,)).fetchall()

    def retrieve(query: str) -> None:
        db.execute(RETRIEVE, (query,)).fetchall()

    def own(query: str) -> None:
        hits = db.execute(SEARCH, (query,)).fetchall()
        kept = [(hit[0], hit[2], hit[12], hit[19]) for hit in hits]
        db.execute("insert into own.log (query, hits) values (%s, %s)", (query, Jsonb(kept)))

    return {"search": search, "own": own, "retrieve": retrieve}


def ask(job: tuple[str, str, list[str], float]) -> int:
    """How many answers one client gets in some seconds, each committed."""
    dsn, way, queries, seconds = job
    with psycopg.connect(dsn, autocommit=True) as db:
        call = ways_of(db)[way]
        call(queries[0])
        end, done = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            call(queries[done % len(queries)])
            done += 1
    return done


def throughput(dsn: str, queries: list[str], clients: int, rounds: int) -> dict[str, float]:
    """Answers a second of several clients at once, the best of the rounds, the ways in turn."""
    seconds, best = 3.0, dict.fromkeys(("search", "own", "retrieve"), 0.0)
    with ProcessPoolExecutor(clients, get_context("spawn")) as pool:
        for _ in range(rounds + 1):
            for way in best:
                jobs = [(dsn, way, queries[n:] + queries[:n], seconds) for n in range(clients)]
                best[way] = max(best[way], sum(pool.map(ask, jobs)) / seconds)
    return best


def measure(
    ways: Mapping[str, Callable[[str], None]], queries: list[str], rounds: int
) -> dict[str, list[float]]:
    """Milliseconds of each query in each way, the best of the rounds."""
    best = {way: [float("inf")] * len(queries) for way in ways}
    for _ in range(rounds):
        for n, query in enumerate(queries):
            for way, call in ways.items():
                began = time.perf_counter()
                call(query)
                best[way][n] = min(best[way][n], 1000 * (time.perf_counter() - began))
    return best


def shares(answers: Mapping[str, float]) -> list[str]:
    return [
        f"| {way} | {count:,.0f} | {100 - 100 * count / answers['search']:.0f} % |"
        for way, count in answers.items()
    ]


def rows(commit: str, best: dict[str, list[float]]) -> list[str]:
    lines = []
    for way, name in (
        ("search", "search"),
        ("own", "search and own log"),
        ("retrieve", "retrieve"),
    ):
        over = [t - s for t, s in zip(best[way], best["search"], strict=True)]
        cuts = statistics.quantiles(best[way], n=100)
        lost = 100 * (1 - sum(best["search"]) / sum(best[way]))
        lines.append(
            f"| {name}, {commit} | {cuts[49]:.2f} | {cuts[94]:.2f}"
            f" | {statistics.median(over):.2f} | {lost:.0f} % |"
        )
    return lines


if __name__ == "__main__":
    main()
