"""A dump restored beside the database, to be verified, and dropped again."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ragdb.server import embedded, migrate, roles, settings
from ragdb.server.extended import is_extension

# what a copy says of itself, so that one that a killed run left is told from a database of others
_COPY = "scratch copy of ragdb backup verify"


class BackupError(Exception):
    """The file is not a dump that can be restored, or restoring it failed."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.hint, self.exit_code = hint, exit_code


@contextlib.contextmanager
def restored(
    dump: Path, conninfo: str | None = None, note: Callable[[str], None] = lambda _: None
) -> Iterator[str]:
    """The conninfo of a scratch database with what is in a dump; it is dropped in the end.

    It is made on the embedded server, or on the one of `conninfo`. Those that killed runs left
    there go. Raises BackupError.
    """
    form = recognised(dump)
    server = conninfo or embedded.start()
    name = f"ragdb_backup_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        try:
            roles.create_roles(connection)
            _drop_left(connection, note)
            connection.execute(
                sql.SQL("create database {} template template0").format(sql.Identifier(name))
            )
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                f"a scratch database cannot be made: {error.diag.message_primary}",
                "give --dsn of a role that may create databases, or leave it out",
                exit_code=3,
            ) from None
    copy = make_conninfo(server, dbname=name)
    try:
        # while somebody is connected to a copy, another run leaves it where it is
        with contextlib.closing(psycopg.connect(copy, autocommit=True)) as user:
            user.execute(
                sql.SQL("comment on database {} is {}").format(sql.Identifier(name), _COPY)
            )
            note(f"restoring {form} into database {name}")
            _restore(dump, copy)
            yield copy
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )


def _drop_left(connection: psycopg.Connection[Any], note: Callable[[str], None]) -> None:
    """Drop the copies of runs that were killed: nobody is connected to them."""
    left = connection.execute(
        "select datname from pg_database d where datname ~ '^ragdb_backup_[0-9a-f]{16}$'"
        " and shobj_description(d.oid, 'pg_database') = %s"
        # a drop ends autovacuum by itself
        " and not exists (select from pg_stat_activity a where a.datid = d.oid"
        " and a.backend_type is distinct from 'autovacuum worker')",
        (_COPY,),
    ).fetchall()
    for (name,) in left:
        try:
            # without force: whoever has come meanwhile keeps it
            connection.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))
        except psycopg.Error as error:
            note(f"database {name} is a copy that a killed run left: {error.diag.message_primary}")
        else:
            note(f"dropped database {name}, a copy that a killed run left")


def recognised(dump: Path) -> str:
    """What kind of dump it is. Raises BackupError for what is not one that pg_restore reads."""
    hint = "give the output of pg_dump -Fc, -Ft or -Fd"
    if dump.is_dir():
        if (dump / "toc.dat").is_file():
            return "a directory dump"
        if (dump / "PG_VERSION").is_file():
            raise BackupError(
                f"{dump} is a data folder and not a dump",
                "check it by pg_verifybackup, start a server on a copy of it, and run"
                " `ragdb verify --dsn` there",
            )
        raise BackupError(f"{dump} is not a dump", hint)
    try:
        with dump.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise BackupError(f"{dump} cannot be read: {error.strerror}") from None
    if start.startswith(b"PGDMP"):
        return "a custom dump"
    if start == b"toc.dat\0":
        return "a tar dump"
    if start.startswith(b"--"):
        hint = "a dump in plain SQL is a program that would be run as it is; " + hint
    raise BackupError(f"{dump} is not a dump", hint)


def _restore(dump: Path, copy: str) -> None:
    database, secret = settings.for_program(copy)
    program = settings.program("pg_restore", copy)
    # in one transaction: what cannot be restored whole is not a backup. A subscription would keep
    # the copy from being dropped, and name a slot that the original reads.
    flags = ["--exit-on-error", "--single-transaction", "--no-subscriptions"]
    done = subprocess.run(
        [program, *flags, "-d", database, str(dump.absolute())],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**os.environ, "LC_ALL": "C", **secret},
    )  # fmt: skip
    if done.returncode:
        raise BackupError(
            f"the dump cannot be restored: {done.stderr.strip()[-2000:]}",
            "where a role or an extension is missing, give --dsn of a server that has it",
        )
    with psycopg.connect(copy) as connection:
        if not connection.execute("select to_regclass('ragdb.retrieval_traces')").fetchone()[0]:  # type: ignore[index]
            raise BackupError("there is no ragdb in the dump", "dump the database that ragdb is in")


def connect(copy: str) -> psycopg.Connection[Any]:
    """A connection to the restored copy that writes nothing."""
    connection = psycopg.connect(copy, autocommit=True)
    connection.read_only = True
    return connection


def reload(copy: str) -> None:
    """Put the functions of this package into the copy: those of the dump may have been edited.

    Those of an extension are not in its dump.
    """
    with psycopg.connect(copy) as connection:
        if is_extension(connection):
            return
    migrate.migrate(copy, force=True)
