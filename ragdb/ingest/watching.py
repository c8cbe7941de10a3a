"""What changes in some paths, for `ragdb ingest --watch`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragdb.errors import DocumentNotFound
from ragdb.ingest.options import look
from ragdb.ingest.source import Found, Source
from ragdb.readers import formats

if TYPE_CHECKING:
    from ragdb.client.client import Client


class Watch:
    """What lies in some paths, as it was seen last."""

    def __init__(self, paths: list[str], options: Mapping[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.known = self._look()

    def changed(self, interval: float = 1.0) -> tuple[Found, list[str]]:
        """Wait for a change; returns what is new or other, and the uris of what is gone."""
        while True:
            time.sleep(interval)
            now = self._look()
            before, self.known = self.known, now
            other = [s for uri, (s, at) in now.items() if uri not in before or before[uri][1] != at]
            gone = [uri for uri in before if uri not in now]
            if other or gone:
                return Found(other), gone

    def remove(self, db: Client, corpus: str, gone: list[str]) -> None:
        """Take sources that are gone out of the corpus."""
        for uri in gone:
            with contextlib.suppress(DocumentNotFound), db.connection.transaction():
                if formats.has_records(uri):
                    db.prune_sources(corpus, f"{uri}#", [])
                else:
                    db.delete_source(corpus, uri)

    def _look(self) -> dict[str, tuple[Source, tuple[int, int]]]:
        seen = {}
        for source in look(self.paths, self.options).sources:
            if source.path is not None:
                with contextlib.suppress(OSError):
                    at = source.path.stat()
                    seen[source.uri] = (source, (at.st_mtime_ns, at.st_size))
        return seen
