"""How far a reader is in its file: it says so, and the process that it runs in passes it on."""

from __future__ import annotations

from collections.abc import Callable

_STEP = 0.01  # of the file; nobody wants to hear of less

_hear: Callable[[float], None] | None = None
_last = 0.0


def begin(hear: Callable[[float], None] | None) -> None:
    """A file is read next, and `hear` is told of it."""
    global _hear, _last
    _hear, _last = hear, 0.0


def tell(done: int, of: int, begin: float = 0.0, end: float = 1.0) -> None:
    """So many of so many are done, of a step that is that part of the whole."""
    global _last
    if _hear is None:
        return
    part = begin + (end - begin) * done / max(of, 1)
    if part >= _last + _STEP:
        _last = part
        _hear(part)
