"""The ingest driver: sources → readers → `ragdb.put_documents`, in order, in flat memory.

Files are read and chunked by worker processes and written by this one, in the order in which they
were found, whatever the number of workers. A batch is one transaction: documents are there whole or
not at all.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict

import psycopg
from psycopg.types.json import Jsonb

from ragdb.client.upkeep import maintain
from ragdb.errors import AlreadyExists, CorpusNotFound, DocumentNotFound, NotAuthorized, RagdbError
from ragdb.ingest import chunker, payload, sources
from ragdb.ingest.sources import Found, Source
from ragdb.readers import conversation
from ragdb.readers import read as readers
from ragdb.readers.document import storable

if TYPE_CHECKING:
    from ragdb.client._generated.functions import PutResult
    from ragdb.client.client import Client

MAX_BYTES = readers.MAX_BYTES
MAX_FAILURES = 1000
BATCH_BYTES = 4 * 2**20  # of JSON; one transaction
BATCH_DOCUMENTS = 1000
SLAB_BYTES = 2**18  # of records; one task of a worker
POOL_BYTES = 2 * 2**20  # below this, starting processes takes longer than they save
DRIFT = 0.1
INDEXED = 65_536  # characters of a chunk that ragdb._plain takes
CHUNKING: dict[str, Any] = {
    "strategy": "paragraph",
    "max_tokens": 240,
    "overlap": 48,
    "unit": "token",
}
READING = (
    *("title", "language", "metadata", "max_bytes", "blobs", "allow_private"),
    *("media_type", "source_name", "known"),
    *CHUNKING,
)


class IngestError(ValueError):
    """Something given to `ingest` cannot be used; nothing was read."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Options(TypedDict, total=False):
    """What `Database.ingest` takes beside paths and corpus."""

    glob: str | None
    """Names to take from folders, such as `*.md`; paths below the folder where it has a `/`."""
    name: str | None
    """Name of what is read from standard input, `-`; its ending says the type."""
    recursive: bool
    """Go into folders of folders (default true)."""
    force: bool
    """Write documents again that are there already."""
    dry_run: bool
    """Read, check and take everything back."""
    prune: bool
    """Remove sources under the folders and JSONL files given that are not there any more."""
    blobs: bool
    """Keep the original bytes of files (default true)."""
    workers: int
    """Processes that read (default 1: this one)."""
    title: str | None
    language: str | None
    media_type: str | None
    """What files are, whatever their names say."""
    source_name: str
    """Source of a contract that the documents are of."""
    metadata: dict[str, Any] | None
    """Added to, and preferred to, what a document says of itself."""
    allow_private: bool
    """Fetch URLs of hosts that are not on the public internet, too."""
    max_bytes: int
    """Largest file read (default 64 MiB)."""
    text_config: str
    """Text search configuration of a corpus that is made (default english)."""
    strategy: str
    max_tokens: int
    overlap: int
    unit: str
    """Chunking: see docs/chunker.md."""
    progress: Callable[[Progress], None] | None
    """Called after every file and batch."""


@dataclass(frozen=True)
class Failed:
    """A file or record that could not be read or stored."""

    uri: str
    reason: str
    hint: str | None


@dataclass
class FileResult:
    """What became of one file. A JSONL file has many documents, others one."""

    uri: str
    status: str = "unread"
    """ingested, unchanged, empty, skipped or failed; unread where a run was interrupted."""
    documents: int = 0
    written: int = 0
    empty: int = 0
    failed: int = 0
    chunks: int = 0
    tokens: int = 0
    pages: int | None = None
    pages_without_text: int = 0
    replaced: int = 0
    """Characters that no text has (NUL, lone surrogates), replaced by U+FFFD."""
    cut: int = 0
    """Chunks found by the words of their first 65,536 characters only, headings included."""
    doc_cid: str | None = None
    reason: str | None = None
    hint: str | None = None


