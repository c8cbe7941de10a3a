"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

NO_ROOM = "make room there, or set TMPDIR to another folder"
"""What to do where a temporary file cannot be written."""


def replace(file: Path, content: bytes) -> None:
    """Write a file whole: after a crash it is the old one or the new one.

    A device or a pipe, such as /dev/stdout, is written to as it is.
    """
    file = file.resolve()
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    with draft(file) as out:
        out.write(content)


@contextlib.contextmanager
def draft(file: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file of `mode`, less the umask, beside its place, where it goes when all is on disk."""
    _clear(file)
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with _no_remains(beside, file), open(_new(beside, mode), "wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())
        os.replace(beside, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def create(file: Path, content: bytes) -> None:
    """Write a new file that only its owner can read, whole. Raises FileExistsError."""
    descriptor = _new(file, 0o600)
    with _no_remains(file, file), open(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def append(file: Path, line: str) -> None:
    """Add a line to a file that only its owner can read, or make the file: the whole line."""
    # without a buffer, which would write again what there is no room for as it is closed
    with open(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b", 0) as out:
        size = out.seek(0, os.SEEK_END)
        if size:
            out.seek(-1, os.SEEK_END)
            line = line if out.read() == b"\n" else f"\n{line}"
        left = line.encode()
        try:
            while left:
                left = left[out.write(left) :]
            os.fsync(out.fileno())
        except OSError:
            out.truncate(size)
            raise


def _new(file: Path, mode: int) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


@contextlib.contextmanager
def _no_remains(written: Path, file: Path) -> Iterator[None]:
    """Remove what was not written whole, and name the file: of a full disk Python knows no name."""
    try:
        yield
    except BaseException as error:
        written.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(file)) from None
        raise


def _clear(file: Path) -> None:
    """Remove the drafts of those that were killed: nothing was written to them for an hour."""
    for left in file.parent.glob(f".{glob.escape(file.name)}.{'?' * 8}"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - 3600:
                left.unlink()
