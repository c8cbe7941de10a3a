"""While a batch is written, the next is read; and what goes wrong on either side ends both."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, main_thread
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.errors import NotAuthorized
from ragdb.ingest import drift, pool, reading
from ragdb.ingest import ingest as driver
from tests.ingest.test_stopping import interrupt

NAMES = ["a.md", "b.md", "c.md", "d.md", "e.md"]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five files, of which two make a batch."""
    monkeypatch.setattr(driver, "FIRST_DOCUMENTS", 2)
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)
    for name in NAMES:
        (tmp_path / name).write_text(f"# Note\n\nThis is {name}.\n")
    return tmp_path


def meet(
    monkeypatch: pytest.MonkeyPatch, put: Callable[..., Any], read: Callable[[str], None]
) -> None:
    """Have `put` called in place of the first put, and `read` before each file is read."""
    real_put, real_read = ragdb.Database.put_documents, reading.read
    calls: list[Any] = []

    def puts(self: Any, *given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            put(self)
        return real_put(self, *given)

    def reads(task: reading.Task, tell: Any = None) -> reading.Outcome:
        read(Path(task.source.uri).name)
        return real_read(task, tell)

    monkeypatch.setattr(ragdb.Database, "put_documents", puts)
    monkeypatch.setattr(pool.Pool, "work", staticmethod(reads))


def test_the_next_batch_is_read_while_one_is_written(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read = Event()
    met: list[bool] = []
    meet(
        monkeypatch,
        put=lambda db: met.append(is_read.wait(120)),
        read=lambda name: is_read.set() if name == "d.md" else None,
    )
    told: list[Any] = []
    with ragdb.connect(clone) as db:
        report = db.ingest(
            notes, corpus="docs", progress=lambda now: told.append((now.chunks, main_thread()))
        )
        assert met == [True]
        assert [file.chunks for file in report.files] == [1] * 5
        rows = db.connection.execute("select source from ragdb.chunks order by chunk_no").fetchall()
    assert [Path(source).name for (source,) in rows] == NAMES
    assert told[-1][0] == 5


def test_the_first_batch_has_fewer_documents(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 4)
    put, sizes = ragdb.Database.put_documents, []

    def puts(self: Any, *given: Any) -> Any:
        rows = put(self, *given)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(ragdb.Database, "put_documents", puts)
    with ragdb.connect(clone) as db:
        assert db.ingest(notes, corpus="docs").documents == 5
    assert sizes == [2, 3]


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_one_is_read_ends_what_is_written(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_sent = Event()

    def put(db: Any) -> None:
        is_sent.set()
        db.connection.execute("select pg_sleep(300)")

    def read(name: str) -> None:
        if name == "d.md":
            assert is_sent.wait(120)
            time.sleep(0.2)
            interrupt()

    meet(monkeypatch, put, read)
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    began = time.monotonic()
    done = CliRunner().invoke(app, ["ingest", str(notes), "-c", "docs", "--workers", "1"])
    assert done.exit_code == 130, done.output
    assert "another command" not in done.stderr
    assert time.monotonic() - began < 120
    with ragdb.connect(clone) as db:
        assert db.list_corpora() == []


def test_a_batch_that_cannot_be_written_ends_the_run(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(db: Any) -> None:
        raise NotAuthorized("not today")

    read: list[str] = []
    meet(monkeypatch, put, read.append)
    with ragdb.connect(clone) as db:
        with pytest.raises(NotAuthorized, match="not today"):
            db.ingest(notes, corpus="docs")
        assert db.list_corpora() == []
    assert read == NAMES[:4]


def test_a_run_in_a_transaction_of_the_caller_stays_in_it(clone: str, notes: Path) -> None:
    with psycopg.connect(clone) as connection:
        report = ragdb.Database(connection).ingest(notes, corpus="docs")
        assert report.documents == 5
        connection.rollback()
        assert ragdb.Database(connection).list_corpora() == []


def test_a_run_does_what_one_before_it_did_not_come_to_after_its_last_batch(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "MANY", 3)
    (notes / "long.md").write_text("This note has many more words than each of them has. " * 9)
    found = "select source, score from ragdb.search(%s, 'note a.md') order by source"
    with ragdb.connect(clone) as db:
        assert db.ingest(notes, corpus="undisturbed").optimized
        with monkeypatch.context() as killed:
            lost = psycopg.OperationalError("the server has closed the connection")
            killed.setattr(driver, "optimize", Mock(side_effect=lost))
            with pytest.raises(psycopg.OperationalError):
                db.ingest(notes, corpus="docs")
        assert db.corpus_info("docs").documents == 6
        again = db.ingest(notes, corpus="docs")
        assert (again.written, again.optimized) == (0, True)
        assert db.corpus_info("docs").pivot == db.corpus_info("undisturbed").pivot
        hits = [
            db.connection.execute(found, (name,)).fetchall() for name in ("docs", "undisturbed")
        ]
        assert hits[0] == hits[1] != []
        assert not db.ingest(notes, corpus="docs").optimized


def state(db: ragdb.Database) -> TransactionStatus:
    return db.connection.info.transaction_status


def test_the_index_of_vectors_stays_where_a_run_is_lost_while_it_optimizes(
    clone: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "MANY", 3)
    lost = psycopg.OperationalError("the server has closed the connection")
    indexed = []
    monkeypatch.setattr(ragdb.Database, "corpus_embedder", lambda *_: Mock(provider="static"))
    monkeypatch.setattr(ragdb.Database, "index_space", lambda db, _: indexed.append(state(db)))
    monkeypatch.setattr(ragdb.Database, "optimize_corpus", Mock(side_effect=lost))
    with ragdb.connect(clone) as db:
        with pytest.raises(psycopg.OperationalError):
            db.ingest(notes, corpus="docs")
        assert db.corpus_info("docs").new_chunks == 5
    assert indexed == [TransactionStatus.IDLE]


def test_a_run_that_finds_nothing_new_writes_nothing(clone: str, notes: Path) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("whole")
        db.create_corpus("part", part_of="whole")
        for corpus in ("part", "alone"):
            assert db.ingest(notes, corpus=corpus).written == 5
        before = db.list_corpora()
        for corpus in ("part", "alone"):
            assert db.ingest(notes, corpus=corpus).written == 0
        assert db.list_corpora() == before
