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
from tests.conftest import Server

from ragdb import embedded, extension, migrate

ROOT = Path(__file__).parents[2]
Make = Callable[[str], str]


@pytest.fixture(scope="session")
def extension_files(any_version: Server) -> Iterator[None]:
    """The extension's files where the server looks for them."""
    files = [ROOT / "extension/ragdb.control"]
    script = any_version.folder.parent / extension.path().name
    script.write_text(extension.script())  # that the checked-in one is the same is a test of its own
    if any_version.version >= 18:
        folder = any_version.folder.parent / "extension"
        folder.mkdir()
        folder.chmod(0o755)
        with psycopg.connect(any_version.uri, autocommit=True) as connection:
            connection.execute(
                f"alter system set extension_control_path = '$system:{any_version.folder.parent}'"
            )
            connection.execute("select pg_reload_conf()")
    else:
        folder = embedded.programs(any_version.version).parent / "share/postgresql/extension"
    copies = [Path(shutil.copy(file, folder)) for file in (*files, script)]
    for copy in copies:
        copy.chmod(0o644)
    yield
    for copy in copies:
        copy.unlink()


@pytest.fixture
def make(any_version: Server, extension_files: None) -> Iterator[Make]:
    """make(way) is the DSN of a new database made that way: 'migrate', 'alembic', 'extension' or 'empty'."""
    with ExitStack() as stack:

        def database(way: str) -> str:
            name = stack.enter_context(any_version.database(template=None)).dbname
            dsn = any_version.dsn(name)
            if way == "migrate":
                assert migrate.migrate(dsn)
            elif way == "alembic":
                subprocess.run(
                    [sys.executable, "-m", "alembic", "upgrade", "head"],
                    cwd=ROOT,
                    env=os.environ | {"RAGDB_DATABASE_URL": dsn},
                    check=True,
                )
            elif way == "extension":
                with psycopg.connect(dsn) as connection:
                    connection.execute("create extension ragdb cascade")
            return dsn

        yield database
