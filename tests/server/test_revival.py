"""Programs that run for long start the server that ragdb brings again where it died."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.server import embedded, postgres, reviving
from ragdb.server.postgres import EmbeddedError
from ragdb.server.settings import LIBPQ
from tests.embedding import make_embedder
from tests.forked import Forked
from tests.ingest.test_crash import kill
from tests.waiting import until

GIVEN = ("RAGDB_DATABASE_URL", "DATABASE_URL", *LIBPQ)
AGAIN = "was gone, and runs again"
MCP = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "list_corpora", "arguments": {}},
}  # fmt: skip


@dataclass
class Running:
    """A program that was given no connection, and what it says."""

    process: Forked
    lines: list[str] = field(default_factory=list)

    def url(self) -> str:
        """Where it listens, or the site of the link that it prints."""
        said = until(
            lambda: [word for line in self.lines for word in line.split() if "://" in word]
        )
        return "/".join(said[0].rstrip(",").split("/")[:3])

    def said(self, words: str) -> int:
        return sum(words in line for line in self.lines)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Running]:
    given = {name: value for name, value in os.environ.items() if name not in GIVEN}
    given["RAGDB_HOME"] = str(folder.parent)
    program = Running(Forked(*arguments, env=given, stdout=True, is_joined=True))
    out = program.process.stdout
    assert out is not None

    def follow() -> None:
        for line in out:
            program.lines.append(line)

    follows = threading.Thread(target=follow, daemon=True)
    follows.start()
    try:
        yield program
    finally:
        program.process.terminate()
        program.process.wait(120)
        follows.join()
        for file in (out, program.process.stderr):
            file.close()


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/ready", timeout=120) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False


def listed(url: str) -> Any:
    """What the tools of models answer; an error is told in the same form."""
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    asked = urllib.request.Request(f"{url}/mcp", json.dumps(MCP).encode(), head)
    with urllib.request.urlopen(asked, timeout=120) as answer:
        return json.load(answer)["result"]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "arguments", [("serve", "--port", "0"), ("studio",)], ids=["serve", "studio"]
)
def test_a_site_starts_a_server_that_died(killable: Path, arguments: tuple[str, ...]) -> None:
    embedded.dsn(killable)
    with running(killable, *arguments) as site:
        url = site.url()
        until(lambda: is_ready(url))
        kill(killable)
        until(lambda: is_ready(url))
        assert site.said(AGAIN) == 1, site.lines


@pytest.mark.nightly
def test_tools_of_models_start_a_server_that_died(killable: Path) -> None:
    embedded.dsn(killable)
    with running(killable, "mcp", "--transport", "http", "--port", "0") as tools:
        url = tools.url()
        assert not listed(url).get("isError")
        kill(killable)
        until(lambda: not listed(url).get("isError"))
        assert tools.said(AGAIN) == 1, tools.lines


@pytest.mark.nightly
def test_a_worker_starts_a_server_that_died_and_goes_on(killable: Path) -> None:
    dsn = embedded.dsn(killable)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('worked')")
        make_embedder(db)
        db.execute("select ragdb.embed_corpus('worked', 'hash')")
    with running(killable, "worker") as worker:
        until(lambda: worker.said("waits for work") == 1)
        kill(killable)
        until(lambda: worker.said("waits for work") == 2)
        assert worker.said(AGAIN) == 1, worker.lines
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.put_text('worked', 'a', 'refunds take fourteen days')")
            coverage = "select embedded from ragdb.embedding_status('worked')"
            until(lambda: db.execute(coverage).fetchone() == (1,))


@pytest.mark.nightly
def test_a_watch_starts_a_server_that_died_and_goes_on(killable: Path, tmp_path: Path) -> None:
    dsn = embedded.dsn(killable)
    held = "select distinct source from ragdb.chunks where source like 'w/%' order by source"

    def holds(*sources: str) -> None:
        with psycopg.connect(dsn, autocommit=True) as db:
            until(lambda: [source for (source,) in db.execute(held)] == [*sources])

    (tmp_path / "a.txt").write_text("Refunds take fourteen days.")
    (tmp_path / "b.txt").write_text("Returns are free.")
    asked = ("ingest", str(tmp_path), "-c", "watched", "--prefix", "w", "--watch", "--prune")
    with running(killable, *asked) as watch:
        holds("w/a.txt", "w/b.txt")
        kill(killable)
        (tmp_path / "b.txt").unlink()
        until(lambda: watch.said(AGAIN) == 1)
        holds("w/a.txt")
        (tmp_path / "c.txt").write_text("Exchanges are free, too.")
        holds("w/a.txt", "w/c.txt")


def test_a_server_that_was_stopped_stays_so(killable: Path) -> None:
    embedded.dsn(killable)
    with running(killable, "serve", "--port", "0") as site:
        url = site.url()
        until(lambda: is_ready(url))
        assert embedded.stop(killable)
        for _ in range(3):
            assert not is_ready(url)
        assert embedded.status(killable) is None
        embedded.start(killable)
        until(lambda: is_ready(url))
        assert site.said(AGAIN) == 0, site.lines


def test_a_data_folder_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    assert not embedded.revive(tmp_path / "pg18")
    assert not (tmp_path / "pg18").exists()


def test_a_server_that_cannot_start_is_tried_once_in_a_while(
    killable: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever asks meanwhile is told at once, in however many threads."""
    monkeypatch.setenv("RAGDB_HOME", str(killable.parent))
    embedded.start(killable)
    kill(killable)
    tried, now = [], 1000.0

    def launch(*_: object) -> None:
        tried.append(now)
        raise EmbeddedError("the server does not start:\nno space left")

    monkeypatch.setattr(embedded, "launch", launch)
    monkeypatch.setattr(reviving, "monotonic", lambda: now)
    revive = reviving.Reviver()
    threads = [threading.Thread(target=revive) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not revive()
    assert tried == [now]
    assert [record.getMessage() for record in caplog.records] == [
        "the server does not start: no space left; `ragdb doctor` looks for the cause"
    ]
    now += reviving.PAUSE
    assert not revive()
    assert len(tried) == 2
    monkeypatch.setattr(embedded, "launch", postgres.launch)
    embedded.start(killable)
    assert revive()


def test_a_server_that_dies_again_and_again_is_started_once_in_a_while(
    killable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_HOME", str(killable.parent))
    now = 1000.0
    monkeypatch.setattr(reviving, "monotonic", lambda: now)
    revive = reviving.Reviver()
    embedded.start(killable)
    kill(killable)
    for _ in range(2):
        assert revive()
        kill(killable)
        assert not revive()
        now += reviving.PAUSE
    assert revive()


def test_the_file_of_a_server_says_whether_it_died(killable: Path) -> None:
    embedded.start(killable)
    assert not embedded.revive(killable)
    kill(killable)
    assert embedded.revive(killable)
    embedded.stop(killable)
    assert not embedded.revive(killable)
    embedded.start(killable)


@pytest.mark.parametrize(
    ("state", "died"),
    [("shut down in recovery", False), ("shutting down", False), ("in crash recovery", True)],
)
def test_one_that_was_killed_while_it_stopped_stays_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, died: bool
) -> None:
    lock, started = threading.Lock(), []
    (tmp_path / "PG_VERSION").touch()
    said = f"Catalog version number: 1\nDatabase cluster state:               {state}\n"
    monkeypatch.setattr(embedded, "run", lambda *_: subprocess.CompletedProcess([], 0, said))
    monkeypatch.setattr(embedded, "_lock", lambda _: lock)
    # who stops it holds the lock until the file says so
    monkeypatch.setattr(embedded, "launch", lambda *_: started.append(lock.locked()))
    assert embedded.revive(tmp_path) == died
    assert started == [True] * died
