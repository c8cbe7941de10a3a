"""A server killed with -9 during an ingest keeps all committed documents, each of them whole.

A kill loses the memory of the processes, not the page cache of the machine: it shows what was given
to the operating system, and cannot show fsync.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import nullcontext, suppress
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from ragdb.server import embedded
from tests.forked import PROCESSES
from tests.ingest.made_documents import document, everything

DOCUMENTS, BATCH = 120, 6


def batches() -> list[list[dict[str, Any]]]:
    """Every document, and every third again in its second version, which replaces the first."""
    found = []
    for first in range(0, DOCUMENTS, BATCH):
        numbers = range(first, first + BATCH)
        found.append([document(n, 1) for n in numbers])
        found.append([document(n, 2) for n in numbers if n % 3 == 0])
    return found


def ingest(dsn: str, first: int, said: Pipe | None, options: str = "") -> None:
    """Put the batches in order, each with a recorded retrieval in one transaction, and say so."""
    killed = suppress(psycopg.OperationalError) if said else nullcontext()
    with killed, psycopg.connect(dsn, options=options) as db:
        for number, batch in enumerate(batches()[first:], first):
            if said:
                said.send(("began", number, None))
            db.execute("select ragdb.put_documents('docs', %s)", (json.dumps(batch),))
            db.execute("select ragdb.retrieve('docs', 'common', 3, client => %s)", (str(number),))
            ((trace_id,),) = db.execute("select ragdb.last_trace_id()").fetchall()
            db.commit()
            if said:
                said.send(("committed", number, trace_id))


def kill(folder: Path) -> None:
    """End every process of a server at once; none of them can write or say anything more."""
    running = embedded.status(folder)
    assert running is not None
    postmaster = psutil.Process(running.pid)
    postmaster.suspend()  # or it would start new ones
    processes = [*postmaster.children(recursive=True), postmaster]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=120)


class Crashes:
    """A server, what it acknowledged, and how often it was killed in the middle of something."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.dsn = embedded.dsn(folder)
        self.committed = -1
        self.traces: set[Any] = set()
        self.in_the_middle = 0

    def interrupt(self, options: str = "") -> None:
        """Ingest in another process, on from the last committed batch, and kill the server."""
        hears, says = PROCESSES.Pipe(duplex=False)
        child = PROCESSES.Process(
            target=ingest, args=(self.dsn, self.committed + 1, says, options), daemon=True
        )
        child.start()
        says.close()
        open_batch, left = False, self.random.randint(1, 4)
        until: float | None = None
        with suppress(EOFError):
            while True:
                wait = None if until is None else max(0.0, until - time.monotonic())
                if until is not None and not hears.poll(wait):
                    kill(self.folder)
                    until = None
                    continue
                what, number, trace_id = hears.recv()
                open_batch = what == "began"
                if what == "committed":
                    self.committed = number
                    self.traces.add(trace_id)
                    left -= 1
                if left == 0 and what == "began":
                    until = time.monotonic() + self.random.uniform(0, 0.06)
        self.in_the_middle += open_batch
        child.join(120)
        if embedded.status(self.folder) is not None:  # the ingest was done before
            kill(self.folder)

    def recover(self) -> list[str]:
        """Start the server again and return what is wrong with what it holds."""
        embedded.start(self.folder)
        wrong = []
        with psycopg.connect(self.dsn) as db:
            wrong += [str(row) for row in db.execute("select * from ragdb.check_corpus('docs')")]
            held = contents(db)
            acknowledged, next_one = expected(self.committed), expected(self.committed + 1)
            # the batch in flight was committed, or nothing of it: its answer may have been lost
            if held not in (acknowledged, next_one):
                lost = sorted(acknowledged.keys() - held.keys())
                wrong.append(
                    f"not the state after batch {self.committed} or the next; lost: {lost}"
                )
            elif held == next_one != acknowledged:
                self.committed += 1
            for trace_id in self.traces:
                try:
                    intact = db.execute(
                        "select bool_and(is_intact) from ragdb.verify_trace(%s)"
                        " where subject = 'record'",
                        (trace_id,),
                    )
                    if intact.fetchall() != [(True,)]:
                        wrong.append(f"trace {trace_id} was changed")
                except psycopg.DatabaseError as error:
                    db.rollback()
                    wrong.append(f"trace {trace_id}: {error.sqlstate}")
        return wrong