@dataclass
class Report:
    """What one run did."""

    corpus: str
    files: list[FileResult]
    failures: list[Failed] = field(default_factory=list)
    """Every file and record that failed; at most 1,000."""
    documents: int = 0
    written: int = 0
    unchanged: int = 0
    empty: int = 0
    failed: int = 0
    skipped: int = 0
    cut: int = 0
    pruned: int = 0
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0
    created: bool = False
    optimized: bool = False
    dry_run: bool = False
    not_pruned: list[str] = field(default_factory=list)
    """Folders left alone by --prune, because something in them could not be read."""

    def settle(self, *, is_whole: bool = True) -> None:
        """Sum up the files. What a run that is not whole has not come to is unread."""
        for file in self.files:
            if file.status != "skipped":
                file.status = (
                    "failed"
                    if file.failed
                    else "ingested"
                    if file.written
                    else "unchanged"
                    if file.documents
                    else "empty"
                    if file.empty or is_whole
                    else "unread"
                )
        for name in ("documents", "written", "empty", "failed", "cut", "chunks", "tokens"):
            setattr(self, name, sum(getattr(file, name) for file in self.files))
        self.unchanged = self.documents - self.written
        self.skipped = sum(file.status == "skipped" for file in self.files)


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    chunks: int


@dataclass(frozen=True)
class Task:
    """What a worker gets: a source, or some lines of one."""

    source: Source
    options: Mapping[str, Any]
    documents: list[readers.Document] | None = None
    """Records of a JSONL file, read already."""
    error: readers.ReadError | None = None
    """Why there are no more of them."""


@dataclass(frozen=True)
class Ready:
    """A document as `ragdb.put_documents` takes it."""

    uri: str
    json: bytes
    is_conversation: bool = False


@dataclass
class Outcome:
    """What a worker returns."""

    documents: list[Ready] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    empty: int = 0
    replaced: int = 0
    cut: int = 0
    unchanged: str | None = None
    """Identity of the document that a URL still gives."""
    etag: str | None = None
    pages: int | None = None
    pages_without_text: int = 0
    blob: bytes | None = None
    """The bytes of the file, where they are to be kept."""
    media_type: str = ""


def ingest(
    db: Client,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    corpus: str,
    **options: Any,
) -> Report:
    """Read `paths` into `corpus`; see `Options`. What `Database.ingest` and `ragdb ingest` do."""
    return Run(db, corpus, look(paths, options), options).run()


