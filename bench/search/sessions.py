"""Sessions that search one corpus at once: how much more they do than one, and what they wait for.

Each session is a process that asks headings of the manuals, a call and a commit each: `search`
writes nothing, `retrieve` one trace. As many sessions as a machine has cores do as many times as
much, less what their own processes take, unless they share a lock; what each is at is sampled
(bench/waits.py).

    python -m bench.search.sessions [--sessions 1,2,4] [--chunks 20000] [--seconds 8]
"""

from __future__ import annotations

import itertools
import multiprocessing as mp
import time
from collections import Counter
from multiprocessing.synchronize import Barrier

import psycopg

from bench import waits
from bench.common import document, fill, manuals, parser, publish, records, server
from ragdb.database import Database
from ragdb.server import static

CALLS = {
    "search, lexical": "select from ragdb.search('manuals', %s, mode => 'lexical')",
    "search, hybrid": "select from ragdb.search('manuals', %s)",
    "retrieve, hybrid": "select ragdb.retrieve('manuals', %s)",
}


def ask(
    dsn: str, call: str, questions: list[str], seconds: float, began: Barrier, done: mp.Queue[int]
) -> None:
    count = 0
    with psycopg.connect(dsn, application_name=waits.NAME, autocommit=True) as db:
        db.execute(call, (questions[-1],))
        began.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            db.execute(call, (questions[count % len(questions)],))
            count += 1
    done.put(count)


def measure(
    dsn: str, call: str, questions: list[str], sessions: int, seconds: float
) -> tuple[float, Counter[str]]:
    """Calls a second, and how often each state was seen."""
    done: mp.Queue[int] = mp.Queue()
    began = mp.Barrier(sessions + 1, timeout=60)
    processes = [
        mp.Process(target=ask, args=(dsn, call, questions[n:], seconds, began, done))
        for n in range(sessions)
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
    flags.add_argument("--sessions", default="1,2,4", help="numbers of sessions")
    flags.add_argument("--chunks", type=int, default=20000)
    flags.add_argument("--seconds", type=float, default=8, help="of each measurement")
    given = flags.parse_args()
    shares = (f"{kind} %" for kind in waits.KINDS)
    heads = ["call", "sessions", "calls/s", "× one", *shares, "locks"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    questions = [record["text"] for record in records("scale_tech_docs", "queries.jsonl")][:300]
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            static.load(Database(db))
            texts = itertools.islice(manuals(), given.chunks)
            fill(db, "manuals", (document(r["_id"], r["text"], title=r["title"]) for r in texts))
        for name, call in CALLS.items():
            one = 0.0
            for sessions in map(int, given.sessions.split(",")):
                rate, seen = measure(dsn, call, questions, sessions, given.seconds)
                one = one or rate / sessions
                cells = [name, sessions, f"{rate:.0f}", f"{rate / one:.2f}", *waits.cells(seen)]
                lines.append(f"| {' | '.join(map(str, cells))} |")
                print(lines[-1], flush=True)
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
