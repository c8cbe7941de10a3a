"""`ragdb init` by several processes at once, as replicas of a deployment do, on one database."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import pytest

from ragdb.server import scripts
from tests.forked import Forked


def at_once(dsn: str, processes: int = 3) -> list[str]:
    """What each init wrote that ended otherwise than with 0, or installed what another had."""
    started = [
        Forked("init", env={**os.environ, "RAGDB_DATABASE_URL": dsn}, stdout=True, is_joined=True)
        for _ in range(processes)
    ]
    said = [(process.communicate(timeout=300)[0], process.returncode) for process in started]
    wrong = [f"exit {code}: {text}" for text, code in said if code or "deadlock" in text]
    found = sum("the schema is current" in text for text, _ in said)
    return wrong if found == processes - 1 else [*wrong, f"{found} found it installed: {said}"]


def rounds(server: Any, count: int) -> None:
    for number in range(count):
        with server.database(template=None) as database:
            dsn = server.dsn(database.dbname)
            assert at_once(dsn) == [], f"round {number + 1}"
            with psycopg.connect(dsn) as db:
                wrong = db.execute("select * from ragdb.check_corpus('system')").fetchall()
                assert wrong == []
                assert scripts.is_current(db)


def test_three_inits_at_once_all_succeed(server18: Any) -> None:
    rounds(server18, 1)


@pytest.mark.nightly
def test_twenty_rounds_of_three_inits_at_once_all_succeed(any_version: Any) -> None:
    rounds(any_version, 20)
