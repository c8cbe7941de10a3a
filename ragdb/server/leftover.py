"""What a killed server leaves behind, which the next start has to see through."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

# what PostgreSQL says where a killed server has not gone yet
SAID = re.compile(r'lock file "[^"\n]*" (already exists|is empty)|pre-existing shared memory')
OLD = 10.0  # seconds, in which a server that starts has long written its number


def disown(pid_file: Path, folder: Path) -> None:
    """Where the number of a killed server now means something else, put our own number there.

    PostgreSQL takes whatever has that number for a running server: a zombie, or any program of this
    user after a restart of the machine or in a new container. The number of its starter it takes
    for a leftover. The rest stays: it names the shared memory by which PostgreSQL sees backends
    that still live.
    """
    try:
        pid, rest = pid_file.read_text().split("\n", 1)
        if serves(int(pid), folder) is False:
            pid_file.write_text(f"{os.getpid()}\n{rest}")
    except (OSError, ValueError):
        return


def serves(pid: int, folder: Path) -> bool | None:
    """Whether a process is a server that works in a data folder; None where nobody can say."""
    import psutil

    try:
        process = psutil.Process(pid)
        is_zombie = process.status() == psutil.STATUS_ZOMBIE
        return not is_zombie and _is_same(process.cwd(), folder)
    except (OSError, psutil.Error):
        return None


def moved_from(folder: Path) -> Path | None:
    """The folder in which a server works that was started in one of this name; None for none.

    Its folder was moved, but it writes some files by the name that it was started with.
    """
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.cmdline()[1:3] == ["-D", str(folder)]:
                works = process.cwd()
                if os.path.exists(works) and not _is_same(works, folder):
                    return Path(works)
    return None


def was_moved(folder: Path) -> bool:
    """Whether the server of a data folder runs that was started when this had another name."""
    try:
        pid, kept, *_ = (folder / "postmaster.pid").read_text().splitlines()
        return not _is_same(kept, folder) and serves(int(pid), folder) is True
    except (OSError, ValueError):
        return False


def _is_same(name: str, folder: Path) -> bool:
    return os.path.exists(name) and os.path.samefile(name, folder)


def forget(pid_file: Path) -> None:
    """Remove a file that stays without a number, as a machine leaves one that goes down just then.

    A server that starts at this moment is waited for until it has written its number.
    """
    began = time.monotonic()
    try:
        while (found := pid_file.stat()).st_size == 0:
            if time.time() - found.st_mtime > OLD or time.monotonic() - began > OLD:
                pid_file.unlink()
            else:
                time.sleep(0.1)
    except OSError:
        return
