"""`ragdb export` and `ragdb import`: one corpus, one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Corpus, Session

if TYPE_CHECKING:
    from ragdb.portable.format import Progress


def register(app: typer.Typer) -> None:
    verb(app, "export")(export)
    verb(app, "import")(import_)


def export(
    session: Session,
    corpus: Corpus,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")],
    blobs: Annotated[
        bool, typer.Option("--blobs/--no-blobs", help="Include the original bytes of documents.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a corpus to one file: settings, documents, conversations, originals, embeddings.

    Traces, rights, signing keys, contracts and events are not exported. You need only the right to
    read.
    """
    from ragdb.cli import output
    from ragdb.portable import exporter

    with session.connect() as db, _bar(session, "exporting") as progress:
        done = exporter.write(db, corpus, file, blobs=blobs, force=force, progress=progress)
    output.one(session, done)


def import_(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `ragdb export` wrote.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for the corpus.")
    ] = None,
) -> None:
    """Create the corpus of a file, in one transaction.

    Under its own name, chunks keep their ids. If the corpus was restricted, only you and admins can
    read it until `ragdb corpus grant`.
    """
    from ragdb.cli import output
    from ragdb.models import embedders
    from ragdb.portable import importer

    with session.connect() as db:
        with _bar(session, "importing") as progress:
            done = importer.read(db, file, corpus=name, progress=progress)
        output.one(session, done)
        embedder = done.embedder and embedders.embedders(db.connection)[done.embedder]
        if embedder and embedder.provider is None:
            session.note(
                f"embedder {embedder.name} is not bound in this database; run"
                f" ragdb embedder bind {embedder.name} --provider sentence-transformers|openai"
            )


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
