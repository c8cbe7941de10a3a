"""What long-running and writing programs see to when they start."""

from __future__ import annotations

import contextlib
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from ragdb.client._generated.functions import Functions

# a role that may not, a standby, or somebody who holds the tables: it is for another program then
REFUSED = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.LockNotAvailable,
)


def maintain(connection: psycopg.Connection[Any]) -> None:
    """Make the partitions of traces of this month and the next three, where that is possible.

    Nothing happens inside a transaction of the caller's, which would hold the locks to its end; on
    a standby; or by a role that may not: then another program or `ragdb maintain` makes them, and
    until then the default partition takes the rows.
    """
    if connection.info.transaction_status != TransactionStatus.IDLE:
        return
    with contextlib.suppress(*REFUSED), connection.transaction():
        Functions(connection).maintain()
