"""Ctrl-C before a verb runs. This imports nothing else of ragdb: what it is for takes its time."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130


def end_at_once() -> None:
    """Until a verb runs there is nothing to put away, and Ctrl-C ends the program."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


def end(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
    os._exit(INTERRUPTED)
