"""`ragdb` in processes forked from one that has imported the HTTP server, which takes a second.

A process of its own waits for what is to be run and forks; no thread of a test is copied. What is
run reads its arguments and its environment as one that was started anew.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
PAGE = 2**16  # bytes


class Forked:
    """A process of `ragdb` with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, *arguments: str, env: dict[str, str]) -> None:
        self._told, told = socket.socketpair()
        errors, write_errors = os.pipe()
        with told:
            said = json.dumps({"arguments": arguments, "env": env}).encode() + b"\n"
            socket.send_fds(
                _forker(env.get("PYTHONPATH", "")), [said], [told.fileno(), write_errors]
            )
        os.close(write_errors)
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

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


@cache
def _forker(path: str) -> socket.socket:
    """The process that forks with a path of modules; it ends with this one."""
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.forked"],
            stdin=its.fileno(),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours


def main() -> None:
    # all that `ragdb serve` imports
    import uvicorn.lifespan.on
    import uvicorn.protocols.http.auto  # noqa: F401

    import ragdb.cli.main
    import ragdb.http.app
    import ragdb.http.protocol
    import ragdb.studio.app

    gc.freeze()
    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        said, files, *_ = socket.recv_fds(asked, PAGE, 2)
        if not said:
            return
        while not said.endswith(b"\n"):
            said += asked.recv(PAGE)
        if os.fork() == 0:
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _begin(*files)
            _become(files[1], **json.loads(said))
            ragdb.cli.main.main()
            return
        for file in files:
            os.close(file)


def _begin(told: int, errors: int) -> None:
    """Return in a process of its own, and tell its number and its end from this one."""
    pid = os.fork()
    if pid == 0:
        os.close(told)
        return
    os.close(errors)
    os.write(told, f"{pid}\n".encode())
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # who asked is gone
        os.write(told, f"{ended}\n".encode())
    os._exit(0)


def _become(errors: int, arguments: list[str], env: dict[str, str]) -> None:
    """Take the files, arguments and environment of what is to be run."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file, number in ((nothing, 0), (nothing, 1), (errors, 2)):
        os.dup2(file, number)
    os.close(nothing)
    os.close(errors)
    sys.argv = ["ragdb", *arguments]
    os.environ.clear()
    os.environ.update(env)


if __name__ == "__main__":
    main()
