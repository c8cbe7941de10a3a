"""Speed of put_documents compared with the least that PostgreSQL needs for the same text.

Bare is the same text in the same server with nothing of ours: COPY, to_tsvector and a GIN index
that is there from the first row, in the same batches; and, as the fastest that PostgreSQL can, COPY
of all of it, then to_tsvector, then the index. Of two connections that put in turn one analyses
while the other writes. The processor time of the server says more than the
clock where the machine has other work; what other processes do for it, which analyse chunks at its
side, counts.

    python -m bench.ingest.run [--sizes 10000,100000,207712,1000000]
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import psycopg

from bench.common import Connection, document, manuals, parser, publish, resident, server


@dataclass
class Chunk:
    file: str
    title: str
    text: str


@dataclass
class Result:
    seconds: float
    cpu: float
    backend_mb: float
    client_mb: float


def read_chunks(limit: int) -> Iterator[Chunk]:
    for record in itertools.islice(manuals(), limit):
        yield Chunk(record["_id"].rpartition("#")[0], record["title"], record["text"])


def batches(limit: int, size: int) -> Iterator[list[Chunk]]:
    """Whole files, about `size` bytes of text at a time."""
    batch: list[Chunk] = []
    held = 0
    for _, chunks in itertools.groupby(read_chunks(limit), key=lambda chunk: chunk.file):
        for chunk in chunks:
            batch.append(chunk)
            held += len(chunk.text)
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def whole(file: str, chunks: list[Chunk]) -> dict[str, Any]:
    """A file as put_documents takes it."""
    made = document(file, *(chunk.text for chunk in chunks), media_type="text/markdown")
    for given, chunk in zip(made["chunks"], chunks, strict=True):
        given["heading"] = [chunk.title]
    return made


def wait_for_end(pid: int) -> None:
    """What a process has used counts as its parent's from then on."""
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


def cpu(pid: int, ended: float = 0.0) -> float:
    """Seconds of processor time that a backend has used, and those that helped it and have ended.

    `ended` is what had ended before; the server's own helpers, as autovacuum, are among them.
    """
    own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    server = Path(f"/proc/{own[1]}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, (*own[11:13], *server[13:15])))
    return ticks / os.sysconf("SC_CLK_TCK") - ended


def calls(limit: int, size: int) -> Iterator[str]:
    for batch in batches(limit, size):
        files = itertools.groupby(batch, key=lambda chunk: chunk.file)
        yield json.dumps([whole(file, list(chunks)) for file, chunks in files])


PUT = "select count(*) from ragdb.put_documents('bench', %s)"


def ours(db: Connection, limit: int, size: int) -> Result:
    db.execute("select ragdb.create_corpus('bench')")
    seconds = backend = client = 0.0
    ended = cpu(db.info.backend_pid)
    for documents in calls(limit, size):
        began = time.perf_counter()
        db.execute(PUT, (documents,))
        seconds += time.perf_counter() - began
        backend = max(backend, resident(db.info.backend_pid))
        client = max(client, resident(os.getpid()))
    return Result(seconds, cpu(db.info.backend_pid, ended), backend, client)


def ours_in_turn(db: Connection, limit: int, size: int) -> Result:
    """What is put is made before, because a process makes and sends one thing at a time."""
    db.execute("select ragdb.create_corpus('bench')")
    left: SimpleQueue[str] = SimpleQueue()
    for documents in calls(limit, size):
        left.put(documents)

    def put(_: int) -> float:
        with psycopg.connect(db.info.dsn, autocommit=True) as own:
            pid = own.info.backend_pid
            with contextlib.suppress(Empty):
                while True:
                    own.execute(PUT, (left.get_nowait(),))
            backend = resident(pid)
        wait_for_end(pid)
        return backend

    ended = cpu(db.info.backend_pid)
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as connections:
        backends = list(connections.map(put, range(2)))
    seconds = time.perf_counter() - began
    return Result(seconds, cpu(db.info.backend_pid, ended), sum(backends), resident(os.getpid()))


def bare_in_batches(db: Connection, limit: int, size: int) -> Result:
    db.execute("create table bare (id bigint, text text, words tsvector)")
    db.execute("create index on bare using gin (words)")
    seconds = backend = client = 0.0
    ended = cpu(db.info.backend_pid)
    for batch in batches(limit, size):
        began = time.perf_counter()
        db.execute("create temporary table staged (id bigint, text text)")
        with db.cursor().copy("copy staged from stdin") as copy:
            for n, chunk in enumerate(batch):
                copy.write_row((n, f"{chunk.title}\n{chunk.text}"))
        db.execute("insert into bare select id, text, to_tsvector('english', text) from staged")
        db.execute("drop table staged")
        seconds += time.perf_counter() - began
        backend = max(backend, resident(db.info.backend_pid))
        client = max(client, resident(os.getpid()))
    return Result(seconds, cpu(db.info.backend_pid, ended), backend, client)


def bare_at_once(db: Connection, limit: int, size: int) -> Result:
    db.execute("create table copied (id bigint, text text)")
    seconds = 0.0
    ended = cpu(db.info.backend_pid)
    with db.cursor().copy("copy copied from stdin") as copy:
        for batch in batches(limit, size):
            began = time.perf_counter()
            for n, chunk in enumerate(batch):
                copy.write_row((n, f"{chunk.title}\n{chunk.text}"))
            seconds += time.perf_counter() - began
    began = time.perf_counter()
    db.execute("create table words as select id, text, to_tsvector('english', text) from copied")
    db.execute("create index on words using gin (to_tsvector)")
    seconds += time.perf_counter() - began
    return Result(
        seconds,
        cpu(db.info.backend_pid, ended),
        resident(db.info.backend_pid),
        resident(os.getpid()),
    )


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--sizes", default="10000,100000,207712", help="numbers of chunks")
    flags.add_argument("--batch", type=int, default=8_000_000, help="characters in a call")
    arguments = flags.parse_args()
    lines = []
    with server() as own:
        for limit in map(int, arguments.sizes.split(",")):
            measured = {}
            for name, run in (
                ("put_documents", ours),
                ("put_documents, two connections in turn", ours_in_turn),
                ("bare, in the same batches", bare_in_batches),
                ("bare, all at once", bare_at_once),
            ):
                with psycopg.connect(own.database(), autocommit=True) as db:
                    pid = db.info.backend_pid
                    measured[name] = run(db, limit, arguments.batch)
                wait_for_end(pid)
            count = size = 0
            for chunk in read_chunks(limit):
                count += 1
                size += len(chunk.text.encode())
            for name, result in measured.items():
                bare = measured["bare, in the same batches"]
                cells = [
                    f"{count:,}",
                    name,
                    f"{result.seconds:.1f}",
                    f"{size / 1e6 / result.seconds:.2f}",
                    f"{count / result.seconds:,.0f}",
                    f"{bare.seconds / result.seconds:.2f}",
                    f"{result.cpu:.1f}",
                    f"{bare.cpu / result.cpu:.2f}",
                    f"{result.backend_mb:.0f}",
                    f"{result.client_mb:.0f}",
                ]
                lines.append(f"| {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    heads = ["chunks", "what", "s", "MB/s", "chunks/s", "× bare", "server CPU s", "× bare"]
    heads += ["backend MB", "client MB"]
    publish(
        arguments.results,
        "Ingest",
        f"scale_tech_docs, recombined beyond its end, {arguments.batch / 1e6:g} million characters"
        " a call, without embedding.",
        [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *lines],
        own.version,
    )


if __name__ == "__main__":
    main()
