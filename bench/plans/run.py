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


def measure(home: Path, version: int, states: list[str]) -> dict[tuple[str, str], str]:
    """What one version reads, by kind and name, as columns of the table."""
    uri = embedded.start(home / f"pg{version}", version)
    try:
        with psycopg.connect(uri, autocommit=True) as admin:
            admin.execute("alter system set autovacuum = off")
            admin.execute("select pg_reload_conf()")
        own = Server.at(uri)
        by_state = {state: worst(own, state) for state in states}
    finally:
        embedded.stop(home / f"pg{version}", version)
    columns = {}
    for key in by_state[states[0]]:
        state = max(states, key=lambda state: by_state[state][key][0].each)
        read, where = by_state[state][key]
        columns[key] = (
            f"{state}, {where} | {read.written + read.returned:,} | {read.rows:,} |"
            f" {read.buffers:,} | {read.each:,.1f} |"
        )
    return columns


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--versions", default="18,16", help="of PostgreSQL")
    states = ",".join(matrix.STATISTICS)
    flags.add_argument("--statistics", default=states, help="when the tables were analyzed last")
    given = flags.parse_args()
    versions = given.versions.split(",")
    with folder() as home:
        read = [measure(home, int(v), given.statistics.split(",")) for v in versions]
    columns = "".join(
        f" worst on {v} | written, returned | rows read | buffers | rows each |" for v in versions
    )
    publish(
        given.results,
        "What statements read",
        f"a corpus of {matrix.LARGE.documents:,} documents of three chunks and one of"
        f" {matrix.NEW.documents:,} that is newer; the worst of the states of the statistics"
        f" ({given.statistics}).",
        [
            f"| kind | statement |{columns}",
            "|---" * (2 + 5 * len(versions)) + "|",
            *(
                f"| {kind} | {name} | " + " ".join(found[kind, name] for found in read)
                for kind, name in read[0]
            ),
        ],
        given.versions,
    )


if __name__ == "__main__":
    main()
