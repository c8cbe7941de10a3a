"""Readers of other packages: the entry points of the group `ragdb.readers`.

The name of an entry point is an ending (".dwg"), what it names takes the bytes of a file and
returns a text or a `ragdb.readers.document.Content`. It runs in a process like that of our own
readers: after its import it can open no file, and its memory and time are limited. Endings that
ragdb reads itself are not given away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ragdb.readers.document import Content, clean, newlines
from ragdb.readers.formats import BY_ENDING

GROUP = "ragdb.readers"


@cache
def endings() -> dict[str, EntryPoint]:
    """The endings that installed packages read, in lower case."""
    found = {point.name.lower(): point for point in entry_points(group=GROUP)}
    return {ending: point for ending, point in found.items() if ending not in BY_ENDING}


def load(ending: str) -> Callable[[bytes], Content]:
    """The reader of an ending."""
    read = endings()[ending].load()

    def reading(data: bytes) -> Content:
        made = read(data)
        if isinstance(made, Content):
            return made
        text, replaced = clean(newlines(str(made)))
        return Content(text=text, replaced=replaced)

    return reading
