"""A server killed with -9 while it seals loses nothing that was noted, and leaves no gap."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from ragdb.server import embedded
from tests.ingest.test_crash import kill

NOTE = (
    "insert into ragdb.ledger_pending"
    " select 'x', '1/' || %s::text || '-' || n, sha256(int4send(n)) from generate_series(1, 10) n"
)


def write(dsn: str, turn: int, acknowledged: list[str]) -> None:
    """Note rows until the server dies."""
    with suppress(psycopg.Error), psycopg.connect(dsn, autocommit=True) as db:
        for n in range(100_000):
            db.execute(NOTE, (f"{turn}-{n}",))
            acknowledged.append(f"{turn}-{n}")
            time.sleep(0.005)  # or a fast machine notes more than is verified in a minute


def seal(dsn: str, sizes: list[int]) -> None:
    """Seal until the server dies, some a transaction."""
    with suppress(psycopg.Error), psycopg.connect(dsn, autocommit=True) as db:
        while True:
            ((size,),) = db.execute("select size from ragdb.seal_ledger(80)").fetchall()
            sizes.append(size)


@pytest.mark.parametrize(
    "kills",
    # the second finds again the root that was seen after the first
    [2, pytest.param(20, marks=pytest.mark.nightly)],
    ids=["two-kills", "twenty-kills"],
)
def test_no_kill_loses_a_note_or_leaves_a_gap(killable: Path, kills: int) -> None:
    dsn, chance = embedded.dsn(killable), random.Random(kills)
    acknowledged: list[str] = []
    sizes: list[int] = [0]
    roots: dict[int, bytes] = {}
    for turn in range(kills):
        threads = [
            threading.Thread(target=write, args=(dsn, kills * 100 + turn, acknowledged)),
            threading.Thread(target=seal, args=(dsn, sizes)),
        ]
        for thread in threads:
            thread.start()
        # something is sealed in this turn, however busy the machine is
        sealed_before = len(sizes)
        while len(sizes) == sealed_before or not sizes[-1]:
            assert any(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.9))
        kill(killable)
        for thread in threads:
            thread.join(120)
        embedded.start(killable)
        with psycopg.connect(dsn, autocommit=True) as db:
            ((size, root),) = db.execute(
                "select size, ragdb.ledger_root() from ragdb.ledger_status()"
            ).fetchall()
            # what was acknowledged is there, and every root that was seen before still is
            assert size >= sizes[-1]
            for old, seen in roots.items():
                assert db.execute("select ragdb.ledger_root(%s)", (old,)).fetchall() == [(seen,)]
            roots[size] = root
            found = db.execute(
                "select finding, count(*) from ragdb.verify_ledger()"
                " where finding <> 'row_missing' group by 1"
            ).fetchall()
            assert found == []
            assert [
                row
                for row in db.execute("select severity, finding from ragdb.verify()")
                if row[0] == "error" and not row[1].startswith("row_missing")
            ] == []
    assert sizes[-1] > 0
    with psycopg.connect(dsn, autocommit=True) as db:
        while not db.execute("select is_done from ragdb.seal_ledger()").fetchall()[0][0]:
            pass
        rows = db.execute("select number, id from ragdb.ledger_leaves order by number").fetchall()
    assert [number for number, _ in rows] == list(range(len(rows)))
    sealed = {id for _, id in rows}
    lost = {f"1/{name}-{n}" for name in acknowledged for n in range(1, 11)} - sealed
    assert lost == set()
    assert len(sealed) == len(rows)
