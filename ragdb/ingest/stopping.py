"""Ctrl-C, heard at once and obeyed where nothing is half done.

An exception that is raised in the middle of a statement leaves a connection that waits for an
answer nobody takes; what is tried on it next fails for a reason of its own. So while a run holds
the signals, they cancel the statement in the server, and the run ends by the error that this gives
or at its next step.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self

import psycopg

Handler = Callable[[int, FrameType | None], None]


def heard_by(handler: Handler) -> dict[signal.Signals, Any]:
    """Have what asks a program to stop heard, but what is ignored, as in a background job.

    Returned are the handlers before, which `signal.signal` takes.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}


class Stop:
    """Nobody asks a run to stop: exceptions come as Python raises them."""

    def check(self) -> None:
        """Raise KeyboardInterrupt where somebody has asked."""

    @contextlib.contextmanager
    def unheld(self) -> Iterator[None]:
        """A step without statements, which may be left anywhere."""
        yield

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """A short step that is left nowhere, however often somebody asks."""
        yield


class Left(Stop):
    """Ends a run in another thread once whoever waits for it, in this context, has left."""

    def __init__(self) -> None:
        self._is_left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_left = True

    def check(self) -> None:
        if self._is_left:
            raise CancelledError

    @contextlib.contextmanager
    def unheld(self) -> Iterator[None]:
        self.check()
        yield


class Signals(Stop):
    """Holds the signals that ask a program to stop, as a context around a run."""

    def __init__(self, connection: psycopg.Connection[Any], say: Callable[[str], None]) -> None:
        self.connection, self.say = connection, say
        self.asked = 0
        self._is_held, self._is_whole = True, False
        self._over = threading.Event()
        self._canceller = threading.Thread(target=self._cancel, daemon=True)

    def __enter__(self) -> Self:
        self._before = heard_by(self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._canceller.is_alive():
            self._canceller.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.asked and (error is None or isinstance(error, psycopg.Error)):
            raise KeyboardInterrupt from error

    def check(self) -> None:
        if self.asked:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def unheld(self) -> Iterator[None]:
        self._is_held = False
        try:
            self.check()
            yield
        finally:
            self._is_held = True

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        self._is_whole = True
        try:
            yield
        finally:
            self._is_whole = False
        self.check()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        if self.asked == 1:
            self.say("stopping")
        # whoever asks twice does not care what is half done
        if not self._is_whole and (not self._is_held or self.asked > 1):
            raise KeyboardInterrupt
        if self._is_held and self.asked == 1:
            self._canceller.start()

    def _cancel(self) -> None:
        """Cancel what runs in the server, and what is started before the run has heard of it."""
        has_failed = False
        while not self._over.is_set():
            try:
                self.connection.cancel_safe(timeout=5)
            except (psycopg.Error, RuntimeError) as error:
                if not has_failed and not self._over.is_set():
                    self.say(f"the statement that runs could not be cancelled: {error}")
                has_failed = True
            self._over.wait(0.5)
