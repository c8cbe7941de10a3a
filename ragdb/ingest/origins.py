"""Which sources of a corpus came from elsewhere, and what is there at those that are read."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ragdb.client._generated.rows import KnownSourcesRow
from ragdb.client.client import Client
from ragdb.ingest.folders import printable
from ragdb.ingest.options import IngestError
from ragdb.ingest.report import Twice
from ragdb.ingest.source import CONTRACT_SOURCE, Source

_AT_ONCE = 10_000


def present(db: Client, corpus: str, named: Iterable[tuple[str, Source]]) -> dict[str, str]:
    """The identities of the documents that are at some uris now.

    Raises IngestError for a uri that came from another folder than its source lies in now.
    """
    sources = dict(named)
    found: dict[str, str] = {}
    for row in _known(db, corpus, list(sources)):
        source = sources[row.uri]
        is_known = row.root is not None and source.origin is not None
        if is_known and row.root != source.origin and not source.adopts:
            raise _from_elsewhere(corpus, row.uri, str(row.root), str(source.origin))
        found[row.uri] = row.doc_cid
    return found


def still(db: Client, corpus: str, came: Mapping[str, str | None]) -> list[str]:
    """Those of some uris that are there and still come from where they came from."""
    return [row.uri for row in _known(db, corpus, list(came)) if row.root == came[row.uri]]


def of_contracts(db: Client, corpus: str) -> Iterator[tuple[str, str]]:
    """What sources of contracts have read into a corpus: the name of each, and the uri."""
    last = ""
    while page := db.list_documents(corpus, after=last, count=_AT_ONCE):
        last = page[-1].source
        for row in _known(db, corpus, [uri for document in page for uri in document.sources]):
            if row.root is not None and row.root.startswith(CONTRACT_SOURCE):
                yield row.root.removeprefix(CONTRACT_SOURCE), row.uri


def twice(db: Client, corpus: str, sources: Sequence[Source]) -> list[Twice]:
    """The files that the corpus has under another name too.

    They were read by themselves, or from a folder around or inside that which is read now.
    """
    found: dict[str, Twice] = {}
    for n in range(0, len(sources), _AT_ONCE):
        some = sources[n : n + _AT_ONCE]
        others = {name: source.uri for source in some for name in _other_names(source)}
        for row in _known(db, corpus, sorted({uri for uri, _ in others})):
            if mine := others.get((row.uri, row.root or "")):
                found.setdefault(mine, Twice(mine, row.uri, str(row.root)))
    return [found[uri] for uri in sorted(found)]


def _known(db: Client, corpus: str, uris: Sequence[str]) -> Iterator[KnownSourcesRow]:
    for n in range(0, len(uris), _AT_ONCE):
        yield from db.known_sources(corpus, uris[n : n + _AT_ONCE])


def _other_names(source: Source) -> Iterator[tuple[str, str]]:
    """What a file is called where another folder is read, and that folder.

    Whoever gives a folder a name of its own wants it so.
    """
    path = source.path
    if path is None or source.origin is None or source.adopts:
        return
    folders = [folder for folder in path.parents if source.is_named or folder != source.root]
    names = [(path.relative_to(folder.parent), folder) for folder in folders]
    if not source.is_named:
        names.append((Path(path.name), path.parent))
    for name, folder in names:
        uri = printable(unicodedata.normalize("NFC", name.as_posix()))
        yield uri, printable(str(folder))


def _from_elsewhere(corpus: str, uri: str, there: str, here: str) -> IngestError:
    return IngestError(
        f"{uri} in corpus {corpus} came from {there}, not from {here}; nothing of it was written",
        "with --prefix . the contract takes it over"
        if here.startswith(CONTRACT_SOURCE)
        else "give what is read a name of its own: --prefix NAME; where it is the same in a new"
        " place, it takes over: --prefix .",
    )
