"""Which sources of a corpus came from elsewhere, and what is there at those that are read."""

from __future__ import annotations

from collections.abc import Iterable

from ragdb.client.client import Client
from ragdb.ingest.options import IngestError
from ragdb.ingest.source import Source

_AT_ONCE = 10_000


def present(db: Client, corpus: str, named: Iterable[tuple[str, Source]]) -> dict[str, str]:
    """The identities of the documents that are at some uris now.

    Raises IngestError for a uri that came from another folder than its source lies in now.
    """
    sources = dict(named)
    uris = list(sources)
    found: dict[str, str] = {}
    for n in range(0, len(uris), _AT_ONCE):
        for row in db.known_sources(corpus, uris[n : n + _AT_ONCE]):
            source = sources[row.uri]
            is_known = row.root is not None and source.origin is not None
            if is_known and row.root != source.origin and not source.adopts:
                raise _from_elsewhere(corpus, row.uri, str(row.root), str(source.origin))
            found[row.uri] = row.doc_cid
    return found


def _from_elsewhere(corpus: str, uri: str, there: str, here: str) -> IngestError:
    return IngestError(
        f"{uri} in corpus {corpus} came from {there}, not from {here}; nothing of it was written",
        "give what is read a name of its own: --prefix NAME; where it is the same in a new place,"
        " it takes over: --prefix .",
    )
