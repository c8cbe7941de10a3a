"""Where the socket of an embedded server is: in its data folder, or in a short one for it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

PORT = "5432"  # of the socket's name; said everywhere, so that PGPORT does not matter


def holds(folder: Path) -> bool:
    """Whether a socket in a folder has a name of 103 bytes at most.

    Nor may the name have a comma, which divides one folder, or host, from the next.
    """
    return len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= 103 and "," not in str(folder)


def short(folder: Path) -> Path:
    """The short one of a data folder, which it keeps where it is moved, and no copy has."""
    import hashlib

    found = folder.stat()
    which = f"{found.st_dev} {found.st_ino}".encode()
    return Path("/tmp") / f"ragdb-{hashlib.sha256(which).hexdigest()[:16]}"


def made(folder: Path, owner: int) -> Path | None:
    """The data folder itself, or the short one, which only the owner may enter, where it must be.

    None where somebody else has made the short one.
    """
    if holds(folder):
        return folder
    place = short(folder)
    # anybody may make something of that name: neither is it trusted, nor its owner changed
    with contextlib.suppress(FileExistsError):
        place.mkdir(mode=0o700)
        os.chown(place, owner, -1, follow_symlinks=False)
    found = place.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == owner
    return place if is_ours and not found.st_mode & 0o077 else None
