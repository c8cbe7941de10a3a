"""A server that is killed ends every long command soon, with its error and its exit code."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from ragdb.server import embedded
from tests.embedding import make_embedder
from tests.forked import Forked
from tests.ingest.test_crash import kill
from tests.waiting import until

SOON = 40.0  # seconds


@contextmanager
def silent() -> Iterator[str]:
    """The URL of an endpoint that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def fill(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        for corpus in ("docs", "other"):
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
            text = "refunds take fourteen days. " * 40
            db.execute("select ragdb.put_text(%s, 'a', %s)", (corpus, text))
        make_embedder(db)
        db.execute("select ragdb.create_embedder(name => 'away', dims => 64)")
        db.execute("select ragdb.bind_embedder('away', 'openai', 'm')")


def lost(folder: Path, dsn: str, environment: dict[str, str], *arguments: str) -> str:
    """Run a command, kill the server once it is at work; what it said and how soon it ended."""
    given = {**os.environ, "RAGDB_DATABASE_URL": dsn, **environment}
    process = Forked(*arguments, env=given, stdout=True, is_joined=True)
    try:
        with psycopg.connect(dsn, autocommit=True) as db:
            until(
                lambda: db.execute(
                    "select from pg_stat_activity where application_name ~ 'ragdb'"
                    " and state = 'idle' and state_change < now() - interval '0.7 s'"
                ).fetchall()
            )
        kill(folder)
        began = time.monotonic()
        try:
            said, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{arguments[0]} went on for 120 s") from None
        took = time.monotonic() - began
        assert took < SOON, f"{arguments[0]} went on for {took:.0f} s\n{said}"
        assert process.returncode == 3, said
        assert "ragdb: " in said
        assert "Traceback" not in said
        return said
    finally:
        process.kill()
        process.wait()


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "arguments",
    [
        ("reembed", "docs", "--model", "away"),
        ("embed", "other", "--model", "away"),
        ("worker",),
        ("ingest", "URL", "--allow-private", "--corpus", "docs"),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_killed_server_ends_the_command(killable: Path, arguments: tuple[str, ...]) -> None:
    dsn = embedded.dsn(killable)
    with psycopg.connect(dsn) as db:
        ready = db.execute("select from ragdb.list_corpora() where name = 'docs'").fetchall()
    if not ready:
        fill(dsn)
    with silent() as url:
        asked = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}
        lost(killable, dsn, asked, *(url if part == "URL" else part for part in arguments))
