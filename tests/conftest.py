"""Fixtures: one embedded server a run and version, one template database, a clone where needed."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb import embedded, migrate

TEMPLATE = "ragdb_template"


@pytest.fixture(scope="session")
def server() -> str:
    """URI of the superuser on a PostgreSQL 18 with the template database."""
    folder = Path("/var/lib/ragdb-test" if Path("/var/lib").exists() else tempfile.gettempdir())
    uri = embedded.start(folder / uuid.uuid4().hex[:8], 18)
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(
            f"create database {TEMPLATE} template template0 encoding 'UTF8' "
            "locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'"
        )
    with psycopg.connect(uri, dbname=TEMPLATE) as connection:
        migrate.install(connection)
    return uri


@pytest.fixture
def clone(server: str) -> Iterator[str]:
    """DSN of a fresh database of the test's own: for what commits, locks or migrates."""
    name = "t" + uuid.uuid4().hex[:12]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
        yield psycopg.conninfo.make_conninfo(server, dbname=name)
        admin.execute(f"drop database {name} with (force)")


@pytest.fixture
def db(clone: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(clone) as connection:
        yield connection
