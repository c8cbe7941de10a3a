"""The globs that choose among the files of a folder."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath

_MAX_GLOB = 1024
_MAX_STARS = 16


def check_glob(glob: str) -> str:
    """Return the glob, or raise ValueError for one that is too long or leaves its folder."""
    if not glob or len(glob) > _MAX_GLOB or glob.count("*") > _MAX_STARS:
        raise ValueError(f"a glob has 1 to {_MAX_GLOB} characters and up to {_MAX_STARS} stars")
    if glob.startswith(("/", "~")) or ".." in PurePosixPath(glob).parts:
        raise ValueError(f"the glob {glob!r} leaves the folder")
    return glob


def matches(below: str, glob: str | None) -> bool:
    """Whether a path below a folder matches; in time linear in the path but for the stars."""
    if glob is None:
        return True
    if "/" not in glob:
        return fnmatchcase(below.rpartition("/")[2], glob)
    names, patterns = below.split("/"), glob.split("/")

    @cache
    def match(i: int, j: int) -> bool:
        if j == len(patterns):
            return i == len(names)
        if patterns[j] == "**":
            return match(i, j + 1) or (i < len(names) and match(i + 1, j))
        return i < len(names) and fnmatchcase(names[i], patterns[j]) and match(i + 1, j + 1)

    return match(0, 0)
