"""`ragdb corpus optimize|parts|sync`: the parts of a corpus, on one server or on several."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.servers import Servers
from ragdb.cli.session import Corpus, Session


def optimize(
    session: Session,
    corpus: Corpus,
    pivot: Annotated[
        float | None,
        typer.Option(help="Length in lexemes that parts take for the mean; default: the mean."),
    ] = None,
    server: Servers = None,
) -> None:
    """Recompute the lexical index for the present mean length of the corpus's chunks."""
    from ragdb.cli.servers import several

    if server:
        with several(session, server) as servers:
            taken = servers.optimize(corpus, pivot)
        session.note(f"{len(server)} servers rank {corpus} by the pivot {taken:.6g}")
        return
    with session.connect() as db:
        session.one(db.optimize_corpus(corpus, pivot))


def sync(session: Session, corpus: Corpus, server: Servers = None) -> None:
    """Sum the statistics of a corpus's parts, by which they rank."""
    from ragdb.cli.servers import several
    from ragdb.client.rows import record

    if server:
        with several(session, server) as servers:
            synced = servers.sync(corpus)
        session.rows([{"server": name, **record(row)} for name, row in synced.items()])
        return
    with session.connect() as db:
        session.one(db.sync_statistics(corpus))


def parts(session: Session, corpus: Corpus) -> None:
    """List the parts of a corpus, and which were written to since the last sync."""
    with session.connect() as db:
        session.rows(
            db.list_parts(corpus),
            "name documents chunks is_stale chunks_synced synced_at is_elsewhere",
            empty="no parts: `ragdb corpus create NAME --part-of CORPUS` makes one",
        )
