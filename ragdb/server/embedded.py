"""The PostgreSQL that ragdb starts when no connection is given."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.pq import PGconn, Ping

from ragdb.client.connecting import connect
from ragdb.server import leftover, migrate, prepare, roles, scripts, sockets
from ragdb.server.postgres import PORT, EmbeddedError, Say, home, initialise, launch, run

LOGIN = DATABASE = "ragdb"
# with others, which variables may set, libpq takes a server that runs for one that does not answer
PINGED = "gssencmode=disable&connect_timeout=0"


@dataclass(frozen=True)
class Status:
    """A running server: its process, data folder, major version and the folder of its socket."""

    pid: int
    folder: Path
    version: int
    socket: Path

    @property
    def superuser(self) -> str:
        """URI of the superuser, who installs and does nothing else."""
        return f"postgresql://postgres@:{PORT}/postgres?host={quote(str(self.socket), safe='')}"


def data_folder(version: int = 18) -> Path:
    """The data folder of the embedded server of one major version."""
    return home() / f"pg{version}"


def status(
    folder: Path | None = None, version: int = 18, *, is_ready: bool = True
) -> Status | None:
    """The running server of a data folder, or None.

    Where it need not be ready, it may take no connection yet, or none any more.
    """
    folder = (folder or data_folder(version)).absolute()
    try:
        lines = (folder / "postmaster.pid").read_text().splitlines()
    except OSError:
        return None
    if len(lines) < 8:  # it has just begun
        return None
    short = sockets.short(folder)
    # where it is in the folder, it is moved with it, and in a copy it does not answer
    socket = short if Path(lines[4]) == short else folder
    if socket == folder and not sockets.holds(folder):
        return None
    found = Status(int(lines[0]), folder, version, socket)
    # the file outlives a killed server; an answer on the socket does not, and may be a refusal
    answer = PGconn.ping(f"{found.superuser}&{PINGED}".encode())
    if answer == Ping.NO_ATTEMPT:
        connect(found.superuser).close()  # raises: a variable of libpq has a value that is none
    return found if answer == Ping.OK or (answer == Ping.REJECT and not is_ready) else None


def start(folder: Path | None = None, version: int = 18, say: Say | None = None) -> str:
    """Start the server, or find it running, and return the superuser's URI.

    Any number of processes may call this at once; `say` is called by the one that makes the server,
    which takes a while. Raises EmbeddedError with the end of the log.
    """
    folder = (folder or data_folder(version)).absolute()
    running = status(folder, version)
    if running is None or leftover.was_moved(folder):
        with _lock(folder):
            if leftover.was_moved(folder):
                _stop(folder, version)
            running = status(folder, version)
            if running is None:
                if not (folder / "PG_VERSION").exists():
                    if say is not None:
                        say(f"making a database in {folder}; this is done once")
                    initialise(folder, version)
                launch(folder, version, lambda: status(folder, version) is not None)
                running = status(folder, version)
    if running is None:
        raise EmbeddedError(f"the server in {folder} started but does not answer")
    return running.superuser


def revive(folder: Path | None = None, version: int = 18) -> bool:
    """Start a server that died, and return whether it was started.

    One that was stopped stays so: its folder may be about to be copied or replaced. Raises
    EmbeddedError with the end of the log.
    """
    folder = (folder or data_folder(version)).absolute()
    with _lock(folder):
        if status(folder, version) is not None or not _died(folder, version):
            return False
        launch(folder, version, lambda: status(folder, version) is not None)
    return True


def _died(folder: Path, version: int) -> bool:
    """Whether the last server of a data folder ended, or ends, otherwise than by being stopped."""
    if not (folder / "PG_VERSION").exists():
        return False
    said = run(folder, version, "pg_controldata", "-D", str(folder)).stdout
    found = re.search("^Database cluster state: +(.*)$", said, re.M)
    return found is not None and not found[1].startswith("shut")  # shut down, shutting down


def stop(folder: Path | None = None, version: int = 18) -> bool:
    """Stop the server and return whether one was running. Open transactions are rolled back."""
    folder = (folder or data_folder(version)).absolute()
    if not _is_there(folder, version):
        return False
    with _lock(folder):
        if not _is_there(folder, version):  # another has stopped it
            return False
        _stop(folder, version)
    return True


def _is_there(folder: Path, version: int) -> bool:
    """Whether a server is there to be stopped, also one that cannot be reached."""
    return status(folder, version, is_ready=False) is not None or leftover.was_moved(folder)


def _stop(folder: Path, version: int) -> None:
    """Stop the server that is there.

    Where its folder was moved, without a checkpoint: that is written by the folder's old name,
    where there may be another folder now.
    """
    pid = int((folder / "postmaster.pid").read_text().split("\n", 1)[0])
    if not leftover.serves(pid, folder):
        failed = EmbeddedError(f"the process of the server in {folder} cannot be seen from here")
        failed.hint = "stop it where it was started, as in its container"
        raise failed
    how = "immediate" if leftover.was_moved(folder) else "fast"
    done = run(folder, version, "pg_ctl", "stop", "-w", "-m", how, "-D", str(folder))
    if done.returncode:
        raise EmbeddedError(f"the server in {folder} does not stop: {done.stdout.strip()}")


def dsn(
    folder: Path | None = None,
    version: int = 18,
    say: Say | None = None,
    *,
    upgrades: bool = True,
) -> str:
    """URI of the plain login `ragdb` on the database `ragdb`.

    The server is started, the database created and migrated, as needed; `say` hears of it. The
    schema of an older ragdb is left as it is where it is not to be upgraded.
    """
    folder = (folder or data_folder(version)).absolute()
    superuser = start(folder, version, say)
    plain = superuser.replace("postgres@", f"{LOGIN}@").replace("/postgres?", f"/{DATABASE}?")
    # is there until all is installed, also what is not of the schema's one transaction
    unfinished = folder.with_name(folder.name + ".installing")
    with contextlib.suppress(psycopg.OperationalError), connect(plain) as connection:
        if scripts.is_current(connection) and not unfinished.exists():
            return plain
    with _lock(folder):
        _install(superuser)
        if not upgrades:
            with connect(plain) as connection:
                if scripts.is_there(connection):
                    return plain
        was_left = unfinished.exists()
        unfinished.touch()
        if migrate.migrate(plain, say=say) or was_left:
            from ragdb.server import manual, static

            static.load_default(plain)
            manual.load(plain)
        unfinished.unlink()
    return plain


def _install(superuser: str) -> None:
    """Make login role and database, and all that only a superuser may make in it."""
    with connect(superuser, autocommit=True) as connection:
        roles.create_roles(connection)
        if not connection.execute("select from pg_roles where rolname = %s", (LOGIN,)).fetchall():
            connection.execute(f"create role {LOGIN} login in role ragdb_owner")
        # the HTTP server acts as these
        connection.execute(f"grant ragdb_admin to {LOGIN}")
        connection.execute(f"grant ragdb_auditor to {LOGIN} with inherit false")
        if not connection.execute(
            "select from pg_database where datname = %s", (DATABASE,)
        ).fetchall():
            connection.execute(f"create database {DATABASE} template template0 owner ragdb_owner")
        # else "$user": what somebody makes without a schema would be in that of ragdb
        connection.execute(f"alter role {LOGIN} set search_path = public, ragdb")
    with connect(superuser, dbname=DATABASE) as connection:
        prepare.prepare(connection)


class NoPlace(EmbeddedError):
    """There is no folder for it; the message says what to do."""

    hint = ""


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the one right to start, stop or install the server of a data folder."""
    import fasteners  # type: ignore[import-untyped]

    lock = fasteners.InterProcessLock(folder.with_name(folder.name + ".lock"))
    try:
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
            folder.parent.chmod(0o755 if os.geteuid() == 0 else 0o700)
        lock.acquire()
    except OSError as error:
        raise NoPlace(
            f"the embedded server cannot be kept in {folder.parent}: {error.strerror};"
            " set RAGDB_HOME to a folder that you may write to, or name a database with --dsn"
        ) from None
    try:
        yield
    finally:
        lock.release()
