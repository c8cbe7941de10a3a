"""Read and chunk one source: what a worker does, in this process or in another.

A source is one task, or several for a JSONL file of many records.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragdb.ingest import beside, payload
from ragdb.ingest.languages import beginning
from ragdb.ingest.opening import Hashed, unreadable
from ragdb.ingest.options import CHUNKING, READING
from ragdb.ingest.report import Failed
from ragdb.ingest.source import Source
from ragdb.readers import channel, conversation, converting, formats
from ragdb.readers import read as readers
from ragdb.readers.document import unforeseen
from ragdb.readers.limits import MAX_BYTES

SLAB_BYTES = 2**18  # of records; one task of a worker
READ = 0.3  # part of the work on a file that reading it is; the rest is writing it
TOLD = 2**22  # bytes of a file that tells how far it is read
PASSED_OVER = frozenset({"unknown_type", "empty", "blank"})
"""Why a file that lies in a folder, and that nobody named, is left out without failing."""
INDEXED = 65_536  # characters of a chunk that ragdb_internal.plain takes


@dataclass(frozen=True)
class Task:
    """What a worker gets: a source, or some lines of one."""

    source: Source
    options: Mapping[str, Any]
    documents: list[readers.Document] | None = None
    """Records of a JSONL file, read already."""
    error: readers.ReadError | None = None
    """Why there are no more of them."""
    at: int = 0
    """How far in the file they end, in bytes."""
    cid: str | None = None
    """Identity of the file, with the last of its records."""


@dataclass(frozen=True)
class Ready:
    """A document as `ragdb.put_documents` takes it."""

    uri: str
    json: bytes
    language: str | None = None
    # where it names no language: what that is told by
    beginning: str | None = None
    # of a conversation; null for a text
    session: str | None = None
    joins: tuple[tuple[str, str], ...] = ()
    """Ids of its messages and of those elsewhere that they answer, or that answer them."""

    @property
    def is_conversation(self) -> bool:
        return self.session is not None

    def in_language(self, language: str) -> Ready:
        """The same in a language, where it named none."""
        return replace(
            self, language=language, json=b'{"language":"%b",' % language.encode() + self.json[1:]
        )


@dataclass
class Outcome:
    """What a worker returns."""

    documents: list[Ready] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    skipped: Failed | None = None
    """Why a file of a folder is left out, where that is not a failure."""
    type: str | None = None
    """Its ending, where that is why."""
    at: int = 0
    """How far in its file the work is."""
    empty: int = 0
    bad_characters: int = 0
    cut: int = 0
    cid: str | None = None
    """Identity of the file that was read, with what is the last of it."""
    unchanged: str | None = None
    """Identity of the document that a URL still gives."""
    etag: str | None = None
    pages: int | None = None
    pages_without_text: int = 0
    blob: bytes | None = None
    """The bytes of the file, where they are to be kept."""
    media_type: str = ""


def _nobody(part: float) -> None:
    """Nobody asked."""


def tasks(source: Source, options: Mapping[str, Any]) -> Iterator[tuple[Task, bool]]:
    """The work of one source: one task, or one for every few records; true with the last."""
    reading = {name: options[name] for name in READING if options.get(name) is not None}
    if source.root is None or not readers.is_jsonl(source.uri):
        yield Task(source, reading), True
        return
    limit: int = reading.get("max_bytes", MAX_BYTES)
    some: list[readers.Document] = []
    size = 0
    failed = cid = None
    try:
        with Hashed(source.open().detach()) as lines:
            if conversation.starts(lines, limit):
                # a tree is known only when all its messages are
                yield Task(source, reading), True
                return
            lines.rewind()
            for document in readers.read_jsonl(lines, max_line=limit):
                some.append(document)
                size += len(document.data)
                if size > SLAB_BYTES:
                    yield Task(source, reading, some, at=lines.tell()), False
                    some, size = [], 0
            cid = f"sha256:{lines.sha256.hexdigest()}"
    except readers.ReadError as error:
        failed = error
    except OSError as error:
        failed = unreadable(error)
    except Exception as error:
        failed = unforeseen(type(error).__name__)
    yield Task(source, reading, some, failed, cid=cid), True


def read(task: Task, tell: Callable[[float], None] | None = None) -> Outcome:
    """Read and chunk; what a worker does. `tell` hears which part of the work is done."""
    source, options = task.source, task.options
    if tell is None or (source.size or 0) < TOLD or task.documents is not None:
        tell = _nobody
    outcome = Outcome(at=task.at, cid=task.cid)
    error = task.error
    if task.documents is not None:
        for document in task.documents:
            try:
                _prepare(outcome, source, _declared(document, options), options)
            except Exception as failed:
                why = unforeseen(type(failed).__name__)
                uri = payload.uri_of(document, source.uri)
                outcome.failures.append(Failed(uri, why.reason, why.hint))
    else:
        try:
            tell(0.0)
            for document in _documents(source, options, outcome, tell):
                _prepare(outcome, source, document, options, outcome.etag, tell)
                tell(READ)
                if _is_file(document, source.uri) and options.get("blobs", True):
                    outcome.blob, outcome.media_type = document.data, document.media_type
        except readers.ReadError as failed:
            error = failed
        except OSError as failed:  # of the machine, such as a limit of open files or of processes
            error = unreadable(failed, "see what the machine lacks, and run the command again")
        except Exception as failed:
            error = unforeseen(type(failed).__name__)
    if error is not None and not source.is_named and error.code in PASSED_OVER:
        outcome.skipped = Failed(source.uri, error.reason, error.hint)
        if error.code == "unknown_type":
            outcome.type = formats.ending(source.uri) or "without an ending"
    elif error is not None:
        outcome.failures.append(Failed(source.uri, error.reason, error.hint))
    return outcome


def _documents(
    source: Source,
    options: Mapping[str, Any],
    outcome: Outcome,
    tell: Callable[[float], None],
) -> list[readers.Document]:
    limit: int = options.get("max_bytes", MAX_BYTES)
    media_type = options.get("media_type") or source.media_type
    if source.is_url:
        from ragdb.ingest.fetch import fetch

        private = options.get("allow_private", False)
        known, cid = options.get("known") or (None, None)
        fetched = fetch(source.uri, etag=known, max_bytes=limit, allow_private=private)
        if fetched.data is None:
            outcome.unchanged = cid
            return []
        data, outcome.etag = fetched.data, fetched.etag
        media_type = media_type or fetched.media_type
    else:
        data = source.read(limit)
        outcome.cid = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if source.is_named and media_type is None:
            media_type = "text/plain"  # where its name says nothing, and it is text
    tell(READ / 10)
    commands = options.get("convert") or {}
    command = converting.command_for(source.uri, commands)
    given: dict[str, Any] = {name: options.get(name) for name in ("title", "language", "metadata")}
    if channel.session_of(source.uri) is not None and not source.is_named:
        given["names"] = beside.names(source)
    if tell is not _nobody:
        given["tell"] = lambda part: tell(READ * (0.1 + 0.4 * part))
    if command is None:
        documents = readers.read(data, source.uri, media_type, max_bytes=limit, **given)
    else:
        file = converting.given_to(commands, data, source.uri, limit)
        made, name = converting.convert(command, *file)
        # what it is, is what there was: bytes and type are those of the original
        kind = mimetypes.guess_type(source.uri)[0] or "application/octet-stream"
        try:
            found_in = readers.read(made, name, max_bytes=max(limit, len(made)), **given)
        except readers.ReadError as error:
            if error.code == "unknown_type":
                raise converting.not_read(command, error) from None
            raise
        documents = [
            replace(one, data=data, media_type=kind) if _is_file(one, name) else one
            for one in found_in
        ]
    tell(READ / 2)
    return documents


def _is_file(document: readers.Document, name: str) -> bool:
    """Whether a document is its whole file, and keeps its bytes; what lines say is not."""
    is_lines = document.messages is not None and readers.is_jsonl(name)
    return document.fragment is None and not is_lines


def _prepare(
    outcome: Outcome,
    source: Source,
    document: readers.Document,
    options: Mapping[str, Any],
    etag: str | None = None,
    tell: Callable[[float], None] = _nobody,
) -> None:
    outcome.bad_characters += document.replaced
    if document.fault is not None:
        fault = document.fault
        uri = payload.uri_of(document, source.uri)
        outcome.failures.append(Failed(uri, fault.reason, fault.hint))
        return
    if document.is_empty:
        outcome.empty += 1
        return
    language = document.language
    told_by = None if language else beginning(document)
    if document.messages is not None:
        said = payload.to_conversation(
            document, source.uri, root=source.origin, adopt=source.adopts
        )
        outcome.documents.append(
            Ready(said["uri"], _json(said), language, told_by, said["session"], document.joins)
        )
        return
    chunking = {name: options[name] for name in CHUNKING if name in options}
    name: str = options.get("source_name", "")
    ready = payload.to_payload(
        document,
        source.uri,
        source_name=name,
        etag=etag,
        root=source.origin,
        adopt=source.adopts,
        converter=converting.command_for(source.uri, options.get("convert")),
        tell=lambda part: tell(READ * (1 + part) / 2),
        **chunking,
    )
    outcome.documents.append(Ready(ready["uri"], _json(ready), language, told_by))
    outcome.cut += sum(
        len("\n".join([document.title or "", *chunk["heading"], chunk["text"]])) > INDEXED
        for chunk in ready["chunks"]
    )
    if document.fragment is None:
        outcome.pages = len(document.pages) or None
        outcome.pages_without_text = document.pages_without_text


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _declared(document: readers.Document, options: Mapping[str, Any]) -> readers.Document:
    """A record with what the caller says of every document."""
    given = {name: options[name] for name in ("title", "language") if options.get(name)}
    if options.get("metadata"):
        given["metadata"] = {**document.metadata, **options["metadata"]}
    return replace(document, **given) if given else document
