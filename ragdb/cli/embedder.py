"""`ragdb embedder`: list embedders, and bind them to what runs them."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.session import Failure, Session


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List embedders and bind them to providers.")
    app.add_typer(group, name="embedder", no_args_is_help=True)
    verb(group, "ls")(embedder_ls)
    verb(group, "bind")(embedder_bind)
    verb(group, "load")(embedder_load)
    verb(group, "export-sql", formats=TEXT)(embedder_export_sql)


def embedder_ls(session: Session) -> None:
    """List the embedders and their providers."""
    with session.connect() as db:
        session.rows(
            db.list_embedders(),
            "name provider provider_model dims metric max_tokens weights_sha256",
            empty="no embedder yet; `ragdb embedder load` loads one that runs in the database",
        )


Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="PACKAGE|FOLDER",
        help="wordllama, or a folder of model2vec. Default: wordllama.",
    ),
]
Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Name of the embedder. Default: its model's.")
]


def embedder_load(
    session: Session,
    name: Name = None,
    source: Source = None,
    default: Annotated[
        bool, typer.Option("--default/--no-default", help="Embed new corpora by it.")
    ] = True,
) -> None:
    """Load a static embedder, which runs inside the database. It takes an admin.

    `ragdb embed CORPUS` embeds a corpus that has no embeddings; `ragdb reembed` changes the model.
    """
    from ragdb.server import static

    with session.connect() as db:
        is_new = static.load(db, name, source, is_default=default)
    session.done("loaded" if is_new else "it was loaded before", is_new=is_new)


def embedder_export_sql(session: Session, name: Name = None, source: Source = None) -> None:
    """Print the SQL that loads a static embedder, for psql alone."""
    from ragdb.server import static

    for line in static.script(name, source):
        print(line)


def embedder_bind(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name that contracts and corpora use.")
    ],
    provider: Annotated[str, typer.Option(metavar="sentence-transformers|openai|hash")],
    source: Annotated[
        str | None,
        typer.Option(help="The model: packaged, a folder, a name on the hub or at the endpoint."),
    ] = None,
    dims: Annotated[int | None, typer.Option(help="Dimensions of a new embedder.")] = None,
    metric: Annotated[str, typer.Option(metavar="cosine|ip|l2")] = "cosine",
    max_tokens: Annotated[int, typer.Option(help="Longest input, in tokens.")] = 256,
    query_prefix: Annotated[str, typer.Option(help="Text put before each query.")] = "",
    passage_prefix: Annotated[str, typer.Option(help="Text put before each chunk.")] = "",
    weights_sha256: Annotated[
        str | None, typer.Option(help="SHA-256 of model.safetensors, checked on loading.")
    ] = None,
) -> None:
    """Bind an embedder to its provider. Create the embedder if it does not exist.

    An endpoint's address and key are the worker's OPENAI_BASE_URL and OPENAI_API_KEY.
    """
    from ragdb.models import embedders

    with session.connect() as db:
        if name not in embedders.embedders(db.connection):
            if dims is None:
                raise Failure(f"embedder {name} is new", hint="give its dimensions: --dims N")
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
    session.done(f"{name} is run by {provider}", embedder=name, provider=provider)
