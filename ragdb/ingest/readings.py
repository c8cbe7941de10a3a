"""How files were read, kept in the database, so that a file that is as it was is not read again.

Bytes decide, not times: a file is hashed. What shapes its documents beside the bytes is hashed too.
The database says which documents are what would be read. No file is known so of which something
failed, because it may be read tomorrow, nor one that a reader of another package reads, because
nobody can say what that reads by. Of a program that converts files it is kept which one it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any
from uuid import UUID

from ragdb.client.client import Client
from ragdb.ingest.options import CHUNKING, READING
from ragdb.ingest.report import FileResult
from ragdb.ingest.source import Source
from ragdb.ingest.stopping import Stop
from ragdb.readers import converting, formats, plugs
from ragdb.readers.document import ReadError
from ragdb.readers.limits import MAX_BYTES
from ragdb.version import __version__

LIBRARIES = (
    *("charset-normalizer", "cobble", "defusedxml", "docutils", "html-to-markdown", "lxml"),
    *("mammoth", "markdown-it-py", "mdurl", "pypdfium2", "python-calamine", "python-pptx"),
    *("PyYAML", "striprtf"),
)
"""What the readers import, and what makes texts of that."""

FOUND = ("pages_without_text", "bad_characters", "cut")
"""What is told of a file and that its documents do not say."""

_KNOWN = ("doc_cid", "documents", "empty", "chunks", "tokens", "pages")
_SHAPELESS = {"blobs", "allow_private", "known", "convert"}  # the command of a file is noted
_AT_ONCE = 1000
_AT_ONCE_BYTES = 2**28


@cache
def readers() -> str:
    """A hash of all that reads: Python, the libraries, and the modules that read and cut."""
    hashed = hashlib.sha256(f"{platform.python_version()}\0{__version__}".encode())
    for library in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            hashed.update(f"\0{library}\0{version(library)}".encode())
    for package in ("ragdb.ingest", "ragdb.readers"):
        for module in sorted(files(package).iterdir(), key=lambda module: module.name):
            if module.name.endswith(".py"):
                hashed.update(f"\0{module.name}\0".encode() + module.read_bytes())
    return hashed.hexdigest()


@dataclass
class _Whole:
    source: Source
    file: FileResult
    given: int = 0
    """How many of its documents are on their way, or there."""
    cid: str | None = None
    """Its identity, once all of it was read."""
    event_id: str = ""
    """The last of those of its documents."""

    @property
    def is_there(self) -> bool:
        is_read = self.cid is not None and not self.file.failed
        return is_read and self.file.documents == self.given


class Wholes:
    """Files of conversations or records, until all of their documents are there and it is noted."""

    def __init__(self, db: Client, corpus: str, options: Mapping[str, Any]) -> None:
        self.db, self.corpus, self.options = db, corpus, options
        self.files: dict[str, _Whole] = {}

    def begin(self, source: Source, file: FileResult) -> None:
        """A document of a file is to be written."""
        self.files.setdefault(file.uri, _Whole(source, file)).given += 1

    def read(self, file: FileResult, cid: str | None) -> None:
        """A file was read so far; its identity comes with what is the last of it."""
        if file.uri in self.files:
            self.files[file.uri].cid = cid

    def wrote(self, file: FileResult, event_id: UUID) -> None:
        """A document of a file is there."""
        if file.uri in self.files:
            one = self.files[file.uri]
            one.event_id = max(one.event_id, str(event_id))

    def note(self) -> None:
        """Keep how the files were read that are there."""
        there = [one for one in self.files.values() if one.is_there]
        noted = [
            {
                **{name: getattr(one.file, name) for name in (*FOUND, "documents", "empty")},
                "uri": one.source.uri,
                "doc_cid": one.cid,
                "event_id": one.event_id,
                "reading": made,
            }
            for one in there
            if (made := reading(one.source, self.options))
        ]
        if noted and not self.options.get("dry_run"):
            self.db.note_readings(self.corpus, noted)
        for one in there:
            del self.files[one.file.uri]


def reading(source: Source, options: Mapping[str, Any]) -> str | None:
    """A hash of what shapes the documents of a file beside its bytes; None where nobody can say."""
    ending = formats.ending(source.uri)
    command = converting.command_for(source.uri, options.get("convert"))
    is_plugged = ending not in formats.BY_ENDING and ending in plugs.endings()
    if source.root is None or (command is None and is_plugged):
        return None
    given = {name: options[name] for name in READING if options.get(name) is not None}
    shaping = {**CHUNKING, "max_bytes": MAX_BYTES, **given}
    of = {name: shaping[name] for name in shaping.keys() - _SHAPELESS}
    program = converting.identity(command) if command else []
    whole = [source.uri, source.origin, source.media_type, readers(), of, program]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def unchanged(
    db: Client,
    corpus: str,
    given: Iterable[tuple[Source, FileResult]],
    present: Container[str],
    options: Mapping[str, Any],
    stop: Stop,
) -> Iterator[tuple[FileResult, Source, bool]]:
    """Those of some files that are stored as they would be read, with what is known of them.

    `present` are the uris of those that are documents. With each comes whether it has records.
    """
    # what a file of records or chats is called has no document
    known = (
        (source, file)
        for source, file in given
        if source.uri in present or formats.may_have_records(source.uri)
    )
    for some in _batches(known):
        with stop.unheld():
            asked = [one for source, _ in some for one in _asked(source, options)]
        if not asked:
            continue
        with db.connection.transaction(force_rollback=options.get("dry_run", False)):
            stored = {row.uri: row for row in db.unchanged_sources(corpus, asked)}
        for source, file in some:
            if row := stored.get(source.uri):
                for name in (*FOUND, *_KNOWN):
                    setattr(file, name, getattr(row, name))
                yield file, source, row.has_records


def _batches(
    given: Iterable[tuple[Source, FileResult]],
) -> Iterator[list[tuple[Source, FileResult]]]:
    some: list[tuple[Source, FileResult]] = []
    size = 0
    for source, file in given:
        some.append((source, file))
        size += source.size or 0
        if len(some) == _AT_ONCE or size > _AT_ONCE_BYTES:
            yield some
            some, size = [], 0
    yield some


def _asked(source: Source, options: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """What the database is asked of a file, where that can be read and is known so."""
    made = reading(source, options)
    if made is None or (source.size or 0) > options.get("max_bytes", MAX_BYTES):
        return
    # whoever reads it says why it cannot be read
    with contextlib.suppress(ReadError, OSError), source.open() as file:
        cid = hashlib.file_digest(file, "sha256").hexdigest()
        yield {"uri": source.uri, "doc_cid": f"sha256:{cid}", "reading": made}
