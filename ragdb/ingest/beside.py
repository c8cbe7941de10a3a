"""What stands beside the folder of a channel in an export of Slack: who and what the ids mean.

It is read where a folder was named: the export, or the channel's folder in it. Who names the file
of one day has only that file read. By itself it is no document, unless somebody names it.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from functools import lru_cache
from pathlib import Path

from ragdb.client.rows import loads
from ragdb.ingest.opening import open_below
from ragdb.ingest.source import Source
from ragdb.readers.channel import Names, is_day, is_message, named
from ragdb.readers.document import ReadError
from ragdb.readers.limits import MAX_BYTES

_PEOPLE = ("org_users.json", "users.json")
_CHANNELS = ("channels.json", "groups.json")
INDEXES = frozenset({*_PEOPLE, *_CHANNELS, "dms.json", "mpims.json", "integration_logs.json"})


def names(source: Source) -> Names:
    """The names for a day of a channel, by its way `export/channel/day.json`."""
    if source.root is None:
        return Names()
    *way, _ = source.below.split("/")
    root = source.root if way else source.root.parent
    people, channels = (
        {id: name for file in files for id, name in _named(root, "/".join([*way[:-1], file]))}
        for files in (_PEOPLE, _CHANNELS)
    )
    return Names(people, channels)


def is_export(root: Path, folder: str) -> bool:
    """Tell whether a folder is an export of Slack: a folder in it has a day of a channel."""
    with contextlib.suppress(OSError), os.scandir(root / folder) as scanned:
        inner = sorted(one.name for one in scanned if one.is_dir(follow_symlinks=False))
        return any(_is_channel(root, posixpath.join(folder, name)) for name in inner)
    return False


def _is_channel(root: Path, folder: str) -> bool:
    """Tell whether the first day that a folder has is one of a channel."""
    with contextlib.suppress(ReadError, OSError, ValueError):
        days = [name for name in os.listdir(root / folder) if is_day(name)]
        if days:
            with open_below(root, f"{folder}/{min(days)}") as file:
                data = file.read(MAX_BYTES + 1)
            said = loads(data.decode("utf-8-sig"), once=False) if len(data) <= MAX_BYTES else None
            return isinstance(said, list) and bool(said) and all(map(is_message, said))
    return False


def _named(root: Path, below: str) -> tuple[tuple[str, str], ...]:
    """Ids and names of a file; none where it is not there, or something else."""
    with contextlib.suppress(ReadError, OSError), open_below(root, below) as file:
        status = os.fstat(file.fileno())
        return _read(root, below, status.st_mtime_ns, status.st_size)
    return ()


@lru_cache(maxsize=8)  # for all days of an export; one that was written again is read again
def _read(root: Path, below: str, written: int, size: int) -> tuple[tuple[str, str], ...]:
    with open_below(root, below) as file:
        data = file.read(MAX_BYTES + 1)
    with contextlib.suppress(ValueError):
        if len(data) <= MAX_BYTES:
            return tuple(named(loads(data.decode("utf-8-sig"), once=False)))
    return ()
