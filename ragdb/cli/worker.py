"""`ragdb worker`, and a worker that the other verbs run until nothing is left."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.session import PARTIAL, Session
from ragdb.client.counting import LISTED, counted

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.models.worker import Done, Worker


Lease = Annotated[
    float,
    typer.Option(min=1, max=86_400, help="Seconds until the claims of a killed worker expire."),
]
Batch = Annotated[int, typer.Option(min=1, max=10_000, help="Inputs per claim.")]


def register(app: typer.Typer) -> None:
    verb(app, "worker", formats=TEXT)(worker)


def worker(
    session: Session,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", "-c", help="Only this corpus. Default: all that you may write."),
    ] = None,
    lease: Lease = 60,
    batch: Batch = 512,
) -> None:
    """Embed chunks and queries and read blobs as they arrive, until interrupted."""

    def work() -> None:
        with (
            session.connect() as db,
            _stoppable(session, db, corpus, None, lease, batch) as at_work,
        ):
            session.note(f"worker {at_work.name} waits for work; interrupt to stop")
            _report(session, at_work.run())

    session.outlive(work)


@contextmanager
def _stoppable(
    session: Session,
    db: Database,
    corpus: str | None,
    model: str | None,
    lease: float,
    batch: int,
    progress: Any = None,
) -> Iterator[Worker]:
    """A worker that SIGTERM and SIGINT stop after its current batch."""
    from ragdb.client import readonly
    from ragdb.ingest.stopping import heard_by
    from ragdb.models.worker import Worker

    readonly.check("a worker writes", db.connection)
    at_work = Worker(
        session.target.conninfo,
        corpus=corpus,
        embedder=model,
        lease=lease,
        batch=batch,
        progress=progress,
    )
    interrupted: list[int] = []

    def stop(number: int, _: Any) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(number)
        at_work.stop()

    before = heard_by(stop)
    try:
        yield at_work
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def drain(
    session: Session,
    db: Database,
    corpus: str | None,
    model: str | None,
    until: str,
    lease: float,
    batch: int,
) -> int:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    def spaces() -> list[Any]:
        return [s for s in db.embedding_status(corpus) if model is None or s.embedder == model]

    first = spaces()
    left = sum(s.backlog for s in first)
    with Progress(
        "embedding",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=session.err,
        disable=not session.progress,
    ) as bar:
        task = bar.add_task("", total=left)

        def progress(done: Done) -> None:
            bar.update(task, completed=done.embedded)

        started = time.monotonic()
        with _stoppable(session, db, corpus, model, lease, batch, progress) as at_work:
            _report(session, at_work.run(until=until))
    last = spaces()
    told = _worth_telling(first, last)
    for space in told:
        chunks = counted(space.chunks, "chunk")
        session.note(
            f"{space.corpus}: {space.embedded} of {chunks} by {space.embedder}"
            f" ({space.provider} {space.provider_model})"
        )
        if space.dead or space.last_error:
            session.note(f"  {space.dead} failed for good, last error: {space.last_error}")
    if len(told) < len(last):
        rest = counted(len(last) - len(told), "corpus")
        session.note(f"{rest} not shown: `ragdb embed --once --json` lists all")
    session.debug(f"{time.monotonic() - started:.1f} s")
    return PARTIAL if any(space.embedded < space.chunks for space in last) else 0


def _worth_telling(first: list[Any], last: list[Any]) -> list[Any]:
    """All spaces where they are few; else some: what lacks something before what has changed."""
    if len(last) <= LISTED:
        return last
    known = {(space.corpus, space.embedder): space.embedded for space in first}

    def is_whole(space: Any) -> bool:
        return space.embedded >= space.chunks and not space.last_error

    told = [s for s in last if not is_whole(s) or s.embedded != known.get((s.corpus, s.embedder))]
    return sorted(told, key=is_whole)[:LISTED]


def _report(session: Session, done: Done) -> None:
    rate = done.embedded / done.seconds if done.seconds else 0
    if done.embedded or done.queries:
        session.note(
            f"embedded {counted(done.embedded, 'chunk')} and {counted(done.queries, 'query')}"
            f" in {done.seconds:.1f} s ({rate:.0f} chunks/s)"
        )
    if done.cut:
        session.note(
            f"{counted(done.cut, 'chunk', 'go')} on after what the model reads of a text: the rest"
            " has no part in their embeddings; ingest with a smaller --max-tokens to have them read"
            " whole"
        )
    if done.read:
        session.note(f"read {counted(done.read, 'blob')}")
    for error, count in sorted(done.errors.items()):
        session.note(f"  {count} × {error}")
