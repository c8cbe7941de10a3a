"""What stands beside the folder of a channel in an export of Slack: who and what the ids mean.

It is read where a folder was named: the export, or the channel's folder in it. Who names the file
of one day has only that file read.
"""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from pathlib import Path

from ragdb.client.rows import loads
from ragdb.ingest.opening import open_below
from ragdb.ingest.source import Source
from ragdb.readers.channel import Names, named
from ragdb.readers.document import ReadError
from ragdb.readers.read import MAX_BYTES

_PEOPLE = ("org_users.json", "users.json")
_CHANNELS = ("channels.json", "groups.json")


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
