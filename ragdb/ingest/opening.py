"""Open a file step by step, so that no part of its path can become a link meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat
from io import BufferedReader, RawIOBase
from pathlib import Path

from ragdb.readers.document import ReadError


def open_below(root: Path, below: str) -> BufferedReader:
    """Open a file step by step, so that no part of its path can become a link meanwhile."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    *folders, name = below.split("/")
    try:
        at = os.open(root, flags | os.O_DIRECTORY)
        try:
            for folder in folders:
                inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            # not blocking: opening a FIFO would wait for its writer
            descriptor = os.open(name, flags | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
    except OSError as error:
        raise unreadable(error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReadError("not_a_file", "it is not a regular file", "give a file or a folder")
    return BufferedReader(os.fdopen(descriptor, "rb", buffering=0))


class Hashed(BufferedReader):
    """A file that is read once, from its beginning to its end, with a hash of what is read."""

    def __init__(self, file: RawIOBase) -> None:
        super().__init__(file)
        self.sha256 = hashlib.sha256()

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.sha256.update(data)
        return data

    def rewind(self) -> None:
        """Begin again."""
        self.seek(0)
        self.sha256 = hashlib.sha256()


def unreadable(error: Exception, hint: str | None = None) -> ReadError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "bad path"
    why = f"it cannot be read ({reason.lower()})"
    return ReadError("unreadable", why, hint or "check path and rights")
