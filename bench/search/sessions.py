"""Sessions that search one corpus at once: how much more they do than one, and what they wait for.

Each session is a process that asks headings of the manuals, a call and a commit each: `search`
writes nothing, `retrieve` one trace. As many sessions as a machine has cores do as many times as
much, less what their own processes take, unless they share a lock; what each is at is sampled
(bench/waits.py).

    python -m bench.search.sessions [--sessions 1,2,4] [--chunks 20000] [--seconds 8]
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import LiteralString

import psycopg

from bench import waits
from bench.common import Connection, document, fill, manuals, parser, publish, records, server
from ragdb.database import Database
from ragdb.server import static

CALLS: dict[str, LiteralString] = {
    "search, lexical": "select from ragdb.search('manuals', %s, mode => 'lexical')",
    "search, hybrid": "select from ragdb.search('manuals', %s)",
    "retrieve, hybrid": "select ragdb.retrieve('manuals', %s)",
}


def ask(db: Connection, turn: int, call: LiteralString, questions: list[str]) -> None:
    db.execute(call, (questions[turn % len(questions)],))


def asks(call: LiteralString, questions: list[str], sessions: int) -> list[list[object]]:
    """What each session asks, each beginning with another question."""
    return [[call, questions[n:]] for n in range(sessions)]


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--sessions", default="1,2,4", help="numbers of sessions")
    flags.add_argument("--chunks", type=int, default=20000)
    flags.add_argument("--seconds", type=float, default=8, help="of each measurement")
    given = flags.parse_args()
    lines = waits.table("call", "sessions", "calls")
    questions = [record["text"] for record in records("scale_tech_docs", "queries.jsonl")][:300]
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            static.load(Database(db))
            texts = itertools.islice(manuals(), given.chunks)
            fill(db, "manuals", (document(r["_id"], r["text"], title=r["title"]) for r in texts))
            db.execute("select ragdb.index_space('manuals')")
        for name, call in CALLS.items():
            asked = partial(asks, call, questions)
            lines += waits.lines(dsn, name, ask, given.sessions, asked, given.seconds)
    publish(
        given.results,
        "Sessions that search at once",
        f"{given.chunks:,} chunks of scale_tech_docs in one corpus, static embeddings, a process"
        " for each session on the same machine, 10 hits a call.",
        lines,
        own.version,
    )


if __name__ == "__main__":
    main()
