"""Puts batches of documents: a batch is one transaction, and one bad document spoils no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from ragdb.errors import CorpusNotFound, NotAuthorized, RagdbError
from ragdb.ingest import origins, readings
from ragdb.ingest.languages import told
from ragdb.ingest.reading import Outcome, Ready
from ragdb.ingest.report import FileResult, Report
from ragdb.ingest.source import Source

if TYPE_CHECKING:
    from ragdb.client._generated.rows import PutResult
    from ragdb.client.client import Client

# The document is at fault, not the database: the others of its batch are tried without it.
REFUSED = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,
    RagdbError,
)
OF_THE_RUN = (NotAuthorized, CorpusNotFound)
CONVERSATIONS = 1000  # that ragdb.put_conversations takes
LISTED = 1000  # turns that ragdb.list_turns takes
EDGES = 10_000  # that ragdb.add_edges takes
AT_ONCE_BYTES = 256 * 2**10  # of JSON: what is written in a moment
AGAIN_BYTES = 64 * 2**20  # of JSON: what waits for the end of a run
AGAIN = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)

# what the database says between the steps of a large document
_TOLD = re.compile(r"(\d+) of (\d+) chunks are (planned|stored|indexed)")
# where each step ends, as part of the whole
_STEPS = {"planned": (0.1, 0.2), "stored": (0.2, 0.4), "indexed": (0.4, 1.0)}

# what it says of documents of a call whose ids others have
_CLASHING = re.compile(r"documents with ids that others have, counted from 0: ([0-9, -]+);")


@dataclass(frozen=True)
class Entry:
    """A document on its way into a batch."""

    file: FileResult
    document: Ready
    outcome: Outcome
    source: Source

    @property
    def is_file(self) -> bool:
        """Whether the document is its file, and has its identity."""
        return self.document.uri == self.source.uri and not self.document.is_conversation


@dataclass(frozen=True)
class Written:
    """What became of a document: what the database says, or why it refused."""

    entry: Entry
    row: PutResult | None = None
    replaced: bool = False
    error: psycopg.Error | None = None
    is_clashing: bool = False
    """Whether another document has an id of it."""

    @property
    def reason(self) -> str:
        """Why it was refused."""
        if self.is_clashing:
            its = "a message of it" if self.entry.document.is_conversation else "its id"
            return f"another document of the corpus has {its}"
        return (self.error and self.error.diag.message_primary) or str(self.error)


class Writer:
    """Writes the batches of one run. `make` makes the corpus, for the first of them.

    A short one is put in the same transaction, so that none is made for what is refused. A long one
    comes after: who makes another corpus waits for the transaction that makes one.
    """

    def __init__(
        self,
        db: Client,
        report: Report,
        options: Mapping[str, Any],
        make: Callable[[list[Entry]], None],
    ) -> None:
        self.db, self.report, self.options, self.make = db, report, options, make
        self.has_made = False  # the corpus, which stays
        self.batch: list[Entry] = []  # of both kinds, by whose language a corpus is made
        self.again: list[Entry] = []
        self.dry_run: bool = options.get("dry_run", False)
        self.force: bool = options.get("force", False)

    @property
    def has_corpus(self) -> bool:
        """Whether there is a corpus, of before this run or made by it."""
        return self.has_made or not self.report.created

    def write(self, batch: list[Entry], *, is_last: bool = False) -> Iterator[Written]:
        """Put a batch: its documents, then its conversations.

        What has ids of others is put again at the end of the run: a file of a later batch may have
        left them to it, as a log does that was rotated.
        """
        may_wait = not self.dry_run and (bool(self.again) or not is_last)
        size = sum(len(entry.document.json) for entry in self.again)
        for written in self._write_both(self._told(batch)):
            size += len(written.entry.document.json) if written.is_clashing else 0
            if written.is_clashing and may_wait and size <= AGAIN_BYTES:
                self.again.append(written.entry)
            else:
                yield written
        if is_last:
            again, self.again = self.again, []
            yield from self._write_both(again)

    def _write_both(self, batch: list[Entry]) -> Iterator[Written]:
        """Put the documents of a batch, then its conversations."""
        self.batch = batch
        for kind in (False, True):
            some = [entry for entry in batch if entry.document.is_conversation is kind]
            most = CONVERSATIONS if kind else len(some)
            for begin in range(0, len(some), most or 1):
                yield from self._write(some[begin : begin + most])

    def _told(self, batch: list[Entry]) -> list[Entry]:
        """A batch with the languages of those documents that name none."""
        silent = [n for n, entry in enumerate(batch) if entry.document.beginning is not None]
        beginnings = [batch[n].document.beginning or "" for n in silent]
        found = {silent[place]: language for place, language in told(self.db, beginnings).items()}
        return [
            replace(entry, document=entry.document.in_language(found[n])) if n in found else entry
            for n, entry in enumerate(batch)
        ]

    def _write(self, batch: list[Entry]) -> Iterator[Written]:
        """Put a batch of one kind, and where it is refused, apart from those that are at fault."""
        corpus = self.report.corpus
        named = [(entry.document.uri, entry.source) for entry in batch]
        before = {} if self.report.created else origins.present(self.db, corpus, named)
        try:
            rows = self._put(batch)
        except OF_THE_RUN:
            raise
        except REFUSED as error:
            # where it is not said which are at fault, a half is tried
            clashing = _clashing(error)
            bad = clashing or set(range(len(batch) // 2, len(batch)))
            refused = [entry for n, entry in enumerate(batch) if n in bad]
            if len(refused) < len(batch):
                yield from self._write([entry for n, entry in enumerate(batch) if n not in bad])
                # of a dry run nothing stays that they could be compared with
                if not (clashing and self.dry_run):
                    yield from self._write(refused)
                    return
            for entry in refused:
                yield Written(entry, error=error, is_clashing=bool(clashing))
            return
        for entry, row in zip(batch, rows, strict=True):
            was = before.get(entry.document.uri, row.doc_cid)
            yield Written(entry, row, replaced=was != row.doc_cid)

    def _put(self, batch: list[Entry]) -> list[PutResult]:
        is_talk = batch[0].document.is_conversation
        put = self.db.put_conversations if is_talk else self.db.put_documents
        given = Jsonb(b"[" + b",".join(e.document.json for e in batch) + b"]", dumps=bytes)
        for attempt in range(5):
            try:
                if not (self.has_corpus or self.dry_run or len(given.obj) < AT_ONCE_BYTES):
                    self.make(self.batch)
                    self.has_made = True
                with self.db.connection.transaction(force_rollback=self.dry_run):
                    if not self.has_corpus:
                        self.make(self.batch)
                    rows = put(self.report.corpus, given, self.force)
                    for entry, row in zip(batch, rows, strict=True):
                        if entry.outcome.blob is not None and not row.was_duplicate:
                            self.db.put_blob(
                                entry.outcome.blob, entry.outcome.media_type, self.report.corpus
                            )
                    self._note(batch, rows)
                    self._join(batch, rows)
                self.has_made = not self.dry_run
                return rows
            except AGAIN:
                if attempt == 4:
                    raise
        raise AssertionError("unreachable")

    def _join(self, batch: list[Entry], rows: list[PutResult]) -> None:
        """Have messages answer those of their session in other files, where both are there.

        Both say so: whichever is written later finds the other.
        """
        corpus = self.report.corpus
        said = {
            tuple((entry.document.session or "", id) for id in join)
            for entry, row in zip(batch, rows, strict=True)
            for join in (() if row.was_duplicate else entry.document.joins)
        }
        named = {name for join in said for name in join}
        names = {name: self.db.turn_id(corpus, *name) for name in named}
        joins = sorted((names[parent], names[child]) for parent, child in said)
        ids = sorted(set(names.values()))
        there = {
            row.chunk_id
            for n in range(0, len(ids), LISTED)
            for row in self.db.list_turns(corpus, ids[n : n + LISTED])
        }
        edges = [
            {"parent": parent, "child": child, "edge_type": "reply"}
            for parent, child in joins
            if {parent, child} <= there
        ]
        for n in range(0, len(edges), EDGES):
            self.db.add_edges(corpus, Jsonb(edges[n : n + EDGES]))

    def _note(self, batch: list[Entry], rows: list[PutResult]) -> None:
        """Keep how files were read that are a document each."""
        noted = [
            {
                **{name: getattr(entry.outcome, name) for name in readings.FOUND},
                "uri": entry.source.uri,
                "doc_cid": row.doc_cid,
                "event_id": str(row.ingest_event_id),
                "reading": reading,
            }
            for entry, row in zip(batch, rows, strict=True)
            if entry.is_file and (reading := readings.reading(entry.source, self.options))
        ]
        if noted:
            self.db.note_readings(self.report.corpus, noted)


def _clashing(error: psycopg.Error) -> set[int]:
    """The places of the documents of a call that have ids of others, where that is the error."""
    said = _CLASHING.match(error.diag.message_detail or "")
    places: set[int] = set()
    for some in said[1].split(", ") if said else ():
        first, _, last = some.partition("-")
        places.update(range(int(first), int(last or first) + 1))
    return places


@contextmanager
def writing_told(
    connection: psycopg.Connection[Any], tell: Callable[[float], None]
) -> Iterator[None]:
    """Tell which part of a large document is written, while the database does it."""

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        said = _TOLD.fullmatch(notice.message_primary or "")
        if said:
            begin, end = _STEPS[said[3]]
            tell(begin + (end - begin) * int(said[1]) / int(said[2]))

    connection.add_notice_handler(hear)
    try:
        yield
    finally:
        connection.remove_notice_handler(hear)
