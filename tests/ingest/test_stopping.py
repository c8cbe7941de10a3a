"""Ctrl-C is heard at once, never breaks a statement in two, and ends with 130."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import tomllib
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.cli.session import Session
from ragdb.ingest import ingest as driver
from ragdb.ingest.pool import Pool, Waiting
from ragdb.ingest.reading import Outcome, Task
from ragdb.ingest.source import Source
from ragdb.ingest.stopping import Left, Signals
from ragdb.models.worker import Worker
from tests.conftest import Connection
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("hears_ctrl_c")


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, clone: str) -> CliRunner:
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    return CliRunner()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\nIt is short.\n")
    return path


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("where", ["sent", "done"])
def test_ctrl_c_in_the_middle_of_a_statement_exits_with_130(
    runner: CliRunner, note: Path, clone: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    put = ragdb.Database.put_documents

    def interrupted(self: Any, *given: Any) -> Any:
        if where == "sent":
            # a statement that runs, of which nobody has taken the answer
            self.connection.pgconn.send_query(b"select pg_sleep(300)")
            interrupt()
            time.sleep(0.5)
            while self.connection.pgconn.is_busy():
                select.select([self.connection], [], [], 1)
                self.connection.pgconn.consume_input()
            while self.connection.pgconn.get_result():
                pass
        rows = put(self, *given)
        interrupt()
        return rows

    monkeypatch.setattr(ragdb.Database, "put_documents", interrupted)
    began = time.monotonic()
    done = runner.invoke(app, ["ingest", str(note), "-c", "docs"])
    assert done.exit_code == 130, done.output
    assert "stopping" in done.stderr
    assert "another command" not in done.stderr
    assert time.monotonic() - began < 120
    with ragdb.connect(clone) as database:
        made = database.list_corpora()
        # the document and its corpus, or neither
        assert [corpus.documents for corpus in made] in ([], [1])
        assert made == [] or database.check_corpus("docs") == []


def test_an_error_that_ctrl_c_left_behind_exits_with_130(
    runner: CliRunner, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any) -> Any:
        try:
            raise KeyboardInterrupt
        finally:
            raise psycopg.OperationalError("another command is already in progress")

    monkeypatch.setattr(driver.Run, "_ensure_corpus", interrupted)
    done = runner.invoke(app, ["ingest", str(note), "-c", "docs"])
    assert done.exit_code == 130, done.output


def test_a_statement_is_cancelled_in_the_server(db: Connection) -> None:
    said: list[str] = []
    began = time.monotonic()

    def run() -> None:
        with Signals(db, said.append):
            db.execute("select pg_sleep(0)")
            interrupt()
            db.execute("select pg_sleep(300)")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert said == ["stopping"]
    assert time.monotonic() - began < 120
    # and the next one is not
    db.rollback()
    assert db.execute("select 1").fetchone() == (1,)


def test_what_cannot_be_cancelled_is_said_once(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []

    def refused(**how: Any) -> None:
        tried.append(how)
        raise psycopg.OperationalError("no route to host")

    said: list[str] = []

    def run() -> None:
        with Signals(db, said.append):
            interrupt()
            until(lambda: len(tried) > 2)

    monkeypatch.setattr(db, "cancel_safe", refused)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert said == [
        "stopping", "the statement that runs could not be cancelled: no route to host",
    ]  # fmt: skip


def test_a_job_in_the_background_goes_on_after_ctrl_c(
    runner: CliRunner, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `ragdb … &` in a script, which Ctrl-C ends."""
    put, work = ragdb.Database.put_documents, Worker.run
    heard: list[Any] = []

    def put_in_background(self: Any, *given: Any) -> Any:
        interrupt()
        return put(self, *given)

    def work_in_background(self: Any) -> Any:
        heard.append(signal.getsignal(signal.SIGINT))
        interrupt()
        return work(self, until="empty")

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    monkeypatch.setattr(ragdb.Database, "put_documents", put_in_background)
    monkeypatch.setattr(Worker, "run", work_in_background)
    for arguments in (["ingest", str(note), "-c", "docs"], ["worker"]):
        done = runner.invoke(app, arguments)
        assert done.exit_code == 0, done.output
        assert "stopping" not in done.stderr
    assert heard == [signal.SIG_IGN]


def test_the_signals_are_given_back(db: Connection) -> None:
    before = signal.getsignal(signal.SIGINT)
    with Signals(db, print):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_at_any_moment_exits_with_130(clone: str, note: Path) -> None:
    environment = {**os.environ, "RAGDB_DATABASE_URL": clone}
    code = (
        "from ragdb.cli import ending; ending.end_at_once(); print('up', flush=True)\n"
        "from ragdb.__main__ import main; main()"
    )
    codes = set()
    for n in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "ingest", str(note), "-c", f"docs{n}"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.15 * n)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
        # Python itself may say that it passed over one in a destructor
        assert "Traceback" not in err.partition("Exception ignored")[0]
        codes.add(process.returncode)
        if process.returncode == 0:
            break  # it was quicker, and is so with more time
    assert 130 in codes
    assert codes <= {130, 0}


