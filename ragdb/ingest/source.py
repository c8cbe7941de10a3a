"""Something to read, and what was found of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory

from ragdb.ingest.opening import open_below, unreadable
from ragdb.readers.document import ReadError
from ragdb.readers.limits import MAX_BYTES

# what the origin of a contract's source begins with: the same on every machine, because a contract
# is read from many checkouts
CONTRACT_SOURCE = "contract source "


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read. `uri` names it in the corpus."""

    uri: str
    # the folder that may not be left and the way from it; None for what is not a file
    root: Path | None = None
    below: str = ""
    size: int | None = None
    # what the uris of all sources of the same argument begin with; empty for a single file
    prefix: str = ""
    # where it came from: the folder that was read, or that a file lies in; None where nobody says
    origin: str | None = None
    # whether it takes over a source of its name that came from elsewhere
    adopts: bool = False
    # whether an argument named it; otherwise it was found in a folder
    is_named: bool = True
    # what its giver says that it is
    media_type: str | None = None
    # its bytes, where the caller has them
    data: bytes | None = None

    @property
    def path(self) -> Path | None:
        """Where a file lies, for messages: opening goes through `open`."""
        return self.root / self.below if self.root else None

    @property
    def is_url(self) -> bool:
        """Whether it is fetched (`ragdb.ingest.fetch`) and not opened."""
        return self.root is None and self.data is None and "://" in self.uri

    def open(self) -> BufferedReader:
        """Open a file for reading; raises ReadError `unreadable` or `not_a_file`."""
        if self.root is None:
            raise ValueError(f"{self.uri} is not a file")
        return open_below(self.root, self.below)

    def read(self, max_bytes: int = MAX_BYTES) -> bytes:
        """The bytes of a file, of the caller or of standard input.

        Raises ReadError: `too_large` for more than `max_bytes`, also when the file grew since it
        was found.
        """
        if self.data is not None:
            data = self.data
        elif self.root is None:
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with self.open() as file:
                size = os.fstat(file.fileno()).st_size
                try:
                    data = b"" if size > max_bytes else file.read(max_bytes + 1)
                except OSError as error:  # of the disk, or of a network
                    raise unreadable(error) from None
            if size > max_bytes:
                raise too_large(size, max_bytes)
        if len(data) > max_bytes:
            raise too_large(len(data), max_bytes)
        return data


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a folder that is not read on purpose, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A folder that cannot be listed, or a file that cannot be looked at, and why."""

    uri: str
    error: ReadError


@dataclass(slots=True)
class Found:
    """What the arguments mean: sources in the order of their uris, and what failed by name."""

    sources: list[Source] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[tuple[str, ReadError]] = field(default_factory=list)
    # uris of what lies in a folder and cannot be looked into: files may be behind it
    hidden: list[str] = field(default_factory=list)
    # where contents wait that were fetched to be found
    folder: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove what was fetched."""
        if self.folder is not None:
            self.folder.cleanup()


def too_large(size: int, max_bytes: int) -> ReadError:
    """The refusal of a source over the limit."""
    return ReadError(
        "too_large",
        f"it has {size} bytes or more, over the limit of {max_bytes}",
        "raise the limit with --max-bytes, or split it",
    )
