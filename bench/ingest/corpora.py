"""What the number of corpora in one database costs: to make one, to put into it, to search it.

A corpus gets two texts of scale_tech_docs, embedded by the packaged model as it does by default. A
row is the median of so many calls at that number of corpora. Locks are those of relations that the
transaction of one put holds.

    python -m bench.ingest.corpora [--corpora 3,250,1000,2500]
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

import psycopg

from bench.common import Connection, parser, publish, server, texts
from ragdb.database import Database
from ragdb.server import static

TIMES = 15
LOCKS = "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'relation'"


def took(call: Callable[..., object], *given: object) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    call(*given)
    return 1000 * (time.perf_counter() - started)


def locks(db: Connection) -> int:
    with db.transaction(force_rollback=True):
        Database(db).put_text("c0", "locked", "red apple")
        found: tuple[int] = db.execute(LOCKS).fetchone()  # type: ignore[assignment]
    return found[0]


def row(db: Connection, count: int, made: dict[str, list[float]]) -> str:
    """What calls took at last, and what searches take now."""
    search = Database(db).search
    one = [took(search, f"c{n * count // TIMES}", "server error") for n in range(TIMES)]
    every = [took(search, None, "server error") for _ in range(3)]
    shown = [statistics.median(times[-TIMES:]) for times in (*made.values(), one, every)]
    return f"| {count:,} | {' | '.join(f'{ms:.1f}' for ms in shown)} | {locks(db)} |"


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--corpora", default="3,250,1000,2500")
    given = flags.parse_args()
    rows = []
    made: dict[str, list[float]] = {"create": [], "first": [], "next": []}
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        door = Database(db)
        static.load(door)
        found = itertools.cycle([record["text"][:2000] for record in texts("scale_tech_docs")])
        wanted = [int(size) for size in given.corpora.split(",")]
        for n in range(max(wanted)):
            made["create"].append(took(door.create_corpus, f"c{n}"))
            for what in ("first", "next"):
                made[what].append(took(door.put_text, f"c{n}", what, next(found)))
            if n + 1 in wanted:
                rows.append(row(db, n + 1, made))
                print(rows[-1], flush=True)
    publish(
        given.results,
        "Many corpora",
        "milliseconds by the clock, one connection, default settings of the embedded server.",
        [
            "| corpora | create one | put its first text | its next | search one | search all"
            " | locks of a put |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
