"""What the sessions of a bench are at while they run: running, or what they wait for."""

from __future__ import annotations

import time
from collections import Counter

import psycopg

NAME = "bench session"
KINDS = ("running", "Lock", "LWLock", "IO", "IPC", "open")
SAMPLE = """
select case when a.state = 'active' then coalesce(a.wait_event_type, 'running')
    when a.state is null or a.state = 'idle' then null else 'open' end,
  a.wait_event_type || ' ' || a.wait_event
from pg_stat_activity a where a.application_name = %s
"""


def sampled(dsn: str, seconds: float) -> Counter[str]:
    """How often each state of the sessions called NAME was seen, a hundred times a second.

    `Lock` is a lock or a row that another transaction holds, `open` a transaction that does
    nothing. Each lock is counted by its name too, which has a blank in it.
    """
    seen: Counter[str] = Counter()
    with psycopg.connect(dsn, autocommit=True) as db:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for state, event in db.execute(SAMPLE, (NAME,)):
                if state:
                    seen[state] += 1
                if state == "Lock":
                    seen[event] += 1
            time.sleep(0.01)
    return seen


def cells(seen: Counter[str]) -> list[str]:
    """The share of each of KINDS in percent, and the names of the locks."""
    total = sum(seen[state] for state in seen if " " not in state)
    shares = [f"{100 * seen[kind] / total:.1f}" for kind in KINDS]
    return [*shares, ", ".join(sorted(name for name in seen if " " in name)) or "none"]