def expected(last: int) -> dict[str, list[str]]:
    """What the corpus holds after the batches up to one: texts of the chunks by source."""
    held: dict[str, list[str]] = {}
    for batch in batches()[: last + 1]:
        for put in batch:
            held[put["uri"]] = [chunk["text"] for chunk in put["chunks"]]
    return held


def contents(db: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """What the tables hold, by a plain join of our own."""
    db.execute("set role ragdb_owner")
    rows = db.execute(
        "select s.uri, array_agg(c.text order by c.ordinal) from ragdb.document_sources s"
        " join ragdb.chunks c using (corpus_id, doc_no) join ragdb.corpora o using (corpus_id)"
        " where o.name = 'docs' group by s.uri"
    ).fetchall()
    db.execute("reset role")
    return dict(rows)


def make_corpus(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        db.execute("select ragdb.create_corpus('docs')")


def drop_corpus(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        db.execute("select ragdb.drop_corpus('docs')")


@pytest.mark.parametrize(
    "kills",
    [3, pytest.param(200, marks=pytest.mark.nightly)],
    ids=["three-kills", "two-hundred-kills"],
)
def test_no_kill_leaves_half_a_document_or_loses_an_acknowledged_one(
    killable: Path, kills: int
) -> None:
    crashes = Crashes(killable, seed=kills)
    make_corpus(crashes.dsn)
    ingest(crashes.dsn, 0, None)
    clean = everything(crashes.dsn)
    drop_corpus(crashes.dsn)
    make_corpus(crashes.dsn)
    for _ in range(kills):
        if crashes.committed + 1 == len(batches()):
            assert everything(crashes.dsn) == clean
            drop_corpus(crashes.dsn)
            make_corpus(crashes.dsn)
            crashes.committed, crashes.traces = -1, set()
        crashes.interrupt()
        assert crashes.recover() == []
    assert crashes.in_the_middle >= kills // 3  # the kills came where they should
    ingest(crashes.dsn, 0, None)  # from the beginning: what is there already is left as it is
    assert everything(crashes.dsn) == clean
    drop_corpus(crashes.dsn)


def test_the_check_sees_acknowledged_documents_that_are_lost(killable: Path) -> None:
    """The control: without synchronous_commit the server acknowledges what only its memory has."""
    crashes = Crashes(killable, seed=1)
    make_corpus(crashes.dsn)
    with psycopg.connect(embedded.start(killable), autocommit=True) as admin:
        admin.execute("alter system set wal_writer_delay = '10s'")
        admin.execute("select pg_reload_conf()")
    try:
        for _ in range(5):
            crashes.interrupt("-c synchronous_commit=off")
            # under load only the record of a search may be lost at first, or a document's new text
            if any("lost: ['docs/" in line for line in crashes.recover()):
                return
    finally:
        with psycopg.connect(embedded.start(killable), autocommit=True) as admin:
            admin.execute("alter system reset wal_writer_delay")
        drop_corpus(crashes.dsn)
    pytest.fail("five kills without synchronous_commit lost nothing, so the test would see no loss")


def test_the_check_sees_half_a_document(clone: str) -> None:
    """The other control: a chunk taken away by hand."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("select ragdb.put_documents('docs', %s)", (json.dumps(batches()[0]),))
        assert db.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
        db.execute("delete from ragdb.chunks where ordinal = 1 and doc_no = 2")
        checks = {row[0] for row in db.execute("select * from ragdb.check_corpus('docs')")}
    assert "documents whose chunks are not all there" in checks
