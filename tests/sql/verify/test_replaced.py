"""Verification while `ragdb init --force` replaces what is verified."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragdb.server import migrate

CODE = "select v.place, v.finding from ragdb.verify(true, '{code}') v where v.severity <> 'note'"
AGAIN = "the functions of ragdb were replaced while they were verified"


def test_a_transaction_that_began_before_the_functions_were_replaced_is_told_to_begin_again(
    clone: str,
) -> None:
    """Its snapshot has the old functions, of which the server knows no definition any more."""
    with psycopg.connect(clone) as db:
        db.execute("set transaction isolation level repeatable read")
        db.execute("select from pg_class")
        migrate.migrate(clone, force=True)
        with pytest.raises(psycopg.errors.SerializationFailure, match=AGAIN):
            db.execute(CODE)
        db.rollback()
        assert db.execute(CODE).fetchall() == []


def test_the_functions_are_not_replaced_while_they_are_verified(clone: str) -> None:
    impatient = make_conninfo(clone, options="-c lock_timeout=50ms")
    with psycopg.connect(clone) as db:
        assert db.execute(CODE).fetchall() == []
        with pytest.raises(psycopg.errors.LockNotAvailable):
            migrate.migrate(impatient, force=True)
