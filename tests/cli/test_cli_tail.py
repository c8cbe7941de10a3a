"""`ragdb trace tail` shows each retrieval once, and goes on where it ended."""

from __future__ import annotations

import io
import json
import os
import signal
from collections import deque
from datetime import timedelta

import psycopg
from rich.console import Console

from ragdb import connect
from ragdb.cli.tail import Feed, quantile, view
from tests.forked import Forked


def tail(dsn: str, *args: str) -> Forked:
    environment = {**os.environ, "RAGDB_DATABASE_URL": dsn}
    return Forked("trace", "tail", "--interval", "0.1", *args, env=environment, stdout=True)


def test_a_tail_prints_lines_ends_with_130_and_goes_on_where_it_ended(clone: str) -> None:
    with connect(clone) as db:
        db.connection.autocommit = True
        db.put_text("docs", "a.txt", "A fox.")
        first = str(db.retrieve("docs", "fox").trace_id)
        running = tail(clone, "--after", first)
        second = str(db.retrieve("docs", "dog").trace_id)
        assert running.stdout is not None
        line = running.stdout.readline().split()
        assert line[1:] == [second[:13], "docs", "lexical", "0", *line[5:7], "ok", "dog"]
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=120)
        assert (running.returncode, rest) == (130, "")
        assert f"go on with --after {second}" in said
        assert "interrupted" in said
        # what came while nobody looked
        third = [str(db.retrieve("docs", word).trace_id) for word in ("fox", "cat")]
        again = tail(clone, "--after", second, "--count", "2", "--corpus", "docs")
        told, said = again.communicate(timeout=120)
        assert again.returncode == 0, said
        assert [row.split()[1] for row in told.splitlines()] == [id[:13] for id in third]


def test_a_line_is_an_object_where_that_is_asked_for(clone: str) -> None:
    with connect(clone) as db:
        db.connection.autocommit = True
        db.put_text("docs", "a.txt", "A fox.")
        ids = [str(db.retrieve("docs", "fox").trace_id) for _ in range(3)]
        told, said = tail(
            clone, "--after", ids[0], "--count", "1", "--format", "ndjson"
        ).communicate(timeout=120)
    assert json.loads(told)["id"] == ids[1]
    assert f"go on with --after {ids[1]}" in said


def test_a_trace_that_is_committed_late_is_shown_too(clone: str) -> None:
    with (
        connect(clone) as db,
        psycopg.connect(clone, autocommit=True) as now,
        psycopg.connect(clone) as late,
    ):
        now.execute("select ragdb.create_corpus('docs')")
        feed = Feed(db, "docs", None)
        retrieve = "select from ragdb.retrieve('docs', 'fox')"
        late.execute(retrieve.encode())
        now.execute(retrieve.encode())
        assert len(feed.more()) == 1
        assert db.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        late.commit()
        (found,) = feed.more()
        assert feed.last is not None
        assert found.id < feed.last
        assert feed.more() == []


def test_the_view_has_rate_latency_errors_and_the_latest_first(clone: str) -> None:
    with connect(clone) as db:
        db.create_corpus("docs")
        for query in ("[red]", "fox", "dog"):
            db.retrieve("docs", query)
        db.record_failure("docs", "\x1b[31mcat", "57014", 3)
        traces = list(reversed(db.list_traces("docs")))
    newest = traces[-1].created_at
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(view(deque(traces), newest, rows=2))
    text = console.export_text()
    assert "last minute: 0.1 a second" in text
    assert "errors 1  nothing found 3" in text
    lines = text.splitlines()
    assert "57014" in lines[2]
    assert "dog" in lines[3]
    assert len(lines) == 4
    assert "\x1b" not in text
    console.print(view(deque(traces), newest + timedelta(minutes=2), rows=9))
    assert "last minute: 0.0 a second  p50 / p95 -" in console.export_text()


def test_a_quantile_is_the_least_value_that_enough_do_not_exceed() -> None:
    assert [quantile([3, 1, 2, 4], share) for share in (0.25, 0.5, 0.51, 0.95, 1)] == [
        1,
        2,
        3,
        4,
        4,
    ]
    assert quantile([7], 0.5) == 7
