"""What static embeddings cost: loading, writing with and without, and what a search takes more.

Processor seconds of the server say more than the clock where the machine has other work. Words that
had to be cut are kept, so the first chunks of a database cost more than those that follow: both are
shown. What comes second meets the vacuum of what came first, so another database is written to in
the other order, and a row is the mean of both. The library's own way is to tokenize and average one
text after the other in one process.

    python -m bench.hybrid.static_speed [--chunks 20000] [--questions 300]
"""

from __future__ import annotations

import json
import math
import re
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import psycopg

from bench.common import Connection, parser, processor, publish, server
from bench.hybrid.static import library
from bench.ingest.run import Chunk, batches, cpu, read_chunks, whole
from ragdb.database import Database
from ragdb.ingest.ingest import BATCH_BYTES
from ragdb.models.static import NAME as MODEL
from ragdb.server import static


class Took(NamedTuple):
    """Seconds of the clock and of the server's processor."""

    clock: float
    processor: float


def timed(db: Connection, work: Callable[[], Any]) -> Took:
    pid = db.info.backend_pid
    before, started = cpu(pid), time.perf_counter()
    work()
    return Took(time.perf_counter() - started, cpu(pid, before))


def put(db: Connection, corpus: str, given: list[list[dict[str, Any]]]) -> None:
    for documents in given:
        db.execute("select from ragdb.put_documents(%s, %s)", (corpus, json.dumps(documents)))


def made(limit: int, skip: int) -> list[list[dict[str, Any]]]:
    """Documents of so many chunks behind the first ones, as many a call as ragdb ingest sends."""
    found, seen = [], 0
    for batch in batches(skip + limit, BATCH_BYTES):
        files: dict[str, list[Chunk]] = {}
        for chunk in batch:
            seen += 1
            if seen > skip:
                files.setdefault(chunk.file, []).append(chunk)
        found.append([whole(file, chunks) for file, chunks in files.items()])
    return [documents for documents in found if documents]


def questions(count: int) -> Iterator[str]:
    """Runs of eight words from texts all over the collection."""
    for n, chunk in enumerate(read_chunks(count * 50)):
        words = re.findall(r"\w+", chunk.text)
        if n % 50 == 0 and len(words) > 30:
            yield " ".join(words[20:28])


ASKED = {
    "ragdb.embed": "select ragdb.embed(%s)",
    "lexical": "select from ragdb.search('large', %s, mode => 'lexical')",
    "hybrid": "select from ragdb.search('large', %s)",
}


def asking(db: Connection, asked: list[str]) -> list[str]:
    """What each statement takes for every question, the best of three rounds, in turn.

    Each is run twice, and the second counts. The best leaves out what another program disturbs.
    """
    took: dict[str, list[float]] = {what: [math.inf] * len(asked) for what in ASKED}
    used: dict[str, list[float]] = {what: [math.inf] * len(asked) for what in ASKED}
    for _ in range(3):
        for n, question in enumerate(asked):
            for what, statement in ASKED.items():
                db.execute(statement, (question,)).fetchall()
                before, started = processor(db), time.perf_counter()
                db.execute(statement, (question,)).fetchall()
                took[what][n] = min(took[what][n], 1000 * (time.perf_counter() - started))
                used[what][n] = min(used[what][n], processor(db) - before)
    adds = [h - w for h, w in zip(took["hybrid"], took["lexical"], strict=True)]
    lines = []
    for what, times in (*took.items(), ("hybrid adds", adds)):
        cpu_ms = f"{statistics.mean(used[what]):.2f}" if what in used else ""
        most = statistics.quantiles(times, n=20)[-1]
        lines.append(f"| {what} | {statistics.median(times):.2f} | {most:.2f} | {cpu_ms} |")
    return lines


