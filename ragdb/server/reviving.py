"""Programs that run for long start the embedded server again where it died."""

from __future__ import annotations

import logging
import threading
from time import monotonic

from ragdb.server import embedded
from ragdb.server.postgres import EmbeddedError

log = logging.getLogger("ragdb.server")
PAUSE = 30.0  # seconds between two tries to start it


class Reviver:
    """Sees to it that the embedded server runs, from any thread, before a program connects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tried = -PAUSE

    def __call__(self) -> bool:
        """Whether the server runs, which is started where it died, but not again and again."""
        with self._lock:
            if embedded.status() is not None:
                return True
            if monotonic() < self._tried + PAUSE:
                return False
            try:
                if embedded.revive():
                    self._tried = monotonic()
                    log.warning("the server in %s was gone, and runs again", embedded.data_folder())
            except EmbeddedError as error:
                self._tried = monotonic()
                said = " ".join(str(error).split())
                log.error("%s", "; ".join(filter(None, (said, error.hint))))
            return embedded.status() is not None
