"""`ragdb similar`, and what `ragdb search --group` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.hits import print_hit
from ragdb.cli.query import AskedCorpus, Filter, Hits, MinScore, asked, filter_of
from ragdb.cli.session import Session

if TYPE_CHECKING:
    from ragdb.database import Database


def register(app: typer.Typer) -> None:
    verb(app, "similar")(similar)


def similar(
    session: Session,
    chunk_id: Annotated[str, typer.Argument(metavar="CHUNK", help="Id of a chunk, of a search.")],
    corpus: AskedCorpus = None,
    k: Hits = 10,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="lexical|semantic",
            help="By words or by meaning. Default: by meaning if the chunk has an embedding.",
        ),
    ] = None,
    min_score: MinScore = 0.0,
    filter: Filter = None,
) -> None:
    """Print the chunks of a corpus that are most like one of it."""
    among = filter_of(filter)
    with session.connect() as db:
        corpus = asked(session, db, corpus)
        hits = db.similar(corpus, chunk_id, k, min_score, among, mode)
        if session.format == "table":
            for hit in hits:
                print_hit(session, db, "", hit, False, "plain")
        else:
            session.rows(hits)
    if not hits:
        session.note(f"nothing in {corpus} is like it")


def print_documents(session: Session, db: Database, query: str, found: list[Any]) -> None:
    """Documents for people: each as its best chunk is shown, then its other chunks."""
    from dataclasses import make_dataclass

    fields = ("corpus", "source", "title", "rank", "score", "page", "heading", "chunk_id")
    shown = make_dataclass("shown", fields)
    for document in found:
        for n, chunk in enumerate(document.chunks):
            hit = shown(
                document.corpus,
                document.source,
                document.title if n == 0 else None,
                document.rank if n == 0 else "",
                chunk["score"],
                chunk["page"],
                chunk["heading"],
                chunk["chunk_id"],
            )
            print_hit(session, db, query, hit, False, "plain")
