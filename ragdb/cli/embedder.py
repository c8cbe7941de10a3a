"""`ragdb embedder`: list embedders, and bind them to what runs them."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Failure, Session


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List embedders, and bind them to what runs them.")
    app.add_typer(group, name="embedder", no_args_is_help=True)
    verb(group, "ls")(embedder_ls)
    verb(group, "bind")(embedder_bind)


def embedder_ls(session: Session) -> None:
    """List the embedders, and who runs them."""
    from ragdb.cli import output

    with session.connect() as db:
        output.rows(
            session,
            db.list_embedders(),
            [
                "name",
                "provider",
                "provider_model",
                "dims",
                "metric",
                "max_tokens",
                "weights_sha256",
            ],
            empty="no embedder yet: `ragdb embed CORPUS` makes the default one",
        )


def embedder_bind(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name that contracts and corpora use.")],
    provider: Annotated[str, typer.Option(metavar="sentence-transformers|openai|hash")],
    source: Annotated[
        str | None,
        typer.Option(help="What it calls the model: packaged, a folder, a hub or endpoint name."),
    ] = None,
    dims: Annotated[int | None, typer.Option(help="Width, for a new embedder.")] = None,
    metric: Annotated[str, typer.Option(metavar="cosine|ip|l2")] = "cosine",
    max_tokens: Annotated[int, typer.Option(help="Tokens of an input that it reads.")] = 256,
    query_prefix: Annotated[str, typer.Option(help="Put before a query.")] = "",
    passage_prefix: Annotated[str, typer.Option(help="Put before a chunk.")] = "",
    weights_sha256: Annotated[
        str | None, typer.Option(help="Digest of model.safetensors, checked on loading.")
    ] = None,
) -> None:
    """Say who runs an embedder, making the embedder when there is none of that name.

    An endpoint's address and key are the worker's OPENAI_BASE_URL and OPENAI_API_KEY.
    """
    from ragdb.models import embedders

    with session.connect() as db:
        if name not in embedders.embedders(db.connection):
            if dims is None:
                raise Failure(f"embedder {name} is new", hint="give its width: --dims N")
            db.create_embedder(
                name,
                dims,
                metric=metric,
                max_tokens=max_tokens,
                query_prefix=query_prefix,
                passage_prefix=passage_prefix,
                weights_sha256=weights_sha256,
            )
        db.bind_embedder(name, provider, source or ("hash-v1" if provider == "hash" else name))
    session.note(f"{name} is run by {provider}")