def look(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], options: Mapping[str, Any]
) -> Found:
    """What `paths` mean. Raises IngestError for options that cannot be meant."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(f"{min(unknown)!r} is no option of ingest")
    try:
        chunker.check(**{name: options.get(name, value) for name, value in CHUNKING.items()})
        return sources.find(
            [paths] if isinstance(paths, str | PathLike) else paths,
            glob=options.get("glob"),
            recursive=options.get("recursive", True),
            stdin_name=options.get("name") or "stdin",
        )
    except ValueError as error:
        raise IngestError(str(error)) from None


# ── one run ─────────────────────────────────────────────────────────────────────────────────────

# The document is at fault, not the database: the others of its batch are tried without it.
REFUSED = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    RagdbError,
)
OF_THE_RUN = (NotAuthorized, CorpusNotFound)
AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


@dataclass(frozen=True)
class Entry:
    """A document on its way into a batch."""

    file: FileResult
    document: Ready
    outcome: Outcome


class Run:
    """One run of the driver over what was found."""

    def __init__(self, db: Client, corpus: str, found: Found, options: Mapping[str, Any]) -> None:
        self.db, self.corpus, self.found = db, corpus, found
        self.options = options
        if options.get("metadata"):
            try:
                self.options = {**options, "metadata": storable(options["metadata"])}
            except readers.ReadError as error:
                raise IngestError(error.reason, error.hint) from None
        self.dry_run: bool = options.get("dry_run", False)
        self.force: bool = options.get("force", False)
        self.prune: bool = options.get("prune", False)
        self.files = [FileResult(source.uri) for source in found.sources]
        self.report = Report(corpus, list(self.files), dry_run=self.dry_run)
        self.bytes_total = sum(source.size or 0 for source in found.sources)
        self.batch: list[Entry] = []
        self.batch_bytes = 0
        self.seen: list[str] = []
        self.files_done = self.bytes_done = self.chunks = 0

    def run(self) -> Report:
        """Read and write everything. The report is settled also when this is interrupted."""
        started = time.perf_counter()
        is_whole = False
        try:
            self._report_what_is_not_read()
            if self.found.sources:
                self._ensure_corpus()
                if not self.dry_run:
                    maintain(self.db.connection)
            for source, file, outcome, is_last in self._read():
                self._take(source, file, outcome, is_last)
            self._flush()
            if self.prune and not (self.dry_run and self.report.created):
                self._prune()
            if any(file.written for file in self.files) and not self.dry_run:
                self._optimize()
            is_whole = True
        finally:
            self.report.settle(is_whole=is_whole)
            self.report.seconds = time.perf_counter() - started
        return self.report

    def _report_what_is_not_read(self) -> None:
        for argument, error in self.found.failed:
            self.report.files.append(FileResult(argument))
            self._fail(self.report.files[-1], Failed(argument, error.reason, error.hint))
        for skipped in self.found.skipped:
            file = FileResult(skipped.uri, "skipped", reason=skipped.reason)
            self.report.files.append(file)

    def _ensure_corpus(self) -> None:
        # asked this way, because an error would end a transaction of the caller's
        if self.corpus in {corpus.name for corpus in self.db.list_corpora()}:
            return
        self.report.created = True
        if not self.dry_run:
            # another process may be quicker
            with contextlib.suppress(AlreadyExists), self.db.connection.transaction():
                self._create_corpus()

    def _create_corpus(self) -> None:
        self.db.create_corpus(self.corpus, text_config=self.options.get("text_config") or "english")

    # ── reading ──

    def _read(self) -> Iterator[tuple[Source, FileResult, Outcome, bool]]:
        """What the workers return, in the order of the sources."""
        workers: int = self.options.get("workers") or 1
        pool = Pool(workers if self.bytes_total > POOL_BYTES else 1)
        waiting: deque[tuple[Source, FileResult, Waiting, bool]] = deque()
        with pool:
            for source, file in zip(self.found.sources, self.files, strict=True):
                for task, is_last in tasks(source, self._revalidated(source)):
                    waiting.append((source, file, pool.submit(task), is_last))
                    if len(waiting) > pool.ahead:
                        first = waiting.popleft()
                        yield *first[:2], pool.result(first[2]), first[3]
            while waiting:
                first = waiting.popleft()
                yield *first[:2], pool.result(first[2]), first[3]

    def _revalidated(self, source: Source) -> Mapping[str, Any]:
        """The options for a source; those for a URL that is here as it was say of what version."""
        told = ("title", "language", "metadata")
        if not source.is_url or self.force or any(self.options.get(name) for name in told):
            return self.options
        if self.report.created:
            return self.options
        here = next(iter(self.db.get_source(self.corpus, source.uri)), None)
        chosen = {name: self.options.get(name, value) for name, value in CHUNKING.items()}
        chosen["unit"] = str(chosen["unit"]).removesuffix("s")
        if (
            here is None
            or here.etag is None
            or here.chunking
            != {
                "chunker": chunker.NAME,
                **chosen,
            }
        ):
            return self.options
        if here.source_name != (self.options.get("source_name") or ""):
            return self.options
        return {**self.options, "known": (here.etag, here.doc_cid)}

    def _take(self, source: Source, file: FileResult, outcome: Outcome, is_last: bool) -> None:
        file.pages = outcome.pages
        file.empty += outcome.empty
        file.pages_without_text = outcome.pages_without_text
        file.replaced += outcome.replaced
        file.cut += outcome.cut
        if outcome.unchanged:
            file.documents += 1
            file.doc_cid = outcome.unchanged
        for failure in outcome.failures:
            self._fail(file, failure)
        for document in outcome.documents:
            if self.prune:
                self.seen.append(document.uri)
            self.batch.append(Entry(file, document, outcome))
            self.batch_bytes += len(document.json)
            if self.batch_bytes >= BATCH_BYTES or len(self.batch) >= BATCH_DOCUMENTS:
                self._flush()
        if is_last:
            self.files_done += 1
            self.bytes_done += source.size or 0
        self._tell()

    def _fail(self, file: FileResult, failure: Failed) -> None:
        file.failed += 1
        if failure.uri == file.uri:
            file.reason, file.hint = failure.reason, failure.hint
        if len(self.report.failures) < MAX_FAILURES:
            self.report.failures.append(failure)
        if self.prune:
            # what cannot be read now is still there
            self.seen.append(failure.uri)

    def _tell(self) -> None:
        progress = self.options.get("progress")
        if progress:
            total = len(self.files)
            progress(
                Progress(self.files_done, total, self.bytes_done, self.bytes_total, self.chunks)
            )

    # ── writing ──

    def _flush(self) -> None:
        batch, self.batch, self.batch_bytes = self.batch, [], 0
        if batch:
            self._write(batch)
            self._tell()

    def _write(self, batch: list[Entry]) -> None:
        try:
            rows = self._put(batch)
        except OF_THE_RUN:
            raise
        except REFUSED as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                self._write(batch[:middle])
                self._write(batch[middle:])
                return
            file, uri = batch[0].file, batch[0].document.uri
            reason = f"{error.diag.message_primary or error} ({error.sqlstate})"
            self._fail(file, Failed(uri, reason, error.diag.message_hint))
            return
        for entry, row in zip(batch, rows, strict=True):
            file = entry.file
            file.documents += 1
            file.chunks += row.chunks_indexed
            self.chunks += row.chunks_indexed
            file.tokens += row.tokens_indexed
            file.written += not row.was_duplicate
            file.doc_cid = row.doc_cid if file.documents == 1 else None

    def _put(self, batch: list[Entry]) -> list[PutResult]:
        for attempt in range(5):
            try:
                with self.db.connection.transaction(force_rollback=self.dry_run):
                    if self.dry_run and self.report.created:
                        self._create_corpus()
                    rows = self._stored(batch)
                    for entry, row in zip(batch, rows, strict=True):
                        if entry.outcome.blob is not None and not row.was_duplicate:
                            self.db.put_blob(entry.outcome.blob, entry.outcome.media_type)
                return rows
            except AGAIN:
                if attempt == 4:
                    raise
        raise AssertionError("unreachable")

    def _stored(self, batch: list[Entry]) -> list[PutResult]:
        """Put documents by one function, conversations by another; results in the batch's order."""
        results: dict[int, PutResult] = {}
        for put, kind in ((self.db.put_documents, False), (self.db.put_conversations, True)):
            places = [n for n, e in enumerate(batch) if e.document.is_conversation is kind]
            if places:
                entries = b",".join(batch[n].document.json for n in places)
                rows = put(self.corpus, Jsonb(b"[" + entries + b"]", dumps=bytes), self.force)
                results.update(zip(places, rows, strict=True))
        return [results[n] for n in range(len(batch))]

    def _prune(self) -> None:
        """Remove the sources below each folder or JSONL file that this run did not come across."""
        # what lies in a folder, or in a file of records, that cannot be read is not gone
        hidden = [f.uri for f in self.report.files if f.failed and readers.is_jsonl(f.uri)]
        hidden += self.found.hidden
        for prefix in sorted({source.prefix for source in self.found.sources if source.prefix}):
            if any(uri.startswith(prefix.removesuffix("#")) for uri in hidden):
                self.report.not_pruned.append(prefix)
                continue
            keep = [uri for uri in self.seen if uri.startswith(prefix)]
            with self.db.connection.transaction(force_rollback=self.dry_run):
                gone = self.db.prune_sources(self.corpus, prefix, keep)
            self.report.pruned += gone.documents_deleted

    def _optimize(self) -> None:
        drift = self.db.corpus_info(self.corpus).drift
        if drift is not None and abs(drift) > DRIFT:
            with self.db.connection.transaction():
                self.db.optimize_corpus(self.corpus)
            self.report.optimized = True


