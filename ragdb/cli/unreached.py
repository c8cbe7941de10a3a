"""What to do where no database was reached, by what libpq or the server says.

libpq gives no SQLSTATE for it. A server that speaks no English is not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from ragdb.client.connecting import OTHER_SCHEMA, is_lost
from ragdb.server.postgres import EmbeddedError

if TYPE_CHECKING:
    from ragdb.cli.session import Session

_UP = "start the server, or correct the host or the port"
_HINTS = {
    "is not a connection string": "",  # it says what one is
    "password authentication failed": "correct the user or the password",
    "no password supplied": "set PGPASSWORD, or give a line of ~/.pgpass",
    "no pg_hba.conf entry": "the server admits nobody like that: its pg_hba.conf needs a line",
    'database "': "make it, or correct its name: `createdb` makes one",
    'role "': "name a user that the server knows: postgresql://USER@HOST/DATABASE",
    "failed to resolve host": "correct the host",
    "Connection refused": _UP,
    "No such file or directory": _UP,
    "timeout expired": _UP,
}


def hint(error: Exception) -> str:
    """What to do about it; empty where the error says it itself."""
    said = str(error)
    return next((todo for words, todo in _HINTS.items() if words in said), EmbeddedError.hint)


def named_by(error: Exception, session: Session) -> str | None:
    """Which variable names a database that was not reached, or that has not this schema.

    Whoever set it for another program does not think of it. None where a flag names the database,
    an error came before it was looked up, or it is there: then the error is of another.
    """
    target = vars(session).get("target")
    if target is None or target.origin in ("--dsn", "embedded") or session.is_found:
        return None
    is_away = (
        isinstance(error, psycopg.OperationalError) and not error.sqlstate and not is_lost(error)
    )
    if is_away or isinstance(error, OTHER_SCHEMA):
        return f"the database is that of {target.origin}"
    return None
