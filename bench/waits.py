"""Many sessions at the same work: how much more they do than one, and what they wait for."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from typing import Any

import psycopg

from bench.common import Connection

NAME = "bench session"
KINDS = ("running", "Lock", "LWLock", "IO", "IPC", "open")
SAMPLE = """
select case when a.state = 'active' then coalesce(a.wait_event_type, 'running')
    when a.state is null or a.state = 'idle' then null else 'open' end,
  a.wait_event_type || ' ' || a.wait_event
from pg_stat_activity a where a.application_name = %s
"""
# what a session does again and again, with the number of the turn and what it was given
Turn = Callable[..., Any]


def table(label: str, sessions: str, turns: str) -> list[str]:
    """The head of a table of `lines`."""
    heads = [label, sessions, f"{turns}/s", "× one", *(f"{kind} %" for kind in KINDS), "locks"]
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]


def lines(
    dsn: str,
    label: object,
    turn: Turn,
    numbers: str,
    given: Callable[[int], list[Any]],
    seconds: float,
) -> Iterator[str]:
    """A row for each number of sessions, which take turns for so many seconds.

    `given` returns what each of so many sessions is given: a list of arguments.
    """
    one = 0.0
    for number in map(int, numbers.split(",")):
        rate, seen = measure(dsn, turn, given(number), seconds)
        one = one or rate / number
        total = sum(seen[state] for state in seen if " " not in state)
        shares = [f"{100 * seen[kind] / total:.1f}" for kind in KINDS]
        locks = ", ".join(sorted(name for name in seen if " " in name)) or "none"
        cells = [label, number, f"{rate:.1f}", f"{rate / one:.2f}", *shares, locks]
        line = f"| {' | '.join(map(str, cells))} |"
        print(line, flush=True)
        yield line


def measure(dsn: str, turn: Turn, given: list[Any], seconds: float) -> tuple[float, Counter[str]]:
    """Turns a second of as many sessions, and how often each state was seen.

    What they are at is sampled a hundred times a second: `Lock` is a lock or a row that another
    transaction holds, `open` a transaction that does nothing. Each lock is counted by its name
    too, which has a blank in it.
    """
    done: mp.Queue[int] = mp.Queue()
    began = mp.Barrier(len(given) + 1, timeout=60)
    processes = [
        mp.Process(target=_take_turns, args=(dsn, turn, one, seconds, began, done)) for one in given
    ]
    for process in processes:
        process.start()
    seen: Counter[str] = Counter()
    with psycopg.connect(dsn, autocommit=True) as db:
        began.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for state, event in db.execute(SAMPLE, (NAME,)):
                if state:
                    seen[state] += 1
                if state == "Lock":
                    seen[event] += 1
            time.sleep(0.01)
    count = sum(done.get() for _ in processes)
    for process in processes:
        process.join()
    return count / seconds, seen


def _take_turns(
    dsn: str, turn: Turn, given: list[Any], seconds: float, began: Barrier, done: mp.Queue[int]
) -> None:
    count = 0
    db: Connection
    with psycopg.connect(dsn, application_name=NAME, autocommit=True) as db:
        began.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            turn(db, count, *given)
            count += 1
    done.put(count)
