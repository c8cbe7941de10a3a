"""`ragdb reranker`: list rerankers, and say where they lie."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Session
from ragdb.client.counting import counted


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List and bind rerankers.")
    app.add_typer(group, name="reranker", no_args_is_help=True)
    verb(group, "ls")(reranker_ls)
    verb(group, "bind")(reranker_bind)


def reranker_ls(session: Session) -> None:
    """List the rerankers and their sources."""
    with session.connect() as db:
        session.rows(
            db.list_rerankers(),
            "name source revision max_tokens weights_sha256",
            empty="no rerankers yet; bind one with `ragdb reranker bind NAME --source FOLDER`",
        )


def reranker_bind(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name that contracts and traces use.")
    ],
    source: Annotated[str, typer.Option(help="A folder or a name on the hub.")],
    revision: Annotated[str | None, typer.Option(help="Revision on the hub.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="Longest query plus passage, in tokens. Default: the model's, at most 512."
        ),
    ] = None,
    weights_sha256: Annotated[
        str | None,
        typer.Option(help="SHA-256 of model.safetensors. Default: that of the present file."),
    ] = None,
) -> None:
    """Bind a CrossEncoder as a reranker, or bind a known reranker to a new place.

    The model is loaded once to check that it works. Weights with another digest are refused from
    then on.
    """
    from ragdb.models import rerank

    found = rerank.describe(source, revision)
    digest, longest = weights_sha256 or found.weights_sha256, max_tokens or found.max_tokens
    model = rerank.CrossEncoderReranker(name, found.source, revision, digest, longest)
    rerank.score(model, "a question", ["its answer"])
    with session.connect() as db:
        db.bind_reranker(name, found.source, digest, longest, revision)
    done = f"{name} is {source}, weights {digest[:12]}…, {counted(longest, 'token')}"
    session.done(done, reranker=name, weights_sha256=digest, max_tokens=longest)
