"""Databases made in each of the three ways."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from ragdb import extension
from ragdb.server import migrate, postgres
from tests.conftest import Server
from tests.schema.facts import facts

ROOT = Path(__file__).parents[2]
Make = Callable[[str], str]


class Ways:
    """Makes databases in each way; the extension's files are put where a server looks when first needed."""

    def __init__(self) -> None:
        self._with_extension: set[int] = set()
        self._made: dict[tuple[int, str], str] = {}

    def offer_extension(self, server: Server) -> None:
        if server.version in self._with_extension:
            return
        self._with_extension.add(server.version)
        folder = self.offered(server)
        if server.version >= 18:
            folder.mkdir()
            folder.chmod(0o755)
            with psycopg.connect(server.uri, autocommit=True) as connection:
                path = f"$system:{folder.parent}"
                connection.execute(f"alter system set extension_control_path = '{path}'")
                connection.execute("select pg_reload_conf()")
        shutil.copy(ROOT / "extension/ragdb.control", folder)
        (folder / extension.path().name).write_text(extension.script())
        for file in ("ragdb.control", extension.path().name):
            (folder / file).chmod(0o644)

    def offered(self, server: Server) -> Path:
        """The folder where a server looks for the files of the extension."""
        if server.version >= 18:
            return server.folder.parent / "extension"
        # of the run's own: tests/programs.py
        return postgres.programs(server.version).parent / "share/postgresql/extension"

    def database(self, server: Server, way: str, stack: ExitStack) -> str:
        """DSN of a new database made by 'migrate', 'alembic', 'extension', or 'empty'."""
        template = None if way == "empty" else self.made(server, way)
        return server.dsn(stack.enter_context(server.database(template)).dbname)

    def made(self, server: Server, way: str) -> str:
        """The database that was made that way once, for copies."""
        if (server.version, way) not in self._made:
            database = server.database(template=None)
            database.init()  # gone with its server, which may go before this
            self._make(server, way, server.dsn(database.dbname))
            self._made[server.version, way] = database.dbname
        return self._made[server.version, way]

    def _make(self, server: Server, way: str, dsn: str) -> None:
        if way == "migrate":
            assert migrate.migrate(dsn)
        elif way == "alembic":
            subprocess.run(
                [sys.executable, "-m", "alembic", "upgrade", "head"],
                cwd=ROOT,
                env=os.environ | {"RAGDB_DATABASE_URL": dsn},
                check=True,
            )
        else:
            self.offer_extension(server)
            with psycopg.connect(dsn) as connection:
                connection.execute("create extension ragdb cascade")


@pytest.fixture(scope="session")
def ways() -> Ways:
    return Ways()


@pytest.fixture(scope="module")
def untouched(server18: Server) -> list[str]:
    """The facts of a clone that nothing was done to."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname)) as connection,
    ):
        return facts(connection)


@pytest.fixture
def make(any_version: Server, ways: Ways) -> Iterator[Make]:
    """make(way) is the DSN of a new database made that way, on PostgreSQL 18 and 16."""
    with ExitStack() as stack:
        yield lambda way: ways.database(any_version, way, stack)
