"""`ragdb access`: who read, exported, granted or was refused what."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import InCorpus, Session, Since


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Show who read, exported, granted or was refused what.")
    app.add_typer(group, name="access", no_args_is_help=True)
    verb(group, "ls")(ls)


def ls(
    session: Session,
    corpus: InCorpus = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="Largest number of events, 1 to 10000.")] = 100,
) -> None:
    """List events of access, newest first, as a member of ragdb_auditor.

    Reads are events only of the corpora that `ragdb corpus reads` says.
    """
    from ragdb.cli.times import moment

    with session.connect() as db:
        session.rows(
            db.list_access_events(corpus, moment("--since", since), limit),
            "created_at kind role session_role corpus what",
            empty="no events",
        )
