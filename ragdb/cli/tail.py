"""`ragdb trace tail`: retrievals as they are recorded, as a view on a terminal, else as lines.

It asks for what came after the last trace once an interval, and holds no transaction in between: a
notification for each trace would have writers wait for each other. A trace may be committed after
one with a later id, so each reading begins some seconds before the last and skips what it knows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.ids import trace_id
from ragdb.cli.session import InCorpus, Session
from ragdb.cli.text import clean

if TYPE_CHECKING:
    from uuid import UUID

    from rich.console import Group

    from ragdb.client._generated.rows import RetrievalTraces
    from ragdb.database import Database

LATE = timedelta(seconds=10)
"""How much later than its id a trace may be committed."""
MOST = 10_000
"""Traces that are read at once."""
MINUTE = timedelta(minutes=1)


def trace_tail(
    session: Session,
    corpus: InCorpus = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="TRACE", help="Go on after this trace, as a tail that ended said."),
    ] = None,
    interval: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds between two looks.")
    ] = 1.0,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="End after so many traces.")
    ] = None,
) -> None:
    """Show retrievals as they are recorded: rate, latency, errors and the latest of them.

    On a terminal the view is drawn anew; elsewhere, and with --format, each retrieval is a line.
    Ctrl-C ends it and says how to go on.
    """
    live = session.format == "table" and session.out.is_terminal
    with session.connect() as db:
        feed = Feed(db, corpus, trace_id(db, after) if after else None)
        try:
            if live:
                _draw(session, feed, interval, count)
            else:
                _print(session, feed, interval, count)
        finally:
            if feed.last is not None:
                session.note(f"go on with --after {feed.last}")


class Feed:
    """The traces after one, or after now, in the order of their ids, each once."""

    def __init__(self, db: Database, corpus: str | None, after: UUID | None) -> None:
        self.db, self.corpus, self.last = db, corpus, after
        with db.connection.transaction():
            if after is not None:
                self.since = db.get_trace(after).created_at
                self.known = {t.id for t in self._read() if t.id <= after}
            else:
                # by the clock of the database, which traces have too
                (newest, *_) = [*db.list_traces(corpus, None, 1), None]
                now = datetime.now(UTC) if newest is None else newest.created_at
                self.since = now
                self.known = {t.id for t in self._read()}

    def more(self, most: int | None = None) -> list[RetrievalTraces]:
        """What has come since the last call, so many of it at most."""
        with self.db.connection.transaction():
            found = [t for t in self._read() if t.id not in self.known]
        found = found[::-1][:most]
        if found:
            self.last = max(found[-1].id, self.last) if self.last else found[-1].id
            self.since = max(self.since, found[-1].created_at)
            self.known |= {t.id for t in found}
            self._forget()
        return found

    def _read(self) -> list[Any]:
        return list(self.db.list_traces(self.corpus, self.since - LATE, MOST))

    def _forget(self) -> None:
        """What lies before any reading to come."""
        low = int((self.since - LATE).timestamp() * 1000)
        self.known = {id for id in self.known if id.int >> 80 >= low}


def _arriving(feed: Feed, interval: float, count: int | None) -> Iterator[list[RetrievalTraces]]:
    """Each reading, until so many have come; an empty one keeps a view moving."""
    seen = 0
    while True:
        found = feed.more(None if count is None else count - seen)
        seen += len(found)
        yield found
        if count is not None and seen >= count:
            return
        time.sleep(interval)


def _print(session: Session, feed: Feed, interval: float, count: int | None) -> None:
    from ragdb.client.rows import dumps, record

    for found in _arriving(feed, interval, count):
        for trace in found:
            if session.format == "ndjson":
                print(dumps(record(trace)), flush=True)
            else:
                print("  ".join(_cells(trace)), flush=True)


def _cells(trace: RetrievalTraces) -> list[str]:
    return [
        f"{trace.created_at.astimezone(UTC):%H:%M:%S}",
        str(trace.id)[:13],
        trace.corpus,
        trace.rank_mode or "-",
        str(trace.limit_returned),
        f"{trace.elapsed_ms:.1f} ms",
        trace.error_code or "ok",
        clean(trace.query_text or "")[:80],
    ]


def quantile(values: list[float], share: float) -> float:
    """The least value that this share of the values does not exceed."""
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def view(recent: deque[RetrievalTraces], now: datetime, rows: int) -> Group:
    """What is drawn of the traces of the last minute, and the latest of all."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    lately = [t for t in recent if now - t.created_at <= MINUTE]
    times = [t.elapsed_ms for t in lately if t.error_code is None]
    failed = sum(t.error_code is not None for t in lately)
    empty = sum(t.error_code is None and t.limit_returned == 0 for t in lately)
    latency = f"{quantile(times, 0.5):.1f} / {quantile(times, 0.95):.1f} ms" if times else "-"
    head = (
        f"last minute: {len(lately) / 60:.1f} a second  p50 / p95 {latency}"
        f"  errors {failed}  nothing found {empty}"
    )
    table = Table(box=None, pad_edge=False)
    for title in ("time", "id", "corpus", "mode"):
        table.add_column(title, no_wrap=True)
    for title in ("hits", "took"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("error", no_wrap=True)
    table.add_column("query", no_wrap=True, overflow="ellipsis")
    for trace in list(recent)[-rows:][::-1]:
        table.add_row(*map(Text, _cells(trace)), style="red" if trace.error_code else "")
    return Group(Text(head, style="bold"), table)


def _draw(session: Session, feed: Feed, interval: float, count: int | None) -> None:
    from rich.live import Live

    recent: deque[RetrievalTraces] = deque(maxlen=MOST)
    with Live(console=session.out, auto_refresh=False, screen=False) as live:
        for found in _arriving(feed, interval, count):
            recent.extend(found)
            rows = max(1, session.out.height - 4)
            live.update(view(recent, datetime.now(UTC), rows), refresh=True)
