"""PgBouncer in transaction mode before a test server: a transaction takes any free connection."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragdb.server.postgres import PORT
from tests.conftest import LOGINS

PASSWORD = "of the pooler"


@dataclass
class Pooler:
    """A running PgBouncer: the folder of its socket, and its log.

    Of a port that was free another program may have been sooner.
    """

    folder: Path
    log: Path

    def dsn(self, database: str, user: str = "postgres") -> str:
        return make_conninfo(
            host=str(self.folder),
            port=PORT,
            dbname=str(conninfo_to_dict(database)["dbname"]),
            user=user,
            password=PASSWORD,
        )


def program() -> str:
    """PgBouncer of RAGDB_TEST_PGBOUNCER or of the path, else a skip."""
    found = os.environ.get("RAGDB_TEST_PGBOUNCER") or shutil.which(
        "pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    )
    if not found:
        pytest.skip("pgbouncer is not installed; RAGDB_TEST_PGBOUNCER names it")
    return found


@contextlib.contextmanager
def pooler(server: Path, size: int = 3) -> Iterator[Pooler]:
    """PgBouncer before the server of a data folder, with so many connections of each login."""
    bouncer = program()
    with tempfile.TemporaryDirectory(prefix="pooler") as made:
        folder = Path(made)
        logins = ["postgres", *LOGINS]
        (folder / "users").write_text("".join(f'"{name}" "{PASSWORD}"\n' for name in logins))
        (folder / "ini").write_text(
            f"[databases]\n* = host={server} port={PORT}\n"
            "[pgbouncer]\n"
            f"listen_addr =\nlisten_port = {PORT}\nunix_socket_dir = {folder}\n"
            f"auth_type = scram-sha-256\nauth_file = {folder}/users\n"
            "pool_mode = transaction\nmax_client_conn = 500\n"
            f"default_pool_size = {size}\nlogfile = {folder}/log\npidfile = {folder}/pid\n"
        )
        owner: dict[str, Any] = {}
        if os.geteuid() == 0:  # which PgBouncer refuses to run as, and PostgreSQL too
            stat = server.stat()
            for path in (folder, *folder.iterdir()):
                os.chown(path, stat.st_uid, stat.st_gid)
            owner = {"user": stat.st_uid, "group": stat.st_gid, "extra_groups": []}
        process = subprocess.Popen(
            [bouncer, "-q", str(folder / "ini")], stderr=subprocess.DEVNULL, cwd=folder, **owner
        )
        try:
            made_here = Pooler(folder, folder / "log")
            _wait(made_here.dsn("dbname=postgres"), process, made_here.log)
            yield made_here
        finally:
            process.terminate()
            process.wait(120)


def _wait(dsn: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text() if log.exists() else ""
                raise AssertionError(f"pgbouncer does not answer: {error}\n{said}") from None
            time.sleep(0.05)
