"""What it costs to record how long the stages of a retrieval took.

Each question is asked twice in a row: once with the three functions that note stages and once with
nothing in their place, in turn first and second, so that both meet the same machine. The time is
that of the server's process on the processor, as Linux counts it, because the clock tells what else
the machine does. What chooses between both costs too, and only the side that notes. The bound: the
median of the differences is at most 2 % of a retrieval.

    python -m bench.traces.stages [--chunks 5000] [--rounds 20] [--questions 100]
"""

from __future__ import annotations

from statistics import median, quantiles

import psycopg

import ragdb
from bench.common import Connection, parser, processor, publish, records, server
from bench.hybrid.static_speed import made, put
from ragdb.server import static

GOAL = 2
# by words and meaning where nothing is said: a few questions have no word that the model knows
MODES = {"lexical": "lexical", "by default": None}
# each function with its arguments
NOTING = (
    ("ask_for_stages", "", ""),
    ("note_stage", "stage text, started timestamptz", "stage, started"),
    ("noted_stages", "", ""),
)
SWITCHED = """
alter function ragdb_internal.{name} rename to kept_{name};
create function ragdb_internal.{name}({arguments}) returns {kind}
language plpgsql parallel restricted as $$
begin
  if current_setting('bench.noted') = 'yes' then
    return ragdb_internal.kept_{name}({passed});
  end if;
  return null;
end $$
"""
KIND = "select format_type(prorettype, null) from pg_proc where proname = %s"


def switch(db: Connection) -> None:
    """Have the setting bench.noted say whether stages are noted."""
    for name, arguments, passed in NOTING:
        ((kind,),) = db.execute(KIND, (name,)).fetchall()
        asks = SWITCHED.format(name=name, arguments=arguments, passed=passed, kind=kind)
        db.execute(asks.encode())
    for noted in (True, False):
        asked(db, "what is noted", None, noted)
        ((stages,),) = db.execute(
            "select stages from ragdb.retrieval_traces order by id desc limit 1"
        ).fetchall()
        assert (stages is not None) == noted, stages


def asked(db: Connection, query: str, mode: str | None, noted: bool) -> float:
    """Milliseconds of the processor that a retrieval takes."""
    db.execute("select set_config('bench.noted', %s, false)", ("yes" if noted else "no",))
    before = processor(db)
    db.execute("select from ragdb.retrieve('stages', %s, mode => %s)", (query, mode))
    return processor(db) - before


def pairs(
    db: Connection, queries: list[str], mode: str | None, rounds: int
) -> list[tuple[float, float]]:
    """What each question took with and without notes, in each round but the first."""
    found = []
    for n in range(rounds + 1):
        with db.transaction(force_rollback=True):
            for m, query in enumerate(queries):
                first = (n + m) % 2 == 0
                took = {noted: asked(db, query, mode, noted) for noted in (first, not first)}
                found += [(took[True], took[False])] if n else []
    return found


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=5000)
    flags.add_argument("--rounds", type=int, default=20)
    flags.add_argument("--questions", type=int, default=100)
    given = flags.parse_args()
    queries = [row["text"] for row in records("scale_tech_docs", "queries.jsonl")]
    queries = queries[: given.questions]
    with server() as own:
        dsn = own.database()
        with ragdb.connect(dsn) as door:
            static.load(door)
        lines = [
            "| mode | ms noted | ms not noted | a pair differs by ms, quarters | per cent |",
            "|---|---|---|---|---|",
        ]
        worst = 0.0
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('stages')")
            put(db, "stages", made(given.chunks, 0))
            db.execute("select ragdb.optimize_corpus('stages')")
            db.execute("vacuum analyze")
            db.execute("set role ragdb_owner")
            switch(db)
            for name, mode in MODES.items():
                found = pairs(db, queries, mode, given.rounds)
                on, off = (median(side) for side in zip(*found, strict=True))
                low, middle, high = quantiles([noted - plain for noted, plain in found], n=4)
                worst = max(worst, 100 * middle / off)
                lines.append(
                    f"| {name} | {on:.3f} | {off:.3f} | {low:+.3f}, {middle:+.3f}, {high:+.3f}"
                    f" | {100 * middle / off:+.2f} |"
                )
    publish(
        given.results,
        "What recording stages costs",
        f"{given.chunks:,} chunks of scale_tech_docs, {given.questions} questions,"
        f" {given.rounds} rounds, milliseconds of the processor a retrieval.",
        [*lines, "", f"At most {GOAL} %: {'held' if worst <= GOAL else 'missed'}."],
        own.version,
    )


if __name__ == "__main__":
    main()
