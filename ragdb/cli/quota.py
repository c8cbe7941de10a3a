"""`ragdb quota`: how much a role may take."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Session


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Set and list how much a role may take.")
    app.add_typer(group, name="quota", no_args_is_help=True)
    verb(group, "ls")(ls)
    verb(group, "set")(set_)


def ls(session: Session) -> None:
    """List the quotas that are set, and the bytes of blobs that each role has."""
    with session.connect() as db:
        session.rows(db.list_quotas(), empty="no quota is set: nothing is limited")


def set_(
    session: Session,
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help="A database role; public is all without a quota.")
    ],
    blob_bytes: Annotated[
        int | None, typer.Option(min=0, help="Bytes of the blobs that it has put.")
    ] = None,
    hourly_failures: Annotated[
        int | None, typer.Option(min=0, help="Failures and refusals that are recorded in an hour.")
    ] = None,
    concurrent_calls: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Transactions that use corpora at once.")
    ] = None,
    corpus_chunks: Annotated[
        int | None, typer.Option(min=0, help="Chunks of a corpus after it wrote there.")
    ] = None,
) -> None:
    """Set what a role may take, in place of what was set. What is left out has no limit."""
    with session.connect() as db:
        db.set_quota(role, blob_bytes, hourly_failures, concurrent_calls, corpus_chunks)
    is_none = blob_bytes is hourly_failures is concurrent_calls is corpus_chunks is None
    done = f"{role} has no quota of its own" if is_none else f"set the quota of {role}"
    session.done(done, role=role)
