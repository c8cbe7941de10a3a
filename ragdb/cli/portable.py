"""`ragdb export` and `ragdb import`: one corpus, one file. `ragdb corpus move`: no file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import DATABASE, Corpus, Failure, Session
from ragdb.client.counting import counted
from ragdb.files import NO_ROOM

if TYPE_CHECKING:
    from ragdb.portable.format import Progress


def register(app: typer.Typer) -> None:
    verb(app, "export")(export)
    verb(app, "import")(import_)


def export(
    session: Session,
    corpus: Corpus,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; - is stdout.")],
    blobs: Annotated[
        bool, typer.Option("--blobs/--no-blobs", help="Include the original bytes of documents.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a corpus to one file: settings, documents, conversations, originals, embeddings.

    Traces, rights, signing keys, contracts and events are not exported. You need only the right to
    read.
    """
    from ragdb.portable import exporter

    is_stdout = str(file) == "-"
    with (
        session.connect() as db,
        _aside("stdout", sys.stdout) if is_stdout else nullcontext(file) as place,
    ):
        with _bar(session, "exporting") as progress:
            done = exporter.write(db, corpus, place, blobs=blobs, force=force, progress=progress)
        if is_stdout:
            with place.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer)
            session.note(f"wrote {counted(done.documents, 'document')} of {corpus} to stdout")
        else:
            session.one(done)


def import_(
    session: Session,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File that `ragdb export` wrote; - is stdin.")
    ],
    corpus: Annotated[
        str | None, typer.Option("--corpus", "-c", help="Another name for the corpus.")
    ] = None,
) -> None:
    """Create the corpus of a file, in one transaction.

    Under its own name, chunks keep their ids. If the corpus was restricted, only you and admins can
    read it until `ragdb corpus grant`.
    """
    from ragdb.models import embedders
    from ragdb.portable import importer

    is_stdin = str(file) == "-"
    with (
        session.connect() as db,
        _aside("stdin", sys.stdin) if is_stdin else nullcontext(file) as place,
    ):
        if is_stdin:
            try:
                with place.open("wb") as taken:
                    shutil.copyfileobj(sys.stdin.buffer, taken)
            except OSError as error:
                raise Failure(
                    f"{place.parent} cannot be written to: {error.strerror}",
                    hint=NO_ROOM,
                ) from None
        with _bar(session, "importing") as progress:
            done = importer.read(db, place, corpus=corpus, progress=progress)
        session.one(done)
        embedder = done.embedder and embedders.embedders(db.connection)[done.embedder]
        if embedder and embedder.provider is None:
            session.note(
                f"embedder {embedder.name} is not bound in this database; run"
                f" ragdb embedder bind {embedder.name} --provider sentence-transformers|openai"
            )


def move(
    session: Session,
    corpus: Corpus,
    to: Annotated[str, typer.Option("--to", metavar="DSN", help="Database to move it to.")],
    destination: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Where to send who asks for it here: HOST:PORT/NAME."),
    ] = None,
    longest: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="For how long its writers may wait, at most."),
    ] = 10.0,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up a move that began.")] = False,
) -> None:
    """Move a corpus to another database while it is searched and written.

    Run it again to carry on with a move that was interrupted. What was recorded here (traces,
    answers, evaluations) stays here; `ragdb corpus drop` removes the documents that are left.
    """
    from ragdb.database import connect
    from ragdb.portable import mover
    from ragdb.server import scripts

    with session.connect() as db, connect(to) as target:
        if not scripts.is_there(target.connection):
            raise Failure(
                "the database of --to has no schema of ragdb",
                code=DATABASE,
                hint="`ragdb init --dsn DSN` installs it there",
            )
        if abandon:
            had = mover.abandon(db, target, corpus)
            said = f"{corpus} stays here" if had else f"no move of {corpus} is under way"
            session.done(said, corpus=corpus, is_abandoned=had)
            return
        with _bar(session, "moving") as progress:
            done = mover.move(
                db,
                target,
                corpus,
                destination=destination,
                longest=longest,
                progress=progress,
            )
    session.one(done)


@contextmanager
def _aside(name: str, stream: TextIO) -> Iterator[Path]:
    """A place for what a stream gives or gets: a file is read twice, and is written whole."""
    if stream.isatty():
        raise Failure(f"{name} is a terminal, and an export is not a text", hint="name a file")
    with TemporaryDirectory() as folder:
        yield Path(folder) / name


@contextmanager
def _bar(session: Session, what: str) -> Iterator[Progress | None]:
    if not session.progress:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = (what, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=session.err, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