# ── reading, in this process or in others ───────────────────────────────────────────────────────


def tasks(source: Source, options: Mapping[str, Any]) -> Iterator[tuple[Task, bool]]:
    """The work of one source: one task, or one for every few records; true with the last."""
    reading = {name: options[name] for name in READING if options.get(name) is not None}
    if source.root is None or not readers.is_jsonl(source.uri):
        yield Task(source, reading), True
        return
    limit: int = reading.get("max_bytes", MAX_BYTES)
    some: list[readers.Document] = []
    size = 0
    failed = None
    try:
        with source.open() as lines:
            if conversation.starts(lines, limit):
                # a tree is known only when all its messages are
                yield Task(source, reading), True
                return
            lines.seek(0)
            for document in readers.read_jsonl(lines, max_line=limit):
                some.append(document)
                size += len(document.data)
                if size > SLAB_BYTES:
                    yield Task(source, reading, some), False
                    some, size = [], 0
    except readers.ReadError as error:
        failed = error
    yield Task(source, reading, some, failed), True


def read(task: Task) -> Outcome:
    """Read and chunk; what a worker does."""
    source, options = task.source, task.options
    outcome = Outcome()
    error = task.error
    if task.documents is not None:
        for document in task.documents:
            _prepare(outcome, source, _declared(document, options), options)
    else:
        try:
            for document in _documents(source, options, outcome):
                _prepare(outcome, source, document, options, outcome.etag)
                if document.fragment is None and options.get("blobs", True):
                    outcome.blob, outcome.media_type = document.data, document.media_type
        except readers.ReadError as failed:
            error = failed
    if error is not None:
        outcome.failures.append(Failed(source.uri, error.reason, error.hint))
    return outcome


