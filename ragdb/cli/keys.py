"""`ragdb keys`: the keys that sign, inside the database and outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Failure, Session

if TYPE_CHECKING:
    from datetime import datetime

    from ragdb.database import Database

EXPORTED = "give the output of `ragdb keys export`"
FIELDS = ("key_id", "secret", "state", "created_at", "active_until", "not_after")
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Key id.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Manage the keys that sign admissibility tokens and traces.")
    app.add_typer(group, name="keys", no_args_is_help=True)
    verb(group, "create")(create)
    verb(group, "rotate")(create)
    verb(group, "ls")(ls)
    verb(group, "events")(events)
    verb(group, "revoke")(revoke)
    verb(group, "compromised")(compromised)
    verb(group, "export")(export)
    verb(group, "import")(import_)


def create(
    session: Session,
    key_id: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Key id. Default: made from the time.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Keep the secret in this file and not in the database. The older keys in it stay.",
        ),
    ] = None,
) -> None:
    """Create the key that signs from now on. Tokens of older keys still verify.

    With --file, sessions sign that have RAGDB_SIGNING_KEY_FILE=FILE, or the same lines from
    RAGDB_SIGNING_KEY_COMMAND.
    """
    if file is None:
        with session.connect() as db:
            before = _active(db)
            session.value(key_id=db.create_signing_key(key_id))
        _tell_replaced(session, before)
        return
    from ragdb.database import connect
    from ragdb.server import signing

    chosen = key_id or f"k{_now():%Y%m%d%H%M%S%f}"
    keys = signing.create(file, chosen)
    with connect(session.target.conninfo, signing_key=keys) as db:
        before = _active(db)
        db.register_signing_key(chosen)
    session.value(key_id=chosen)
    _tell_replaced(session, before)
    session.note(f"the secret is in {file}: sessions sign that have {signing.FILE}={file}")


def _active(db: Database) -> list[str]:
    return [key.key_id for key in db.list_signing_keys() if key.state == "active"]


def _tell_replaced(session: Session, before: list[str]) -> None:
    for key_id in before:
        session.note(f"{key_id} signs no more, and what it signed still verifies")


def ls(session: Session) -> None:
    """List the keys, without their secrets."""
    with session.connect() as db:
        session.rows(
            db.list_signing_keys(),
            "key_id state is_inside is_at_hand created_at active_until",
            empty="no keys yet; create one with `ragdb keys create`",
        )


def events(session: Session) -> None:
    """List what was done with keys, by whom and when."""
    with session.connect() as db:
        session.rows(
            db.list_key_events(),
            "event_no at kind key_id role state compromised_since",
            empty="no keys yet",
        )


def revoke(session: Session, key_id: KeyId) -> None:
    """Revoke a key: every token it signed fails from now on."""
    session.confirm(f"every token that key {key_id} signed will fail; revoke it?")
    with session.connect() as db:
        db.revoke_signing_key(key_id)
    session.done(f"revoked {key_id}", key_id=key_id)


def compromised(
    session: Session,
    key_id: KeyId,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When somebody else may have had it first. Default: since it was made.",
        ),
    ] = None,
) -> None:
    """Report that somebody else may have a key: what it signed since is not trusted any more."""
    from ragdb.cli.times import moment

    time = moment("--since", since)
    session.confirm(f"what key {key_id} signed since {since or 'ever'} will fail; go on?")
    with session.connect() as db:
        db.report_key_compromise(key_id, time)
    session.done(f"{key_id} counts as compromised", key_id=key_id)


def export(session: Session) -> None:
    """Print the keys inside with their secrets, one JSON object a line. Keep them from dumps."""
    with session.connect() as db:
        session.jsonl(db.export_signing_keys())


def import_(
    session: Session,
    file: Annotated[
        typer.FileText,
        typer.Argument(metavar="FILE", help="Output of `ragdb keys export`; - reads stdin."),
    ],
) -> None:
    """Import exported keys, so that a restored copy verifies the tokens of the original."""
    import json

    imported = []
    with session.connect() as db:
        for number, line in enumerate(file, 1):
            try:
                key = json.loads(line)
                given = [key[name] for name in FIELDS]
            except (ValueError, TypeError, KeyError):
                raise Failure(f"line {number} is not an exported key", hint=EXPORTED) from None
            db.import_signing_key(*given)
            imported.append({"key_id": given[0]})
            session.note(f"imported {given[0]}")
    if not imported:  # what a failed export left
        raise Failure(
            f"there is no key in {'-' if file.name == '<stdin>' else file.name}", hint=EXPORTED
        )
    if session.format != "table":
        session.rows(imported)


def _now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC)
