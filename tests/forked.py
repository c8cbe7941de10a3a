"""`ragdb` in processes forked from one that has imported what they need, which is most of a start.

A process of its own waits for what is to be run and forks; no thread of a test is copied. What is
run reads its arguments and its environment as one that was started anew. Where the start is the
claim, such as what it imports, a test starts Python. What tests run beside themselves in Python of
their own comes from PROCESSES, which have imported it too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).parents[1]
PAGE = 2**16  # bytes
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "tests.ingest.test_concurrency",
        "tests.ingest.test_crash",
        "tests.models.test_embed_worker",
        "tests.sql.documents.test_documents_writers",
    ]
)
# what every verb imports when it runs, and what single ones
COMMON = (
    "pydantic.fields", "pydantic.functional_validators", "pydantic.type_adapter", "ragdb.cli.lost",
    "ragdb.cli.main", "ragdb.database", "ragdb.models.searching", "rich.console", "rich.table",
)  # fmt: skip
INSTALL = ("ragdb.server.embedded", "alembic.command", "sqlalchemy.dialects.postgresql.psycopg")
IMPORTS = {
    "serve": (
        "fastapi_offline", "pydantic.v1", "uvicorn.lifespan.on", "uvicorn.loops.auto",
        "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto", "ragdb.http.app",
        "ragdb.http.protocol", "ragdb.studio.app",
    ),
    "init": INSTALL,
    "up": INSTALL,
    "ingest": ("ragdb.ingest", "ragdb.ingest.options", "ragdb.cli.ingested"),
    "mcp": ("ragdb.mcp.server", "uvicorn.protocols.http.auto"),
}  # fmt: skip


class Forked:
    """A process of `ragdb` with the methods of `subprocess.Popen` that tests use, in text.

    What it writes to stdout is lost unless `stdout` is asked for.
    """

    patience = 120.0  # seconds: how long it may go on behind its block before it is killed

    def __init__(
        self,
        *arguments: str,
        env: dict[str, str],
        cwd: Path | None = None,
        stdout: bool = False,
        is_joined: bool = False,
    ) -> None:
        """`is_joined` has it write what goes to stderr to stdout."""
        self._told, told = socket.socketpair()
        errors, write_errors = os.pipe()
        out, write_out = os.pipe() if stdout else (None, os.open(os.devnull, os.O_WRONLY))
        with told:
            said = {"arguments": arguments, "env": env, "cwd": str(cwd or Path.cwd())}
            socket.send_fds(
                _forker(env.get("PYTHONPATH", "")),
                [json.dumps(said).encode() + b"\n"],
                [told.fileno(), write_out, write_out if is_joined else write_errors],
            )
        os.close(write_errors)
        os.close(write_out)
        encoding = env.get("PYTHONIOENCODING", "utf-8")
        self.stdout: IO[str] | None = None if out is None else os.fdopen(out, encoding=encoding)
        self.stderr: IO[str] = os.fdopen(errors)
        self.returncode: int | None = None
        self.pid = int(self._line() or 0)
        assert self.pid, "the process that forks is gone"

    def _line(self) -> str:
        """What the forker tells next: the number of the process, then how it ended."""
        line = b""
        while not line.endswith(b"\n") and (byte := self._told.recv(1)):
            line += byte
        return line.decode()

    def poll(self) -> int | None:
        """How the process ended, or None."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """How the process ended, once it has. Raises TimeoutExpired."""
        ended = self._ended(timeout)
        if ended is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("ragdb", timeout)
        return ended

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int(self._line())
            self._told.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What the process writes to stdout and stderr until it ends. Raises TimeoutExpired."""
        until = None if timeout is None else time.monotonic() + timeout
        said = ["", ""]

        def read(place: int, file: IO[str]) -> None:
            with file:
                said[place] = file.read()

        files = enumerate([self.stdout, self.stderr])
        readers = [
            threading.Thread(target=read, args=(place, file), daemon=True)
            for place, file in files
            if file
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if until is None else max(0, until - time.monotonic()))
            if reader.is_alive():
                assert timeout is not None
                raise subprocess.TimeoutExpired("ragdb", timeout)
        self.wait(None if until is None else max(0, until - time.monotonic()))
        return said[0], said[1]

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdout, self.stderr):
            if file:
                file.close()
        try:
            self.wait(self.patience)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            raise


def run_forked(
    *arguments: str, env: dict[str, str], timeout: float, **how: Any
) -> subprocess.CompletedProcess[str]:
    """How a verb ended, and what it wrote."""
    with Forked(*arguments, env=env, stdout=True, **how) as process:
        said = process.communicate(timeout)
    return subprocess.CompletedProcess(arguments, process.wait(), *said)


@cache
def _forker(path: str) -> socket.socket:
    """The process that forks with a path of modules; it ends with this one."""
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.forked"],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,  # a terminal is written to line by line
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )

    def end() -> None:
        ours.close()
        process.wait(120)

    atexit.register(end)
    return ours


def main() -> None:
    gc.disable()  # while what stays for good is imported
    for module in COMMON:
        importlib.import_module(module)
    import typer.main

    from ragdb.__main__ import main as ragdb
    from ragdb.cli.main import app

    # the verbs are made once: it takes as long as most of them
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(app)

    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        said, files, *_ = socket.recv_fds(asked, PAGE, 3)
        if not said:
            return
        while not said.endswith(b"\n"):
            said += asked.recv(PAGE)
        run = json.loads(said)
        for verb in set(run["arguments"]) & IMPORTS.keys():
            for module in IMPORTS[verb]:
                importlib.import_module(module)
        gc.freeze()
        if os.fork() == 0:
            gc.enable()
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _begin(*files)
            _become(files[1], files[2], **run)
            ragdb()
            return
        for file in files:
            os.close(file)


def _begin(told: int, out: int, errors: int) -> None:
    """Return in a process of its own, and tell its number and its end from this one."""
    _end_with_parent()
    pid = os.fork()
    if pid == 0:
        _end_with_parent()
        os.close(told)
        return
    os.close(out)
    os.close(errors)
    os.write(told, f"{pid}\n".encode())
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        os.write(told, f"{ended}\n".encode())
    os._exit(0)


def _end_with_parent() -> None:
    """Be sent SIGTERM when the parent is gone: a killed run stops nothing itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _become(out: int, errors: int, arguments: list[str], env: dict[str, str], cwd: str) -> None:
    """Take the files, arguments, environment and folder of what is to be run."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, number in ((nothing, 0), (out, 1), (errors, 2)):
        os.dup2(file, number)
        os.close(file)
    # what Python knows of the file that it began with, such as whether it can seek, is not of this
    encoding = env.get("PYTHONIOENCODING", "utf-8")
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.argv = ["ragdb", *arguments]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    # a shell that starts the tests in the background has them ignore the one, and nohup the other
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


if __name__ == "__main__":
    main()
