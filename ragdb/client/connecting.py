"""How ragdb connects: any pooler may stand before the server, and a dead server is noticed."""

from __future__ import annotations

import contextlib
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row

# Seconds and milliseconds of libpq, by which a server whose machine is gone ends a call within
# half a minute. One that answers may take as long as it likes: its kernel answers the probes.
ALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# Has a server look every 2 seconds whether the client of a statement is still there, where nobody
# has said how often. By itself it does not look, and would go on with what a killed client asked
# for, and commit it.
LOOKS = (
    "select set_config('client_connection_check_interval', '2s', false)"
    " where current_setting('client_connection_check_interval') = '0'"
)

# the forms of times that psycopg reads, by the names under which a server and a pooler report them
FORMS = {"DateStyle": "ISO", "IntervalStyle": "postgres"}

# by which a score comes as it was computed, in a session of one's own
EXACT = (
    "select set_config('extra_float_digits', '1', false)"
    " where current_setting('extra_float_digits')::integer < 1 and pg_backend_pid() = {}"
)

# what a call is told where the schema is of another version than this package
OTHER_SCHEMA = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
)
# what a statement is told that meets a function or view while an upgrade drops it
REPLACED = ("cache lookup failed for ", "could not open relation with OID ")


def options(conninfo: str, **given: Any) -> dict[str, Any]:
    """What psycopg is told beside the conninfo, which wins but for the encoding, as `given` does
    over both.

    Statements are not prepared on the server: a pooler gives each transaction another connection,
    which has not prepared them. `prepare_threshold=5` in `given` prepares them again.
    """
    named = conninfo_to_dict(conninfo)
    alive = {key: value for key, value in ALIVE.items() if key not in named}
    # what is read and written is Unicode, whatever a terminal or a role has set
    return {"prepare_threshold": None, "client_encoding": "UTF8", **alive, **given}


def connect(conninfo: str, **given: Any) -> psycopg.Connection[Any]:
    """A connection of psycopg; `given` are its arguments. Raises psycopg.OperationalError."""
    connection = psycopg.connect(conninfo, **options(conninfo, **given))
    try:
        have_forms(connection)
    except BaseException:
        connection.close()
        raise
    return connection


async def aconnect(conninfo: str, **given: Any) -> psycopg.AsyncConnection[Any]:
    """The asynchronous `connect`."""
    connection = await psycopg.AsyncConnection.connect(conninfo, **options(conninfo, **given))
    try:
        await ahave_forms(connection)
    except BaseException:  # whoever is cancelled leaves no connection either
        await connection.close()
        raise
    return connection


def have_forms(connection: psycopg.Connection[Any]) -> None:
    """Have times come in FORMS, whatever a role or a database has set: psycopg reads no others.
    And have numbers come with all their digits.

    It asks in no transaction, which might be rolled back. What a server does not report of itself
    is not set behind a pooler, where the next client would have it.
    """
    own, connection.autocommit = connection.autocommit, True
    connection.execute(EXACT.format(connection.info.backend_pid))
    connection.autocommit = own
    _have_times(connection)


async def ahave_forms(connection: psycopg.AsyncConnection[Any]) -> None:
    """The asynchronous `have_forms`: a pooler may let it wait for others of the same loop."""
    own = connection.autocommit
    await connection.set_autocommit(True)
    await connection.execute(EXACT.format(connection.info.backend_pid))
    await connection.set_autocommit(own)
    _have_times(connection)


def _have_times(connection: psycopg.BaseConnection[Any]) -> None:
    for name, form in FORMS.items():
        if (connection.info.parameter_status(name) or form).split(",")[0] != form:
            connection.pgconn.exec_(f"set {name} = {form}".encode())


def in_turns(
    connection: psycopg.Connection[Any], most: float | None = None
) -> psycopg.Connection[Any]:
    """Have a program of ragdb wait for another writer and go on, whatever its role has as default.

    Under `repeatable read` and `serializable` it would end with 40001 instead. `most` is how many
    seconds it waits where its role has no lock_timeout. A program that is killed has its statement
    end, where the server's machine can tell. Behind a pooler, where the session is not its own, a
    statement outside of a transaction still has the defaults.
    """
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    if connection.autocommit and not is_pooled(connection):
        connection.execute("set default_transaction_isolation = 'read committed'")
        with contextlib.suppress(psycopg.errors.InvalidParameterValue):  # Windows cannot
            connection.execute(LOOKS)
        if most is not None and connection.execute("show lock_timeout").fetchall() == [("0",)]:
            connection.execute(f"set lock_timeout = '{most}s'")
    return connection


def is_lost(error: psycopg.Error) -> bool:
    """Whether the server ended a connection that there was."""
    stopped = psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown
    # what psycopg says by itself, and not libpq
    is_own = isinstance(error, psycopg.OperationalError) and not error.sqlstate and not error.pgconn
    never = isinstance(error, psycopg.errors.ConnectionTimeout) or str(error).startswith(
        "failed to resolve host "
    )
    lost_its_workers = str(error).startswith("lost connection to parallel worker")
    # a pooler says it twice where one answer is due, as to COMMIT
    twice = isinstance(error, psycopg.InternalError) and str(error).startswith("received 2 results")
    return isinstance(error, stopped) or (is_own and not never) or lost_its_workers or twice


def is_replaced(error: Exception) -> bool:
    """Whether a statement met what an upgrade replaced at that moment."""
    return isinstance(error, psycopg.errors.InternalError_) and str(error).startswith(REPLACED)


def is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Whether a pooler answers in the place of the server.

    It makes up the process id that it gives its client, because no server's would last. The session
    behind it is nobody's own: what it sets, locks and listens to is the next client's.
    """
    cursor = connection.cursor(row_factory=tuple_row)
    row = cursor.execute("select pg_backend_pid()").fetchone()
    return row != (connection.info.backend_pid,)
