"""What it costs to record how long the stages of a retrieval took.

The same questions are asked again and again with the three functions that note stages and with
empty ones in their place, in turn: A B, B A, and so on. The time is that of the server's process on
the processor, as Linux counts it, because the clock tells what else the machine does. The bound: it
is at most 2 % of a retrieval in the median of all pairs.

    python -m bench.traces.stages [--chunks 5000] [--pairs 16] [--questions 60]
"""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles

import psycopg

import ragdb
from bench.common import Connection, parser, publish, records, server
from bench.hybrid.static_speed import made, put
from ragdb.server import static

GOAL = 2
WARM = 10  # questions after a function was replaced, which are not counted
# by words and meaning where nothing is said: a few questions have no word that the model knows
MODES = {"lexical": "lexical", "by default": None}
NOTING = ("ask_for_stages()", "note_stage(text, timestamptz)", "noted_stages()")
EMPTY = """
create or replace function ragdb_internal.{0} returns {1} language plpgsql as
  $$ begin return{2}; end $$
"""


def definitions(db: Connection) -> dict[bool, list[str]]:
    """What makes the functions note stages, and what makes them note nothing."""
    on, off = [], []
    for name in NOTING:
        row = db.execute(
            "select pg_get_functiondef(p.oid), pg_get_function_identity_arguments(p.oid),"
            " p.prorettype::regtype::text from pg_proc p where p.oid = %s::regprocedure",
            (f"ragdb_internal.{name}",),
        ).fetchone()
        assert row is not None
        on.append(row[0])
        called = f"{name.partition('(')[0]}({row[1]})"
        off.append(EMPTY.format(called, row[2], "" if row[2] == "void" else " null"))
    return {True: on, False: off}


def busy(db: Connection) -> float:
    """Milliseconds that the server's process has had of the processor."""
    told = Path(f"/proc/{db.info.backend_pid}/schedstat").read_text()
    return int(told.split()[0]) / 1e6


def asked(db: Connection, queries: list[str], mode: str | None, forms: list[str]) -> float:
    """Milliseconds of the processor of a retrieval with these functions."""
    for form in forms:
        db.execute(form.encode())
    retrieve = "select from ragdb.retrieve('stages', %s, mode => %s)"
    with db.transaction(force_rollback=True):
        for query in queries[:WARM]:
            db.execute(retrieve, (query, mode))
        before = busy(db)
        for query in queries:
            db.execute(retrieve, (query, mode))
        return (busy(db) - before) / len(queries)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=5000)
    flags.add_argument("--pairs", type=int, default=16)
    flags.add_argument("--questions", type=int, default=60)
    given = flags.parse_args()
    queries = [row["text"] for row in records("scale_tech_docs", "queries.jsonl")]
    queries = queries[: given.questions]
    with server() as own:
        dsn = own.database()
        with ragdb.connect(dsn) as door:
            static.load(door)
        lines = [
            "| mode | ms noted | ms not noted | per cent, median | quarters |",
            "|---|---|---|---|---|",
        ]
        worst = 0.0
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('stages')")
            put(db, "stages", made(given.chunks, 0))
            db.execute("select ragdb.optimize_corpus('stages')")
            db.execute("vacuum analyze")
            db.execute("set role ragdb_owner")
            forms = definitions(db)
            for name, mode in MODES.items():
                pairs = []
                for n in range(given.pairs):
                    took = {
                        noted: asked(db, queries, mode, forms[noted])
                        for noted in (n % 2 == 0, n % 2 == 1)
                    }
                    pairs.append((took[True], took[False]))
                more = [100 * (on / off - 1) for on, off in pairs]
                low, middle, high = quantiles(more, n=4)
                worst = max(worst, middle)
                on, off = (median(side) for side in zip(*pairs, strict=True))
                lines.append(
                    f"| {name} | {on:.3f} | {off:.3f} | {middle:+.2f} | {low:+.2f} to {high:+.2f} |"
                )
    publish(
        given.results,
        "What recording stages costs",
        f"{given.chunks:,} chunks of scale_tech_docs, {given.questions} questions,"
        f" {given.pairs} pairs a mode, milliseconds of the processor a retrieval.",
        [*lines, "", f"At most {GOAL} %: {'held' if worst <= GOAL else 'missed'}."],
        own.version,
    )


if __name__ == "__main__":
    main()
