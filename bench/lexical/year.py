"""Bytes of the lexical index after a year of edits, with autovacuum alone, beside a fresh load.

Every document is replaced so many times, in a seeded order, a few in a call: each time all its
chunks lose their last words and get others. Between the calls the server does what it does by
itself. A year has half a million minutes, and autovacuum looks in each: here it looks every second,
and `--pause` is the time that it has.

python -m bench.lexical.year [--chunks 10000] [--times 5] [--pause 2]
"""

from __future__ import annotations

import itertools
import json
import random
import time
from typing import Any

import psycopg

from bench.common import Connection, parser, publish, server
from bench.ingest.run import batches, whole
from bench.lexical.bytes import sizes

BATCH = 5


def edited(document: dict[str, Any], edition: int) -> dict[str, Any]:
    """A document whose chunks all lost words and got others, as long as before."""
    chunks = [dict(chunk) for chunk in document["chunks"]]
    for chunk in chunks:
        size, words = len(chunk["text"]), chunk["text"].split(" ")
        kept = words[: max(1, len(words) - 5 * edition)]
        text = " ".join([*kept, f"revised{edition}", *reversed(kept[:4])])
        chunk["text"] = text[:size].ljust(size, "x")
    return document | {"chunks": chunks, "doc_cid": f"{document['doc_cid'][:-4]}{edition:04x}"}


def put(db: Connection, corpus: str, documents: list[dict[str, Any]]) -> None:
    db.execute("select count(*) from ragdb.put_documents(%s, %s)", (corpus, json.dumps(documents)))


def fresh(dsn: str, documents: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """The parts of a first load of these documents."""
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('bench')")
        for first in range(0, len(documents), 100):
            put(db, "bench", documents[first : first + 100])
        db.execute("select ragdb.optimize_corpus('bench')")
        return sizes(db)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=10_000)
    flags.add_argument("--times", type=int, default=5, help="how often each document is replaced")
    flags.add_argument("--pause", type=float, default=2.0, help="seconds after every 20 calls")
    given = flags.parse_args()
    documents = [
        whole(file, list(chunks))
        for batch in batches(given.chunks, 4_000_000)
        for file, chunks in itertools.groupby(batch, key=lambda chunk: chunk.file)
    ]
    chance = random.Random(1)
    order = [n for n in range(len(documents)) for _ in range(given.times)]
    chance.shuffle(order)
    edition = [0] * len(documents)
    with server() as own:
        dsn = own.database()
        before = fresh(dsn, documents)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("alter system set autovacuum_naptime = 1")
            db.execute("select pg_reload_conf()")
            for call, first in enumerate(range(0, len(order), BATCH)):
                some = dict.fromkeys(order[first : first + BATCH])
                for n in some:
                    edition[n] += 1
                put(db, "bench", [edited(documents[n], edition[n]) for n in some])
                if call % 20 == 19:
                    time.sleep(given.pause)
            time.sleep(5 * given.pause)
            after = sizes(db)
            ((chunks,),) = db.execute("select chunks from ragdb.corpora where name = 'bench'")
        last = [edited(d, n) if n else d for d, n in zip(documents, edition, strict=True)]
        anew = fresh(own.database("anew"), last)
    rows = [
        (name, first, then, new)
        for (name, first), (_, then), (_, new) in zip(before, after, anew, strict=True)
    ]
    _, firsts, thens, news = zip(*rows, strict=True)
    rows.append(("all", sum(firsts), sum(thens), sum(news)))
    publish(
        given.results,
        "A year of edits",
        f"{chunks:,} chunks of scale_tech_docs in {len(documents):,} documents, each replaced"
        f" {given.times} times, {BATCH} a call; autovacuum looks every second.",
        [
            "| part | MB at first | MB after the edits | MB of a fresh load | × fresh |",
            "|---|---|---|---|---|",
            *(
                f"| {name} | {first / 1e6:.2f} | {then / 1e6:.2f} | {new / 1e6:.2f} |"
                f" {then / max(new, 1):.2f} |"
                for name, first, then, new in rows
            ),
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
