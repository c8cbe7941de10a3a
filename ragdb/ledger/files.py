"""Files that are written whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace(file: Path, content: bytes) -> None:
    """Write a file whole: after a crash it is the old one or the new one.

    A device or a pipe, such as /dev/stdout, is written to as it is.
    """
    file = file.resolve()
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    beside = file.with_name(f".{file.name}.new")
    with _no_remains(beside, file), beside.open("wb") as out:
        out.write(content)
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
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with _no_remains(file, file), open(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


@contextmanager
def _no_remains(written: Path, file: Path) -> Iterator[None]:
    """Remove what a full disk did not take, and name the file: Python knows the name no more."""
    try:
        yield
    except OSError as error:
        written.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from None
