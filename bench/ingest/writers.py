"""Writers of as many corpora: how much faster many put than one, and what they wait for.

Each writer is a process and puts small files into a corpus of its own, a call and a commit each.
With --open it keeps its transaction open after the call, for as many milliseconds as a client with
other work would: writers who share a lock then queue at it, and a machine of any number of cores
shows it. What each is at is sampled: running, or what it waits for (bench/waits.py).

    python -m bench.ingest.writers [--writers 1,4,16] [--open 0,50] [--seconds 20]
"""

from __future__ import annotations

import itertools
import json
import time
from functools import partial

import psycopg

from bench import waits
from bench.common import Connection, document, manuals, parser, publish, server


def write(db: Connection, turn: int, corpus: str, texts: list[str], open_ms: int) -> None:
    chunks = [texts[(turn * 3 + n) % len(texts)] for n in range(3)]
    made = document(f"{corpus}/{turn}", *chunks)
    with db.transaction():
        db.execute("select from ragdb.put_documents(%s, %s)", (corpus, json.dumps([made])))
        time.sleep(open_ms / 1000)


def corpora(dsn: str, texts: list[str], open_ms: int, writers: int) -> list[list[object]]:
    """What each writer writes, to a corpus of its own that is made here."""
    names = [f"w{writers}-{open_ms}-{n}" for n in range(writers)]
    with psycopg.connect(dsn, autocommit=True) as db:
        for name in names:
            db.execute("select ragdb.create_corpus(%s)", (name,))
    return [[name, texts, open_ms] for name in names]


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--writers", default="1,4,16", help="numbers of writers")
    flags.add_argument("--open", default="0,50", help="ms that a transaction is kept open")
    flags.add_argument("--seconds", type=float, default=20, help="of each measurement")
    given = flags.parse_args()
    lines = waits.table("kept open ms", "writers", "puts")
    texts = [record["text"] for record in itertools.islice(manuals(), 400)]
    with server() as own:
        dsn = own.database()
        for open_ms in map(int, given.open.split(",")):
            made = partial(corpora, dsn, texts, open_ms)
            lines += waits.lines(dsn, open_ms, write, given.writers, made, given.seconds)
    publish(
        given.results,
        "Writers of many corpora",
        "a corpus and a process each, three chunks of scale_tech_docs a call and a commit, with"
        " fsync.",
        lines,
        own.version,
    )


if __name__ == "__main__":
    main()