def test_ctrl_c_while_python_imports_the_command_line_says_nothing() -> None:
    with Path("pyproject.toml").open("rb") as file:
        module, _, function = tomllib.load(file)["project"]["scripts"]["ragdb"].partition(":")
    code = f"""
import os, signal, sys

class Interrupts:
    @staticmethod
    def find_spec(name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
from {module} import {function}
{function}()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "")


def slow(task: Task, tell: Callable[[float], None] | None = None) -> Outcome:
    time.sleep(300)
    raise AssertionError


class SlowPool(Pool):
    work = staticmethod(slow)


@pytest.mark.nightly
def test_a_worker_stops_reading_when_nobody_wants_it_any_more(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A file of 50 MB was read to its end first."""
    task: Any = None
    pool = SlowPool(2)
    for _ in range(3):
        pool.submit(task)
    time.sleep(0.5)
    began = time.monotonic()
    pool.__exit__(KeyboardInterrupt)
    assert time.monotonic() - began < 120
    assert capfd.readouterr().err == ""


def stubborn(task: Task, tell: Callable[[float], None] | None = None) -> Outcome:
    Path(str(task), str(os.getpid())).touch()
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(300)
    time.sleep(300)
    raise AssertionError


class StubbornPool(Pool):
    work = staticmethod(stubborn)


@pytest.mark.nightly
def test_who_interrupts_again_waits_for_no_worker(tmp_path: Path) -> None:
    """Python takes a thread for ended whose join is interrupted: its workers were never told."""
    task: Any = tmp_path
    pool = StubbornPool(2)
    for _ in range(2):
        pool.submit(task)
    assert pool.executor is not None
    workers = list(pool.executor._processes.values())
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    Timer(1, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        pool.__exit__(KeyboardInterrupt)
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL] * 2


@pytest.mark.nightly
def test_ctrl_c_of_a_terminal_does_not_end_what_is_to_fork_workers() -> None:
    code = """
import os, signal, threading, time
from multiprocessing import forkserver
from tests.ingest.test_stopping import QuickPool

def tell():
    while forkserver._forkserver._forkserver_pid is None:
        time.sleep(0.001)
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGINT)

threading.Thread(target=tell).start()
with QuickPool(2) as pool:
    print(pool.result(pool.submit(None)).failures)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("[]\n", "", 0)


def quick(task: Task, tell: Callable[[float], None] | None = None) -> Outcome:
    return Outcome()


class QuickPool(Pool):
    work = staticmethod(quick)


def times_out(task: Task, tell: Callable[[float], None] | None = None) -> Outcome:
    raise TimeoutError("of a network")


def test_who_asks_twice_while_a_worker_starts_leaves_none_that_nobody_knows(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It found nothing of its parent's any more, and complained with a traceback."""
    task: Any = None
    executor: Any = ProcessPoolExecutor
    spawn = executor._spawn_process
    known: list[Any] = []

    def interrupted(executor: Any) -> None:
        interrupt()
        interrupt()
        spawn(executor)
        known.extend(executor._processes)

    monkeypatch.setattr(executor, "_spawn_process", interrupted)
    with pytest.raises(KeyboardInterrupt), Signals(db, print) as stop, QuickPool(2, stop) as pool:
        pool.submit(task)
    assert len(known) == 1


class LatePool(Pool):
    work = staticmethod(times_out)


def test_a_task_that_times_out_is_over() -> None:
    task: Any = None
    with LatePool(2) as pool, pytest.raises(TimeoutError, match="of a network"):
        pool.result(pool.submit(task))


def test_a_worker_that_has_nothing_to_read_ends_when_it_is_told_to() -> None:
    """Where one has died, an executor of Python 3.12 or newer waits for the others to end so."""
    task: Any = None
    with QuickPool(2) as pool:
        pool.result(pool.submit(task))
        assert pool.executor is not None
        worker = next(iter(pool.executor._processes.values()))
        worker.terminate()
        worker.join(120)
        assert worker.exitcode is not None


def test_what_is_under_way_is_said_at_a_terminal_and_nowhere_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Session(verb="ingest").doing("connecting"):
        assert "connecting" in capsys.readouterr().err
    assert capsys.readouterr().err == "\x1b[K"
    with Session(verb="ingest", progress=False).doing("connecting"):
        pass
    assert capsys.readouterr().err == ""


def test_a_server_that_goes_is_told_with_what_stays(
    runner: CliRunner, note: Path, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ragdb.Database.put_documents

    def stopped(self: Any, *given: Any) -> Any:
        self.connection.execute("select pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(ragdb.Database, "put_documents", stopped)
    done = runner.invoke(app, ["ingest", str(note), "-c", "docs"])
    assert done.exit_code == 3
    assert "(57P01)" in done.stderr
    assert "run the command again when it is up: what was committed stays" in done.stderr
    monkeypatch.setattr(ragdb.Database, "put_documents", put)
    assert runner.invoke(app, ["ingest", str(note), "-c", "docs"]).exit_code == 0
    # one that never was there is another matter
    monkeypatch.setenv("RAGDB_DATABASE_URL", "postgresql://x@127.0.0.1:1/x")
    assert "hint: start the server, or" in runner.invoke(app, ["corpus", "ls"]).stderr


def test_who_left_takes_nothing_more_that_workers_have_read() -> None:
    read: Future[Outcome] = Future()
    read.set_result(Outcome())
    waiting = Waiting(Task(Source("a.md"), {}), read)
    with Left() as stop:
        assert Pool(2, stop).result(waiting) == Outcome()
    with pytest.raises(CancelledError):
        Pool(2, stop).result(waiting)
