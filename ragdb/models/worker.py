"""The worker: claims what waits to be embedded or read, works outside any transaction, stores."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg

from ragdb.client._generated.functions import Functions
from ragdb.client._generated.rows import Embedders, EmbeddingStatusRow
from ragdb.client.calling import Reals
from ragdb.client.connecting import connect, in_turns, is_pooled
from ragdb.client.upkeep import maintain
from ragdb.errors import (
    CorpusNotFound,
    EmbedderMismatch,
    EmbedderNotFound,
    InvalidEmbedding,
    JobNotFound,
    RagdbError,
)
from ragdb.models import embedders, encoders

CHANNELS = ("ragdb_embeddings", "ragdb_events")
REST = 5.0  # seconds that a provider which failed is left alone
BUSY = 10.0  # seconds that somebody who writes a corpus is waited for
LEFT = 60.0  # seconds that the blobs of such a corpus are then left alone
WRITTEN = "another session has been writing the corpus"
TRIES = 12  # failures in a row after which a run that is to end waits for a provider no longer
Progress = Callable[["Done"], None]


@dataclass
class Done:
    """What a worker has done so far."""

    embedded: int = 0
    queries: int = 0  # and requests of `ragdb.embed_text`
    read: int = 0
    failed: int = 0
    cut: int = 0  # chunks that are longer than what their model reads
    seconds: float = 0
    errors: dict[str, int] = field(default_factory=dict)

    def blame(self, error: str, count: int) -> None:
        self.failed += count
        self.errors[error] = self.errors.get(error, 0) + count


class Worker:
    """One worker on one database, of one corpus or all that its role may write.

    `lease` is how many seconds a claim outlives a killed worker; while the worker lives, a second
    connection renews it.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        corpus: str | None = None,
        embedder: str | None = None,
        batch: int = 512,
        lease: float = 60,
        progress: Progress | None = None,
    ) -> None:
        self.conninfo, self.corpus, self.embedder = conninfo, corpus, embedder
        self.batch, self.lease = batch, lease
        self.progress = progress
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.done = Done()
        self._stop = threading.Event()
        self._embedders: dict[str, Embedders] = {}
        # what could not embed: failures in a row, and the time until which it is left alone
        self._away: dict[str, tuple[int, float]] = {}
        # corpora that somebody went on writing, and the time until which they are left alone
        self._written: dict[str, float] = {}

    def stop(self) -> None:
        """End `run` after the batch at hand."""
        self._stop.set()

    def run(self, *, until: str = "stopped", poll: float = 5) -> Done:
        """Work until 'stopped', until nothing is due ('idle'), or nothing is left ('empty').

        What an embedder that cannot be had is to do counts as left no longer: at once where its
        model is not there or is another, after a dozen failures in a row of its provider.
        """
        started = time.monotonic()
        heart = threading.Thread(target=self._renew, daemon=True)
        with self._connect() as connection:
            # behind a pooler it would be another client that is woken
            listens = not is_pooled(connection)
            for channel in CHANNELS if listens else ():
                connection.execute(f"listen {channel}")
            maintain(connection)
            db = Functions(connection)
            heart.start()
            try:
                while not self._stop.is_set():
                    busy = self._answer(db) + self._texts(db)
                    busy += self._read(db) + self._step(db)
                    self.done.seconds = time.monotonic() - started
                    if self.progress:
                        self.progress(self.done)
                    if busy:
                        continue
                    self._index(db)
                    if until == "idle" or (until == "empty" and not self._left(db)):
                        break
                    pause = poll if listens and until != "empty" else min(poll, 0.5)
                    if not listens:
                        self._stop.wait(pause)
                        continue
                    # a notification is a hint: the clock is the truth
                    for _ in connection.notifies(timeout=pause, stop_after=1):
                        pass
            finally:
                self._stop.set()
                heart.join()
        return self.done

    def _connect(self) -> psycopg.Connection[Any]:
        own = connect(self.conninfo, autocommit=True, application_name="ragdb/worker")
        return in_turns(own, BUSY)

    def _renew(self) -> None:
        """Keep what this worker has claimed its own, on one connection after another."""
        pause = self.lease / 4
        while not self._stop.wait(pause):
            # whoever works meets an outage or an upgrade too, and says it
            with contextlib.suppress(psycopg.Error), self._connect() as connection:
                while not self._stop.is_set():
                    Functions(connection).renew_embeddings(self.name, timedelta(seconds=self.lease))
                    self._stop.wait(pause)

    def _encoder(self, db: Functions, name: str) -> encoders.Encoder:
        if name not in self._embedders or self._embedders[name].provider is None:
            self._embedders = embedders.embedders(db.connection)
        if name not in self._embedders:
            raise EmbedderNotFound(f"no embedder {name!r} is known any more")
        return embedders.load(self._embedders[name])

    def _step(self, db: Functions) -> int:
        """Claim and embed one batch; the number of inputs claimed."""
        resting = [name for name, (_, end) in self._away.items() if time.monotonic() < end]
        lease = timedelta(seconds=self.lease)
        rows = db.claim_embeddings(
            self.name, self.batch, lease, self.corpus, self.embedder, resting
        )
        if not rows:
            return 0
        space, name = rows[0].space_id, rows[0].embedder
        jobs = [(row.input_hash, row.attempt) for row in rows]
        texts = [row.input for row in rows]
        try:
            encoder = self._encoder(db, name)
            vectors, problems = self._encoded(encoder, texts)
        except (encoders.ProviderDown, EmbedderNotFound, EmbedderMismatch) as error:
            self._fail(db, space, jobs, str(error), retry_after=REST)
            failures, _ = self._away.get(name, (0, 0.0))
            failures = failures + 1 if isinstance(error, encoders.ProviderDown) else TRIES
            self._away[name] = failures, time.monotonic() + REST
            return len(rows)
        self._away.pop(name, None)
        good = [n for n, problem in enumerate(problems) if problem is None]
        for n, problem in enumerate(problems):
            if problem is not None:
                self._fail(db, space, [jobs[n]], problem)
        if good:
            jobs = [jobs[n] for n in good]
            hashes, attempts = [h for h, _ in jobs], [a for _, a in jobs]
            try:
                made = Reals(vectors[good])
                self.done.embedded += db.complete_embeddings(space, hashes, attempts, made)
                self.done.cut += encoder.cut([texts[n] for n in good])
            except CorpusNotFound:  # it went meanwhile
                return len(rows)
            except InvalidEmbedding as error:
                self._fail(db, space, jobs, str(error))
            except psycopg.errors.LockNotAvailable:
                self._fail(db, space, jobs, WRITTEN, retry_after=REST)
        return len(rows)

    def _encoded(
        self, encoder: encoders.Encoder, texts: Sequence[str]
    ) -> tuple[encoders.Matrix, list[str | None]]:
        """Embeddings and what is wrong with each: what is refused is halved down to its fault."""
        import numpy as np

        try:
            vectors = encoder.encode(texts)
            return vectors, encoders.check(vectors)
        except encoders.InputRefused as error:
            if len(texts) == 1:
                return np.zeros((1, encoder.dims), np.float32), [str(error)]
        middle = len(texts) // 2
        halves = [self._encoded(encoder, half) for half in (texts[:middle], texts[middle:])]
        (first, wrong), (second, also_wrong) = halves
        return np.concatenate([first, second]), wrong + also_wrong

    def _fail(
        self,
        db: Functions,
        space: int,
        jobs: Sequence[tuple[bytes, int]],
        error: str,
        retry_after: float | None = None,
    ) -> None:
        pause = None if retry_after is None else timedelta(seconds=retry_after)
        with contextlib.suppress(CorpusNotFound):
            db.fail_embeddings(space, [h for h, _ in jobs], [a for _, a in jobs], error, pause)
        self.done.blame(error, len(jobs))

    def _answer(self, db: Functions) -> int:
        """Embed the queries that wait; their number."""
        rows = db.claim_queries(self.name, only_embedder=self.embedder)
        for row in rows:
            try:
                vectors = self._encoder(db, row.embedder).encode([row.input])
                db.put_query_embedding(row.corpus, row.query, Reals(vectors), row.embedder)
                self.done.queries += 1
            except (RagdbError, encoders.ProviderDown, encoders.InputRefused) as error:
                with contextlib.suppress(CorpusNotFound):
                    db.fail_query(row.corpus, row.embedder, row.query_hash, row.attempt, str(error))
                self.done.blame(str(error), 1)
        return len(rows)

    def _texts(self, db: Functions) -> int:
        """Embed what `ragdb.embed_text` was asked for; the number of requests."""
        if self.corpus is not None:
            return 0
        rows = db.claim_embed_jobs(self.name, only_embedder=self.embedder)
        for row in rows:
            try:
                vectors = self._encoder(db, row.embedder).encode(row.texts or [])
                db.complete_embed_job(row.job_id, row.attempt, Reals(vectors))
                self.done.queries += 1
            except JobNotFound:
                continue
            except (RagdbError, encoders.ProviderDown, encoders.InputRefused) as error:
                final = isinstance(error, encoders.InputRefused | InvalidEmbedding)
                with contextlib.suppress(JobNotFound):
                    db.fail_embed_job(row.job_id, row.attempt, str(error), final)
                self.done.blame(str(error), 1)
        return len(rows)

    def _read(self, db: Functions) -> int:
        """Read a blob that waits to be ingested, and store its document; the number of blobs."""
        from ragdb.ingest import blob

        left = [name for name, end in self._written.items() if time.monotonic() < end]
        rows = db.claim_ingest_jobs(self.name, only_corpus=self.corpus, except_corpora=left)
        for row in rows:
            problem: tuple[str, str | None, str | None, timedelta | None]
            try:
                db.complete_ingest_job(row.job_id, row.attempt, blob.read(db, row))
                self.done.read += 1
                continue
            except JobNotFound:
                continue
            except psycopg.errors.LockNotAvailable:
                problem = WRITTEN, None, None, timedelta(seconds=REST)
                self._written[row.corpus] = time.monotonic() + LEFT
            except blob.UNFIT as error:
                problem = *blob.fault(error), None
            except psycopg.Error:
                raise
            except Exception as error:
                problem = f"{type(error).__name__}: {error}", None, None, None  # it may pass
            with contextlib.suppress(JobNotFound):
                db.fail_ingest_job(row.job_id, row.attempt, *problem)
            self.done.blame(problem[0], 1)
        return len(rows)

    def _left(self, db: Functions) -> int:
        given_up = [name for name, (failures, _) in self._away.items() if failures >= TRIES]
        return sum(
            space.backlog
            for space in self._spaces(db)
            if space.embedder not in given_up and self.embedder in (None, space.embedder)
        )

    def _index(self, db: Functions) -> None:
        """Build the indexes that are due: the bulk of the embeddings is in."""
        for space in self._spaces(db, lacking_index=True):
            with contextlib.suppress(psycopg.errors.LockNotAvailable, CorpusNotFound):
                db.index_space(space.corpus, space.embedder)

    def _spaces(self, db: Functions, lacking_index: bool = False) -> list[EmbeddingStatusRow]:
        return [s for s in db.embedding_status(self.corpus, lacking_index) if s.state != "retired"]
