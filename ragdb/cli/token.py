"""`ragdb token`: the bearer tokens of the HTTP server."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Create, list and revoke the bearer tokens of `ragdb serve`.")
    app.add_typer(group, name="token", no_args_is_help=True)
    verb(group, "create")(create)
    verb(group, "ls")(ls)
    verb(group, "revoke")(revoke)


def create(
    session: Session,
    name: Name,
    role: Annotated[str, typer.Option("--role", "-r", help="Role of requests with this token.")],
    days: Annotated[
        float | None,
        typer.Option(min=0, max=36500, help="Days until the token expires. Default: never."),
    ] = None,
) -> None:
    """Create a token and print it. It is shown only once; the database keeps only its hash."""
    from datetime import timedelta

    expires = timedelta(days=days) if days is not None else None
    with session.connect() as db:
        session.value(token=db.create_http_token(role, name, expires))
    session.note(f"keep the token {name}: it is not shown again")


def ls(session: Session) -> None:
    """List the tokens by name."""
    with session.connect() as db:
        session.rows(
            db.list_http_tokens(),
            "name role created_by created_at expires_at",
            empty="no tokens yet; create one with `ragdb token create NAME --role ROLE`",
        )


def revoke(session: Session, name: Name) -> None:
    """Revoke a token: the next request with it is refused."""
    with session.connect() as db:
        db.revoke_http_token(name)
    session.done(f"revoked {name}", name=name)
