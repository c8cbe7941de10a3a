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
import multiprocessing as mp
import time
from collections import Counter
from multiprocessing.synchronize import Barrier

import psycopg

from bench import waits
from bench.common import document, manuals, parser, publish, server


def write(
    dsn: str,
    corpus: str,
    texts: list[str],
    open_ms: int,
    seconds: float,
    began: Barrier,
    done: mp.Queue[int],
) -> None:
    count = 0
    with psycopg.connect(dsn, application_name=waits.NAME) as db:
        began.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            chunks = [texts[(count * 3 + n) % len(texts)] for n in range(3)]
            made = document(f"{corpus}/{count}", *chunks)
            db.execute("select from ragdb.put_documents(%s, %s)", (corpus, json.dumps([made])))
            time.sleep(open_ms / 1000)
            db.commit()
            count += 1
    done.put(count)


def measure(
    dsn: str, texts: list[str], writers: int, open_ms: int, seconds: float
) -> tuple[float, Counter[str]]:
    """Puts a second, and how often each state was seen."""
    done: mp.Queue[int] = mp.Queue()
    began = mp.Barrier(writers + 1, timeout=60)
    with psycopg.connect(dsn, autocommit=True) as db:
        names = [f"w{writers}-{open_ms}-{n}" for n in range(writers)]
        for name in names:
            db.execute("select ragdb.create_corpus(%s)", (name,))
    processes = [
        mp.Process(target=write, args=(dsn, name, texts, open_ms, seconds, began, done))
        for name in names
    ]
    for process in processes:
        process.start()
    began.wait()
    seen = waits.sampled(dsn, seconds)
    count = sum(done.get() for _ in processes)
    for process in processes:
        process.join()
    return count / seconds, seen


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--writers", default="1,4,16", help="numbers of writers")
    flags.add_argument("--open", default="0,50", help="ms that a transaction is kept open")
    flags.add_argument("--seconds", type=float, default=20, help="of each measurement")
    given = flags.parse_args()
    shares = (f"{kind} %" for kind in waits.KINDS)
    heads = ["kept open ms", "writers", "puts/s", "× one", *shares, "locks"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    texts = [record["text"] for record in itertools.islice(manuals(), 400)]
    with server() as own:
        dsn = own.database()
        for open_ms in map(int, given.open.split(",")):
            one = 0.0
            for writers in map(int, given.writers.split(",")):
                rate, seen = measure(dsn, texts, writers, open_ms, given.seconds)
                one = one or rate / writers
                cells = [open_ms, writers, f"{rate:.1f}", f"{rate / one:.2f}", *waits.cells(seen)]
                lines.append(f"| {' | '.join(map(str, cells))} |")
                print(lines[-1], flush=True)
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
