"""Stops the servers in a folder, and removes it, once the process that made it is gone.

A signal ends a test run without its fixtures, SIGKILL without anything. This is a process of its
own: the end of its standard input is the end of the run, whatever ended it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 60  # seconds for a server to stop
MEMORY = Path("/dev/shm")
ROOM = 8 * 2**30  # bytes free there, of which a run takes about two


def base() -> Path:
    """Where the folders of servers are made: in memory, or as root outside any home."""
    if os.environ.get("RAGDB_TEST_HOME"):
        found = Path(os.environ["RAGDB_TEST_HOME"])
    elif MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        # a database of eight hundred files is copied for hundreds of tests
        found = MEMORY
    elif os.geteuid() == 0:
        found = Path("/var/lib/ragdb-test")
    else:
        found = Path(tempfile.gettempdir())
    found.mkdir(parents=True, exist_ok=True)
    return found


@contextlib.contextmanager
def watched_folder(where: Path | None = None) -> Iterator[Path]:
    """A folder for servers that is gone, with them, after the block or after the process."""
    folder = Path(tempfile.mkdtemp(dir=where or base(), prefix="ragdb-"))
    folder.chmod(0o711)
    watcher = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.watcher", str(folder)],
        stdin=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,  # Ctrl-C is not for it
    )
    assert watcher.stdin is not None
    try:
        yield folder
    finally:
        clear(folder)
        watcher.stdin.close()
        watcher.wait()


def clear(folder: Path) -> None:
    """Stop every server whose data lies in a folder, and remove the folder."""
    from ragdb.server import embedded, postgres

    until = time.monotonic() + PATIENCE
    # one that is starting does not answer yet
    while time.monotonic() < until and (
        running := [file for file in folder.glob("*/postmaster.pid") if lives(file)]
    ):
        for pid_file in running:
            data = pid_file.parent
            version = int((data / "PG_VERSION").read_text())
            with contextlib.suppress(postgres.EmbeddedError):
                if not embedded.stop(data, version):
                    time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


def lives(pid_file: Path) -> bool:
    """Whether the server that wrote the file runs; one that a test killed leaves it behind."""
    import psutil

    try:
        server = psutil.Process(int(pid_file.read_text().split("\n", 1)[0]))
        return bool(server.status() != psutil.STATUS_ZOMBIE)
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False


def main() -> None:
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    # most often the process has cleared it, and what that imports is most of what this one costs
    if folder.exists():
        clear(folder)


if __name__ == "__main__":
    main()
