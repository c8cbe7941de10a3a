"""What every kind of statement reads, by when the tables were analyzed last: the worst of each.

The statements and the states are those of tests/plans/matrix.py, which its tests bound. Rows are
those that scans of tables and indexes of ragdb returned; a row is written, or returned.

python -m bench.plans.run [--versions 18,16] [--statistics never,empty,…]
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from bench.common import Server, folder, parser, publish
from ragdb.server import embedded
from tests.plans import matrix


def worst(own: Server, statistics: str) -> dict[tuple[str, str], tuple[matrix.Read, str]]:
    """By kind and name, what was read most, and in which corpus by which plans."""
    found: dict[tuple[str, str], tuple[matrix.Read, str]] = {}
    with psycopg.connect(own.database("plans"), autocommit=True) as db:
        matrix.make(db, statistics)
        for kind, name, corpus, plans, read in matrix.measured(db):
            before = found.get((kind, name))
            if before is None or read.each > before[0].each:
                found[kind, name] = (read, f"{corpus}, {plans}")
    return found


def measure(home: Path, version: int, states: list[str]) -> list[str]:
    uri = embedded.start(home / f"pg{version}", version)
    try:
        with psycopg.connect(uri, autocommit=True) as admin:
            admin.execute("alter system set autovacuum = off")
            admin.execute("select pg_reload_conf()")
        own = Server.at(uri)
        by_state = {state: worst(own, state) for state in states}
    finally:
        embedded.stop(home / f"pg{version}", version)
    lines = []
    for key in by_state[states[0]]:
        state = max(states, key=lambda state: by_state[state][key][0].each)
        read, where = by_state[state][key]
        lines.append(
            f"| {version} | {key[0]} | {key[1]} | {state}, {where} | {read.written:,} |"
            f" {read.returned:,} | {read.rows:,} | {read.buffers:,} | {read.each:,.1f} |"
        )
    return lines


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--versions", default="18,16", help="of PostgreSQL")
    states = ",".join(matrix.STATISTICS)
    flags.add_argument("--statistics", default=states, help="when the tables were analyzed last")
    given = flags.parse_args()
    lines = []
    with folder() as home:
        for version in map(int, given.versions.split(",")):
            lines += measure(home, version, given.statistics.split(","))
    publish(
        given.results,
        "What statements read",
        f"a corpus of {matrix.LARGE.documents:,} documents of three chunks and one of"
        f" {matrix.NEW.documents:,} that is newer; the worst of the states of the statistics"
        f" ({given.statistics}).",
        [
            "| PostgreSQL | kind | statement | worst | written | returned | rows read | buffers |"
            " rows read each |",
            "|---|---|---|---|---|---|---|---|---|",
            *lines,
        ],
        given.versions,
    )


if __name__ == "__main__":
    main()
