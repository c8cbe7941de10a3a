"""`ragdb init` beside a running server."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest

from tests.forked import run_forked
from tests.http.conftest import Api
from tests.waiting import until

Start = Callable[..., Api]


@contextmanager
def asking(api: Api) -> Any:
    """Search and trace all the while; counts the statuses of the answers."""
    counts: Counter[int] = Counter()
    done = threading.Event()

    def ask() -> None:
        pause = 0.2  # or three of them take both cores from the init
        while not done.wait(pause):
            asked = time.monotonic()
            path = "/api/rag/search/global?corpus=docs&query=refunds&mode=lexical"
            counts[api("GET", path).status] += 1
            # where the machine is busy, too
            pause = max(0.2, 5 * (time.monotonic() - asked))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        yield counts
    finally:
        done.set()
        for asker in askers:
            asker.join(120)


def init(dsn: str, *flags: str) -> str:
    environment = {**os.environ, "RAGDB_DATABASE_URL": dsn}
    done = run_forked("init", *flags, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_init_of_a_current_schema_disturbs_no_request(start: Start) -> None:
    api = start()
    with asking(api) as counts:
        until(lambda: counts.total() >= 3)
        assert "the schema is current" in init(api.dsn)
        before = counts.total()
        until(lambda: counts.total() >= before + 3)
    assert set(counts) == {200}, counts


@pytest.mark.nightly
def test_a_reload_beside_a_server_ends_and_leaves_it_well(start: Start) -> None:
    api = start()
    with asking(api) as counts:
        assert "the schema was installed" in init(api.dsn, "--force")
    # a request may meet functions that are being replaced: it is told to come again
    assert set(counts) <= {200, 503}, (counts, [line for line in api.lines if "{" not in line])
    with asking(api) as after:
        until(lambda: after.total() >= 10)
    assert set(after) == {200}, after


@pytest.mark.nightly
def test_ten_reloads_beside_a_server_end_and_leave_it_well(start: Start) -> None:
    api = start()
    with asking(api) as counts:
        for _ in range(10):
            init(api.dsn, "--force")
    assert set(counts) <= {200, 503}, (counts, [line for line in api.lines if "{" not in line])
