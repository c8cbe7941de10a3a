"""A database whose every statement commits, as versions are made by transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.conftest import Connection, Server


@pytest.fixture(scope="module")
def fresh(server18: Server) -> Iterator[Callable[[], Connection]]:
    """A connection to a database of its own, with a signing key."""
    with ExitStack() as stack:

        def connect() -> Connection:
            database = stack.enter_context(server18.database())
            connection = stack.enter_context(
                psycopg.connect(server18.dsn(database.dbname), autocommit=True)
            )
            connection.execute("select ragdb.create_signing_key('k1')")
            return connection

        yield connect


@pytest.fixture(scope="module")
def committed(fresh: Callable[[], Connection]) -> Connection:
    """One such connection for all tests of a module, each with a corpus of its own."""
    return fresh()
