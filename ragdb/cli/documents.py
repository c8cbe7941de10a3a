"""`ragdb corpus documents` and `ragdb corpus delete`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.session import Corpus, Session
from ragdb.client.counting import counted


def documents(
    session: Session,
    corpus: Corpus,
    prefix: Annotated[str, typer.Option(help="Only those whose source begins so.")] = "",
    after: Annotated[str, typer.Option(help="Only those that come after this source.")] = "",
    limit: Annotated[int, typer.Option(help="Largest number of documents.")] = 100,
) -> None:
    """List the documents of a corpus, by source."""
    with session.connect() as db:
        session.rows(
            db.list_documents(corpus, prefix, after, limit),
            "source title chunks tokens size_bytes language updated_at",
            empty="no source is named so" if prefix or after else f"{corpus} has no document",
        )


def delete(
    session: Session,
    corpus: Corpus,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE…", help="As they are listed.")],
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
) -> None:
    """Delete sources of a corpus. Its history, if it keeps one, still has them."""
    with session.connect() as db:
        session.confirm(f"delete {counted(len(sources), 'source')} of corpus {corpus}?")
        with db.connection.transaction():  # all of them, or none where one is not there
            gone = [db.delete_source(corpus, source, reason=reason) for source in sources]
    numbers = [sum(row.documents_deleted for row in gone), sum(row.chunks_deleted for row in gone)]
    done = f"deleted {counted(numbers[0], 'document')} with {counted(numbers[1], 'chunk')}"
    session.done(done, documents_deleted=numbers[0], chunks_deleted=numbers[1])
