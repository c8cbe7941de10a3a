"""A corpus that moves between two databases while one writer puts documents without a pause.

It says for how long the move went on, and for how long the writer waited: its slowest put before
the move, during it, and the hold of the last pages. The hits of both sides are compared.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import ragdb
from bench import common
from bench.search.parts import ASK, divided, load, manuals
from ragdb.errors import CorpusMoved
from ragdb.portable import mover


class Writer(threading.Thread):
    """Puts one small document after another until the corpus is gone."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.dsn, self.took = dsn, list[tuple[float, float]]()

    def run(self) -> None:
        with ragdb.connect(self.dsn) as db:
            for number in itertools.count():
                began = time.perf_counter()
                try:
                    db.put_text("manuals", f"new/{number % 500}.txt", f"part {number} of a pump")
                except CorpusMoved:
                    return
                self.took.append((began, time.perf_counter() - began))

    def slowest(self, since: float, until: float = float("inf")) -> float:
        return max((1000 * took for at, took in self.took if since <= at < until), default=0.0)


def hits(dsn: str, questions: list[str]) -> list[Any]:
    with ragdb.connect(dsn) as db:
        return [db.connection.execute(ASK, ("manuals", q)).fetchall() for q in questions]


def main() -> None:
    flags = common.parser(__doc__)
    flags.add_argument("--chunks", type=int, default=16_000)
    given = flags.parse_args()
    documents = manuals(given.chunks)
    records = common.records("scale_tech_docs", "queries.jsonl")
    questions = [record["text"] for record in itertools.islice(records, 50)]
    with common.server() as server:
        here, there = server.database("here"), server.database("there")
        with ragdb.connect(here) as db:
            db.create_corpus("manuals")
        load({"manuals": here}, divided(documents, ["manuals"]), 1)
        writer = Writer(here)
        alone = time.perf_counter()
        writer.start()
        time.sleep(5)
        began = time.perf_counter()
        with ragdb.connect(here) as source, ragdb.connect(there) as target:
            moved = mover.move(source, target, "manuals")
            took = time.perf_counter() - began
            writer.join()
            # what is left there is what a replay would read
            source.connection.execute("set ragdb.as_recorded = on")
            expected = [
                source.connection.execute(ASK, ("manuals", q)).fetchall() for q in questions
            ]
        equal = sum(a == b for a, b in zip(expected, hits(there, questions), strict=True))
        lines = [
            "| puts meanwhile | pages | move s | hold ms | slowest put before ms | during ms"
            " | equal |",
            "|---|---|---|---|---|---|---|",
            f"| {len(writer.took)} | {moved.pages} | {took:.0f} | {moved.pause_ms or 0:.0f}"
            f" | {writer.slowest(alone, began):.0f} | {writer.slowest(began):.0f}"
            f" | {equal} of {len(questions)} |",
        ]
        common.publish(
            given.results,
            "The move of a corpus",
            f"{moved.chunks} chunks, lexical, between two databases of one server, one writer",
            lines,
            server.version,
        )


if __name__ == "__main__":
    main()
