"""The ingest driver: sources → readers → `ragdb.put_documents`, in order, in flat memory.

Files are read and chunked by worker processes and written by this one, in the order in which they
were found, whatever the number of workers. While a batch is written the next is read. A batch is
one transaction: documents are there whole or not at all.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ragdb.client.corpora import is_there
from ragdb.client.upkeep import maintain
from ragdb.errors import AlreadyExists
from ragdb.ingest import gone, origins, readings
from ragdb.ingest.aside import Aside
from ragdb.ingest.drift import optimize
from ragdb.ingest.options import IngestError, Paths, as_stored, look
from ragdb.ingest.pool import Pool, Waiting
from ragdb.ingest.reading import READ, Outcome, tasks
from ragdb.ingest.report import MOST, Failed, FileResult, Progress, Report
from ragdb.ingest.revalidate import revalidated
from ragdb.ingest.source import Found, Source
from ragdb.ingest.stopping import Stop
from ragdb.ingest.writing import Entry, Writer, Written, writing_told

if TYPE_CHECKING:
    from ragdb.client.client import Client


BATCH_BYTES = 8 * 2**20  # of JSON; one transaction
BATCH_DOCUMENTS = 4000
FIRST_DOCUMENTS = 1000  # of the first batch: what others wait for begins sooner
POOL_BYTES = 2 * 2**20  # below this, starting processes takes longer than they save


def ingest(
    db: Client,
    paths: Paths,
    *,
    corpus: str,
    **options: Any,
) -> Report:
    """Read `paths` into `corpus`; see `Options`. What `Database.ingest` and `ragdb ingest` do."""
    return Run(db, corpus, look(paths, options), options).run()


class Run:
    """One run of the driver over what was found."""

    def __init__(self, db: Client, corpus: str, found: Found, options: Mapping[str, Any]) -> None:
        self.db, self.corpus, self.found = db, corpus, found
        self.options = options = as_stored(options)
        self.dry_run: bool = options.get("dry_run", False)
        self.force: bool = options.get("force", False)
        self.prune: bool = options.get("prune", False)
        self.tells_gone: bool = options.get("tells_gone", False)
        self.files = [FileResult(source.uri) for source in found.sources]
        self.left = list(zip(found.sources, self.files, strict=True))  # to be read
        self.report = Report(corpus, list(self.files), dry_run=self.dry_run)
        self.bytes_total = sum(source.size or 0 for source in found.sources)
        self.batch: list[Entry] = []
        self.batch_bytes = 0
        self.most_documents = FIRST_DOCUMENTS
        self.wholes = readings.Wholes(db, corpus, options)
        self.seen: list[str] = []
        self.files_done = self.bytes_done = self.bytes_begun = self.chunks = 0
        self.alone_bytes = 0  # of the file whose document is a batch by itself
        self.stage = "reading"
        self.stop: Stop = options.get("stop") or Stop()
        self.writer = Writer(db, self.report, self.options, self._create_corpus)
        self.aside = Aside(db.connection, self.writer.write, self._count)

    def run(self) -> Report:
        """Read and write everything. The report is settled also when this is interrupted."""
        started = time.perf_counter()
        is_whole = False
        try:
            self._report_what_is_not_read()
            if self.found.sources:
                self._ensure_corpus()
                if not self.report.created:
                    named = ((source.uri, source) for source in self.found.sources)
                    self._pass_over(origins.present(self.db, self.corpus, named))
                if not self.dry_run:
                    maintain(self.db.connection)
            with writing_told(self.db.connection, self._wrote), self.aside:
                for source, file, outcome, is_last in self._read():
                    self._take(source, file, outcome, is_last)
                self._flush(is_last=True)
            tells_gone = self.tells_gone and not self.report.created
            if (self.prune or tells_gone) and self.writer.has_corpus:
                gone.settle(
                    self.db, self.corpus, self.found, self.report, self.seen, prune=self.prune
                )
            if self.found.sources and self.writer.has_corpus:
                self.report.twice = origins.twice(self.db, self.corpus, self.found.sources)[:MOST]
                if not self.dry_run:
                    self._optimize()
            is_whole = True
        finally:
            self.report.created &= self.dry_run or self.writer.has_made
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
        if is_there(self.db, self.corpus):
            self._check_settings()
            return
        self.report.created = True
        # what no corpus can be is refused now; it is made together with what is put first
        with self.db.connection.transaction(force_rollback=True):
            self._create_corpus([])

    def _create_corpus(self, first: list[Entry]) -> None:
        given = self.options.get("text_config")
        wanted = given or self._config_for(first)
        # another process may be quicker
        with contextlib.suppress(AlreadyExists), self.db.connection.transaction():
            self.db.create_corpus(self.corpus, text_config=wanted)
            self.report.text_config = wanted if first and not given else None

    def _config_for(self, first: list[Entry]) -> str:
        """That of the language of over half of those documents whose language is known."""
        languages = Counter(e.document.language for e in first if e.document.language)
        for row in self.db.list_text_configs() if languages else ():
            if row.language and 2 * languages[row.language] > languages.total():
                return row.text_config
        return "english"

    def _check_settings(self) -> None:
        """Refuse a setting of new corpora that this one does not have."""
        wanted = self.options.get("text_config")
        if wanted and wanted != (has := self.db.corpus_info(self.corpus).text_config):
            raise IngestError(
                f"corpus {self.corpus} has the text configuration {has}, not {wanted[:80]}",
                "it is chosen when a corpus is made: leave it out here, or name a new corpus",
            )

    # ── reading ──

    def _pass_over(self, present: Mapping[str, str]) -> None:
        """Count what is stored as it would be read, and leave the rest to be read."""
        known = [] if self.force else self.left
        for file, source, has_records in readings.unchanged(
            self.db, self.corpus, known, present, self.options, self.stop
        ):
            self._keep(file.uri, *[f"{file.uri}#"] * has_records)
            self.chunks += file.chunks
            self._end(source)
            self._tell()
        self.left = [(source, file) for source, file in self.left if not file.documents]

    def _read(self) -> Iterator[tuple[Source, FileResult, Outcome, bool]]:
        """What the workers return, in the order of the sources."""
        workers: int = self.options.get("workers") or 1
        bytes_left = self.bytes_total - self.bytes_done
        pool = Pool(workers if bytes_left > POOL_BYTES else 1, self.stop)
        waiting: deque[tuple[Source, FileResult, Waiting, bool]] = deque()
        with pool:
            for source, file in self.left:
                for task, is_last in tasks(source, self._options_for(source)):
                    waiting.append((source, file, pool.submit(task), is_last))
                    if len(waiting) > pool.ahead:
                        yield self._first(pool, waiting)
            while waiting:
                yield self._first(pool, waiting)

    def _first(
        self, pool: Pool, waiting: deque[tuple[Source, FileResult, Waiting, bool]]
    ) -> tuple[Source, FileResult, Outcome, bool]:
        source, file, task, is_last = waiting.popleft()

        def hear(done: float) -> None:
            self.bytes_begun = max(self.bytes_begun, int(done * (source.size or 0)))
            self._tell()

        return source, file, pool.result(task, hear), is_last

    def _options_for(self, source: Source) -> Mapping[str, Any]:
        """The options for a source; those for a URL that is here say of what version."""
        if self.force or self.report.created or not source.is_url:
            return self.options
        self.aside.settle(self._tell)
        return revalidated(self.db, self.corpus, source, self.options)

    def _take(self, source: Source, file: FileResult, outcome: Outcome, is_last: bool) -> None:
        file.pages = outcome.pages
        file.empty += outcome.empty
        file.pages_without_text = outcome.pages_without_text
        file.bad_characters += outcome.bad_characters
        file.cut += outcome.cut
        if outcome.unchanged:
            file.documents += 1
            file.doc_cid = outcome.unchanged
        if outcome.skipped:
            file.status, file.type = "skipped", outcome.type
            file.reason, file.hint = outcome.skipped.reason, outcome.skipped.hint
            self._keep(file.uri, f"{file.uri}#")
        for failure in outcome.failures:
            self._fail(file, failure)
        for document in outcome.documents:
            self._keep(document.uri)
            entry = Entry(file, document, outcome, source)
            if not entry.is_file:
                self.wholes.begin(source, file)
            self.batch.append(entry)
            self.batch_bytes += len(document.json)
            if self.batch_bytes >= BATCH_BYTES or len(self.batch) >= self.most_documents:
                self._flush()
        self.wholes.read(file, outcome.cid)
        self.bytes_begun = max(self.bytes_begun, outcome.at)
        if is_last:
            self._end(source)
        self._tell()

    def _end(self, source: Source) -> None:
        self.files_done += 1
        self.bytes_done += source.size or 0
        self.bytes_begun = 0

    def _fail(self, file: FileResult, failure: Failed) -> None:
        self.report.fail(file, failure)
        # what cannot be read now is still there, and so are records that would come after it
        self._keep(failure.uri, f"{file.uri}#")

    def _keep(self, *uris: str) -> None:
        if self.prune or self.tells_gone:
            self.seen.extend(uris)

    def _tell(self) -> None:
        progress = self.options.get("progress")
        if progress:
            files, read = len(self.files), self.bytes_done + self.bytes_begun
            progress(
                Progress(self.files_done, files, read, self.bytes_total, self.chunks, self.stage)
            )

    def _wrote(self, part: float) -> None:
        """A large document is so far written."""
        if self.alone_bytes:
            self.bytes_begun = int(self.alone_bytes * (READ + (1 - READ) * part))
            self._tell()

    # ── writing ──

    def _flush(self, *, is_last: bool = False) -> None:
        batch, self.batch, self.batch_bytes = self.batch, [], 0
        self.most_documents = BATCH_DOCUMENTS
        self.stage = "writing"
        self.aside.settle(self._tell)
        self.wholes.note()
        if batch or is_last:
            self.stop.check()
            is_alone = len(batch) == 1 and not batch[0].outcome.at
            self.alone_bytes = (batch[0].source.size or 0) if is_alone else 0
            self._tell()
            if is_alone or is_last:
                for written in self.writer.write(batch, is_last=is_last):
                    self._count(written)
                self.wholes.note()
            else:
                self.aside.begin(batch)
        self.stage = "reading"
        self._tell()

    def _count(self, written: Written) -> None:
        file, row, error = written.entry.file, written.row, written.error
        if error is not None:
            reason = f"{written.reason} ({error.sqlstate})"
            uri = written.entry.document.uri
            self._fail(file, Failed(uri, reason, error.diag.message_hint))
        elif row is not None:
            file.documents += 1
            file.chunks += row.chunks_indexed
            self.chunks += row.chunks_indexed
            file.tokens += row.tokens_indexed
            file.written += not row.was_duplicate
            file.replaced += written.replaced
            file.doc_cid = row.doc_cid if file.documents == 1 else None
            self.wholes.wrote(file, row.ingest_event_id)

    def _optimize(self) -> None:
        self.stage = "optimizing"
        self._tell()
        self.report.optimized = optimize(self.db, self.corpus)
