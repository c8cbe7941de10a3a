"""Speed of checking and repairing a corpus, compared with putting it.

What the server's other processes use, which analyse chunks at the side of the one that is asked, is
counted with it.

    python -m bench.ingest.upkeep [--sizes 10000,50000]
"""

from __future__ import annotations

import time

import psycopg

from bench.common import parser, publish, server
from bench.ingest.run import cpu, ours

STATEMENTS = (
    ("check_corpus", "select * from ragdb.check_corpus('bench', false)"),
    ("check_corpus, deep", "select * from ragdb.check_corpus('bench')"),
    ("repair_corpus", "select ragdb.repair_corpus('bench')"),
)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--sizes", default="10000,50000", help="numbers of chunks")
    arguments = flags.parse_args()
    lines = []
    with server() as own:
        for limit in map(int, arguments.sizes.split(",")):
            with psycopg.connect(own.database(), autocommit=True) as db:
                put = ours(db, limit, 8_000_000)
                taken = [("put_documents", put.seconds, put.cpu)]
                for name, statement in STATEMENTS:
                    before, began = cpu(db.info.backend_pid), time.perf_counter()
                    rows = db.execute(statement.encode()).fetchall()
                    seconds = time.perf_counter() - began
                    assert name == "repair_corpus" or rows == [], rows
                    taken.append((name, seconds, cpu(db.info.backend_pid, before)))
            for name, seconds, used in taken:
                cells = (f"{limit:,}", name, f"{seconds:.1f}", f"{limit / seconds:,.0f}")
                lines.append(f"| {' | '.join(cells)} | {used:.1f} | {limit / used:,.0f} |")
                print(lines[-1], flush=True)
    publish(
        arguments.results,
        "Upkeep of a corpus",
        "scale_tech_docs, 8 million characters a call, one connection, without embedding.",
        [
            "| chunks | what | s | chunks/s | server CPU s | chunks/CPU s |",
            "|---|---|---|---|---|---|",
            *lines,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
