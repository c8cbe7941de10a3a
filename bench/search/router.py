"""Searches at a node beside the same through the router: `python -m bench.search.router`.

It takes the DSN of a router, as a superuser, and a corpus. Both ways are asked in turn, with the
questions of `ragdb.gate_questions`.
"""

from __future__ import annotations

import argparse
import statistics
import time

from psycopg.conninfo import make_conninfo

import ragdb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("router", help="DSN of the router, as a superuser")
    parser.add_argument("corpus")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    off, on = ("-cragdb.router=off", "-cragdb.router=on")
    with ragdb.connect(make_conninfo(given.router, options=off)) as db:
        at = {row.corpus: row.node for row in db.cluster_corpora()}[given.corpus]
        row = next(row for row in db.cluster_status() if row.node == at)
    node = make_conninfo(given.router, host=row.host, port=row.port, options=off)
    with (
        ragdb.connect(node, prepare_threshold=5) as alone,
        ragdb.connect(make_conninfo(given.router, options=on), prepare_threshold=5) as routed,
    ):
        questions = [row.question for row in alone.gate_questions(given.corpus)]
        took: dict[str, list[float]] = {"node": [], "router": []}
        same = 0
        for _ in range(given.rounds):
            for question in questions:
                hits = []
                for name, db in (("node", alone), ("router", routed)):
                    began = time.perf_counter()
                    found = db.search(given.corpus, question, mode="lexical")
                    took[name].append(1000 * (time.perf_counter() - began))
                    hits.append([(hit.chunk_id, hit.score) for hit in found])
                same += hits[0] == hits[1]
    print(f"{same} of {given.rounds * len(questions)} answers are equal")
    for name, times in took.items():
        cut = statistics.quantiles(times, n=20)
        print(f"{name:7} p50 {statistics.median(times):.1f} ms  p95 {cut[18]:.1f} ms")


if __name__ == "__main__":
    main()