def _documents(
    source: Source, options: Mapping[str, Any], outcome: Outcome
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
    if readers.is_jsonl(source.uri) and conversation.starts(io.BytesIO(data), limit):
        for found in conversation.read(io.BytesIO(data), source.uri, limit):
            found |= {name: options[name] for name in ("title", "language") if options.get(name)}
            found["metadata"] = options.get("metadata") or {}
            outcome.documents.append(Ready(found["uri"], _json(found), is_conversation=True))
        return []
    given = {name: options.get(name) for name in ("title", "language", "metadata")}
    return readers.read(data, source.uri, media_type, max_bytes=limit, **given)


def _prepare(
    outcome: Outcome,
    source: Source,
    document: readers.Document,
    options: Mapping[str, Any],
    etag: str | None = None,
) -> None:
    outcome.replaced += document.replaced
    if document.is_empty:
        outcome.empty += 1
        return
    chunking = {name: options[name] for name in CHUNKING if name in options}
    name: str = options.get("source_name", "")
    ready = payload.to_payload(document, source.uri, source_name=name, etag=etag, **chunking)
    outcome.documents.append(Ready(ready["uri"], _json(ready)))
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


@dataclass
class Waiting:
    """A task and the future of its outcome."""

    task: Task
    future: Future[Outcome] | None


class Pool:
    """Worker processes; with one worker, this process.

    A file that kills its worker (memory, a crash in a library) is a file that failed: the others
    of that moment are read again in a new process.
    """

    work = staticmethod(read)

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.executor: ProcessPoolExecutor | None = None
        # so many tasks may lie finished or begun, in memory
        self.ahead = 0 if workers == 1 else 2 * workers

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        if self.executor:
            # after an interrupt too: leaving waits for workers anyway, and complains of their pipes
            self.executor.shutdown(cancel_futures=True)

    def submit(self, task: Task) -> Waiting:
        if self.workers == 1:
            return Waiting(task, None)
        try:
            return Waiting(task, self._executor().submit(self.work, task))
        except BrokenProcessPool:
            self.executor = None
            return Waiting(task, self._executor().submit(self.work, task))

    def result(self, waiting: Waiting) -> Outcome:
        if waiting.future is None:
            return self.work(waiting.task)
        try:
            return waiting.future.result()
        except BrokenProcessPool:
            with _processes(1) as alone:
                try:
                    return alone.submit(self.work, waiting.task).result()
                except BrokenProcessPool:
                    reason = "reading it killed the process that read it"
                    return Outcome(failures=[Failed(waiting.task.source.uri, reason, None)])

    def _executor(self) -> ProcessPoolExecutor:
        if self.executor is None:
            self.executor = _processes(self.workers)
        return self.executor


def _processes(count: int) -> ProcessPoolExecutor:
    # not fork: this process has a connection, and may have threads
    context = get_context("forkserver")
    context.set_forkserver_preload(["ragdb.ingest.ingest"])
    return ProcessPoolExecutor(count, mp_context=context, initializer=_become_worker)


def _become_worker() -> None:
    """Leave Ctrl-C to the driver, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


# ── watching ────────────────────────────────────────────────────────────────────────────────────


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
                if readers.is_jsonl(uri):
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