def writing(db: Connection, chunks: int, embedders: tuple[str | None, ...]) -> dict[str, Took]:
    """Puts the first chunks of a database and later ones, with and without vectors in turn."""
    took = {}
    for which, skip in (("first", 0), ("later", chunks)):
        part = made(chunks, skip)
        for embedder in embedders:
            what = "with" if embedder else "without"
            corpus = f"{which}-{what}"
            Database(db).set_default_embedder(embedder)
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
            seconds = timed(db, partial(put, db, corpus, part))
            print(f"{corpus} {seconds.clock:.1f} {seconds.processor:.1f}", flush=True)
            took[f"put, {which} chunks, {what}"] = seconds
    return took


def alone(db: Connection, chunks: int) -> dict[str, Took]:
    """The embedding of chunks that are there, and the library's own of their texts."""
    embedding = timed(db, lambda: Database(db).embed_corpus("first-without", MODEL))
    texts = [f"{c.title}\n{c.text}" for c in read_chunks(chunks)]
    started = time.process_time()
    library(texts)
    used = time.process_time() - started
    return {"embedding alone": embedding, "the library's own, one at a time": Took(used, used)}


def shown(took: dict[str, Took], chunks: int) -> list[str]:
    first, later = (
        " and ".join(
            f"{plain / meant:.2f} × by the {by}"
            for plain, meant, by in zip(
                took[f"put, {which} chunks, without"],
                took[f"put, {which} chunks, with"],
                ("clock", "processor"),
                strict=True,
            )
        )
        for which in ("first", "later")
    )
    return [
        "| what | chunks | s | chunks/s | server CPU s | chunks/CPU s |",
        "|---|---|---|---|---|---|",
        *(
            f"| {what} | {chunks:,} | {clock:.1f} | {chunks / clock:,.0f} | {used:.1f}"
            f" | {chunks / max(used, 0.01):,.0f} |"
            for what, (clock, used) in took.items()
        ),
        "",
        f"With vectors ÷ without: first chunks {first}; later chunks {later}.",
    ]


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=20_000)
    flags.add_argument("--search", type=int, default=200_000)
    flags.add_argument("--questions", type=int, default=300)
    given = flags.parse_args()
    with (
        server() as own,
        psycopg.connect(own.database("other"), autocommit=True) as other,
        psycopg.connect(own.database(), autocommit=True) as db,
    ):
        loading, _ = (timed(one, partial(static.load, Database(one))) for one in (other, db))
        passes = (
            writing(other, given.chunks, (MODEL, None)),
            writing(db, given.chunks, (None, MODEL)),
        )
        took = {
            what: Took(*map(statistics.mean, zip(seconds, passes[1][what], strict=True)))
            for what, seconds in passes[0].items()
        }
        lines = [
            f"Loading: {loading.clock:.1f} s, of which the server {loading.processor:.1f} s of"
            " processor.",
            "",
            *shown(took | alone(db, given.chunks), given.chunks),
        ]
        if given.search:
            lines += ["", *searching(db, Database(db), given.search, given.questions)]
        publish(
            given.results,
            "What static embeddings cost",
            "scale_tech_docs, the packaged model, 8 MiB of text a call as ragdb ingest sends them,"
            " one connection.",
            lines,
            own.version,
        )


def searching(db: Connection, door: Database, chunks: int, count: int) -> list[str]:
    """What a search takes more, with an index of the vectors."""
    db.execute("select ragdb.create_corpus('large')")
    put(db, "large", made(chunks, 0))
    built = timed(db, lambda: (door.optimize_corpus("large"), door.index_space("large")))
    size = db.execute(
        "select sum(pg_total_relation_size(c.oid)) from ragdb.embedding_spaces s"
        " join ragdb.corpora k using (corpus_id)"
        " join pg_class c on c.relname = 'chunk_embeddings_' || s.space_id"
        " where k.name = 'large'"
    ).fetchone()
    return [
        f"{chunks:,} chunks, index of vectors and blocks in {built[0]:.0f} s,"
        f" {(size[0] or 0) / chunks if size else 0:,.0f} bytes a chunk for its vector:",
        "",
        "| | ms, median | ms, p95 | server CPU ms, mean |",
        "|---|---|---|---|",
        *asking(db, list(questions(count))),
    ]


if __name__ == "__main__":
    main()
