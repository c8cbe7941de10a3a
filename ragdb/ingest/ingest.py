"""The ingest driver: sources → readers → `ragdb.put_documents`, in order, in flat memory.

Files are read and chunked by worker processes and written by this one, in the order in which they
were found, whatever the number of workers. A batch is one transaction: documents are there whole or
not at all.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from ragdb.client.upkeep import maintain
from ragdb.errors import AlreadyExists, CorpusNotFound, NotAuthorized, RagdbError
from ragdb.ingest.options import IngestError, look
from ragdb.ingest.pool import Pool, Waiting
from ragdb.ingest.reading import Outcome, Ready, tasks
from ragdb.ingest.report import Failed, FileResult, Progress, Report
from ragdb.ingest.revalidate import revalidated
from ragdb.ingest.source import Found, Source
from ragdb.readers import read as readers
from ragdb.readers.document import storable

if TYPE_CHECKING:
    from ragdb.client._generated.rows import PutResult
    from ragdb.client.client import Client


MAX_FAILURES = 1000
BATCH_BYTES = 4 * 2**20  # of JSON; one transaction
BATCH_DOCUMENTS = 1000
POOL_BYTES = 2 * 2**20  # below this, starting processes takes longer than they save
DRIFT = 0.1


def ingest(
    db: Client,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    corpus: str,
    **options: Any,
) -> Report:
    """Read `paths` into `corpus`; see `Options`. What `Database.ingest` and `ragdb ingest` do."""
    return Run(db, corpus, look(paths, options), options).run()


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
                for task, is_last in tasks(source, self._options_for(source)):
                    waiting.append((source, file, pool.submit(task), is_last))
                    if len(waiting) > pool.ahead:
                        first = waiting.popleft()
                        yield *first[:2], pool.result(first[2]), first[3]
            while waiting:
                first = waiting.popleft()
                yield *first[:2], pool.result(first[2]), first[3]

    def _options_for(self, source: Source) -> Mapping[str, Any]:
        """The options for a source; those for a URL that is here say of what version."""
        if self.force or self.report.created:
            return self.options
        return revalidated(self.db, self.corpus, source, self.options)

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
        embedder = self.db.corpus_embedder(self.corpus)
        if embedder is not None and embedder.provider == "static":
            # the vectors came with the chunks, and no worker comes to index them
            self.db.index_space(self.corpus)
