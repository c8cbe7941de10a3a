"""What a call is told that writes where nothing can be written: on a standby, most often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import DiagnosticField
from psycopg.rows import scalar_row


@contextmanager
def told(
    call: str, connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
) -> Iterator[None]:
    """Say which call writes, and where, in the place of PostgreSQL's words, which name a statement.

    What ragdb itself refuses says it already, and has a hint.
    """
    try:
        yield
    except psycopg.errors.ReadOnlySqlTransaction as error:
        if error.diag.message_hint:
            raise
        raise _refusal(f"{call} writes", connection) from None


def check(what: str, connection: psycopg.Connection[Any]) -> None:
    """Refuse, before anything is done, what is to write. Raises ReadOnlySqlTransaction."""
    cursor = connection.cursor(row_factory=scalar_row)
    if cursor.execute("show transaction_read_only").fetchone() == "on":
        raise _refusal(what, connection)


def is_standby(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether the server of a connection is a standby, as it says without being asked."""
    return connection.info.parameter_status("in_hot_standby") == "on"


def _refusal(
    what: str, connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
) -> psycopg.errors.ReadOnlySqlTransaction:
    """The error of PostgreSQL's code, in the words of ragdb_internal.check_recordable."""
    if is_standby(connection):
        where, why = "server is a standby", "a standby takes no writes of its own"
    else:
        where = "transaction is read-only"
        why = "the server is a standby, or the transaction or role is set to read-only"
    said = f"{what}, and this {where}"
    hint = "run it on the primary, in a transaction that is not read-only"
    fields = {
        DiagnosticField.SEVERITY: "ERROR",
        DiagnosticField.SEVERITY_NONLOCALIZED: "ERROR",
        DiagnosticField.SQLSTATE: "25006",
        DiagnosticField.MESSAGE_PRIMARY: said,
        DiagnosticField.MESSAGE_DETAIL: why,
        DiagnosticField.MESSAGE_HINT: hint,
    }
    return psycopg.errors.ReadOnlySqlTransaction(
        f"{said}\nDETAIL:  {why}\nHINT:  {hint}",
        info={field: text.encode() for field, text in fields.items()},
    )
