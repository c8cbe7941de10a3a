"""What changes in some paths, for `ragdb ingest --watch`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragdb.errors import CorpusNotFound
from ragdb.ingest import origins
from ragdb.ingest.options import look
from ragdb.ingest.source import Found, Source
from ragdb.readers import formats

if TYPE_CHECKING:
    from ragdb.client.client import Client


# how many times as long as it looks a watch rests, so that many files do not take a whole processor
_REST = 4

# a source with the time and the size that it had
Known = tuple[Source, tuple[int, int]]


def _alone(source: Source) -> Source:
    """A source that is read without its folder: what prune may remove are records of it."""
    if source.is_named:
        return source
    records = f"{source.uri}#" if formats.may_have_records(source.uri) else ""
    return replace(source, prefix=records)


class Watch:
    """What lies in some paths, as it was seen last."""

    def __init__(self, paths: list[str], options: Mapping[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.known, _ = self._look()

    def changed(self, interval: float = 1.0) -> tuple[Found, list[Source]]:
        """Wait for a change; returns what is new or other, and what is gone."""
        while True:
            time.sleep(max(interval, _REST * self.looked_for))
            now, hidden = self._look()
            folders = {(source.prefix, source.origin) for source, _ in now.values()}
            unseen = {uri: known for uri, known in self.known.items() if uri not in now}
            gone = [
                source
                for uri, (source, _) in unseen.items()
                # a folder without any file may be a disk that is just not mounted
                if not source.is_named
                and (source.prefix, source.origin) in folders
                and not uri.startswith(tuple(hidden))
            ]
            before = self.known
            self.known = {**unseen, **now}
            for source in gone:
                del self.known[source.uri]
            other = [s for uri, (s, at) in now.items() if uri not in before or before[uri][1] != at]
            if other or gone:
                return Found(list(map(_alone, other))), gone

    def remove(self, db: Client, corpus: str, gone: list[Source]) -> int:
        """Take sources that are gone out of the corpus; returns how many documents went.

        Those that another folder took over stay.
        """
        removed = 0
        # a dry run may not have made it, nor one that found nothing to read
        with (
            contextlib.suppress(CorpusNotFound),
            db.connection.transaction(force_rollback=self.options.get("dry_run", False)),
        ):
            uris = origins.still(db, corpus, {source.uri: source.origin for source in gone})
            removed += db.delete_sources(corpus, uris).documents_deleted
            for source in gone:
                if formats.may_have_records(source.uri):
                    records = db.prune_sources(corpus, f"{source.uri}#", [], source.origin)
                    removed += records.documents_deleted
        return removed

    def _look(self) -> tuple[dict[str, Known], list[str]]:
        """What is there, by its uri, and the uris of folders and files that cannot be looked at."""
        began = time.perf_counter()
        found = look(self.paths, self.options)
        seen = {}
        for source in found.sources:
            if source.path is not None:
                with contextlib.suppress(OSError):
                    at = source.path.stat()
                    seen[source.uri] = (source, (at.st_mtime_ns, at.st_size))
        self.looked_for = time.perf_counter() - began
        return seen, found.hidden
