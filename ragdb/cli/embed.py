"""`ragdb embed`."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Failure, Session
from ragdb.cli.worker import Batch, Lease, drain


def register(app: typer.Typer) -> None:
    verb(app, "embed")(embed)


def embed(
    session: Session,
    corpus: Annotated[
        str | None,
        typer.Argument(metavar="CORPUS", help="Corpus. Default: all that have embeddings."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Embedder for a corpus without one. Default: the static one."
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Embed what is due now and do not wait.")
    ] = False,
    lease: Lease = 60,
    batch: Batch = 512,
) -> int:
    """Embed every chunk that has no embedding, and build the index of large corpora.

    Failed chunks are tried again after growing pauses. If the provider does not answer for about a
    minute, this run ends. Use --once for cron. Exit code 4 if some chunks could not be embedded.
    """
    from ragdb.errors import EmbedderNotFound
    from ragdb.models import embedders
    from ragdb.server import static

    with session.connect() as db:
        if model is not None and corpus is None:
            raise Failure("--model needs one corpus", hint="ragdb embed CORPUS --model NAME")
        if corpus is not None:
            current = embedders.current(db.connection, corpus)
            if model == embedders.MINILM["name"]:
                embedders.ensure_default(db.connection)
            elif model is None and current is not None:
                model = current.name
            try:
                db.embed_corpus(corpus, model)
            except EmbedderNotFound:
                if model is not None:
                    raise
                model = static.provide(db)
                db.embed_corpus(corpus, model)
        code = drain(session, db, corpus, model, "idle" if once else "empty", lease, batch)
        if session.format != "table":
            session.rows(db.embedding_status(corpus))
        return code
