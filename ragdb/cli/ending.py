"""Ctrl-C before a verb runs. This imports nothing else of ragdb: what it is for takes its time."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130
# what asks a program to stop: Ctrl-C, a polite kill, a terminal that is closed
STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def end_at_once() -> None:
    """Until a verb runs there is nothing to put away, and Ctrl-C ends the program."""
    for number in STOPS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, end)


def end(number: int, frame: FrameType | None) -> None:
    """Handle a signal."""
    os._exit(INTERRUPTED)


def interrupt() -> list[signal.Signals]:
    """While a verb runs, have what would end it raise KeyboardInterrupt, and say which that is.

    psycopg then cancels the statement that runs: the server goes on with that of a program that
    is gone, and commits it.
    """
    heard = [number for number in STOPS if signal.getsignal(number) == end]
    for number in heard:
        signal.signal(number, signal.default_int_handler)
    return heard


def leave_to_server() -> None:
    """A verb that serves puts itself away by handlers of its own, and ends as others do."""
    for number in STOPS[1:]:
        if signal.getsignal(number) == signal.default_int_handler:
            signal.signal(number, signal.SIG_DFL)
