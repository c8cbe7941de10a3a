"""The worker: claims what waits to be embedded or read, works outside any transaction, stores."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from ragdb.client.upkeep import maintain
from ragdb.errors import (
    AlreadyExists,
    EmbedderMismatch,
    EmbedderNotFound,
    InvalidEmbedding,
    JobNotFound,
    RagdbError,
)
from ragdb.ingest.payload import to_payload
from ragdb.models import embedders, encoders

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANNELS = ("ragdb_embeddings", "ragdb_events")
REST = 5.0  # seconds that a provider which failed is left alone
TRIES = 12  # failures in a row after which a run that is to end waits for a provider no longer
Progress = Callable[["Done"], None]


@dataclass
class Done:
    """What a worker has done so far."""

    embedded: int = 0
    queries: int = 0
    read: int = 0
    failed: int = 0
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
        self._embedders: dict[str, embedders.Embedder] = {}
        # what could not embed: failures in a row, and the time until which it is left alone
        self._away: dict[str, tuple[int, float]] = {}

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
            for channel in CHANNELS:
                connection.execute(f"listen {channel}")
            maintain(connection)
            heart.start()
            try:
                while not self._stop.is_set():
                    busy = self._answer(connection) + self._texts(connection)
                    busy += self._read(connection) + self._step(connection)
                    self.done.seconds = time.monotonic() - started
                    if self.progress:
                        self.progress(self.done)
                    if busy:
                        continue
                    self._index(connection)
                    if until == "idle" or (until == "empty" and not self._left(connection)):
                        break
                    # a notification is a hint: the clock is the truth
                    for _ in connection.notifies(
                        timeout=min(poll, 0.5) if until == "empty" else poll, stop_after=1
                    ):
                        pass
            finally:
                self._stop.set()
                heart.join()
        return self.done

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conninfo, autocommit=True, application_name="ragdb/worker")

    def _renew(self) -> None:
        with self._connect() as connection:
            while not self._stop.wait(self.lease / 4):
                connection.execute(
                    "select ragdb.renew_embeddings(%s, make_interval(secs => %s))",
                    (self.name, self.lease),
                )

    def _encoder(self, connection: psycopg.Connection[Any], name: str) -> encoders.Encoder:
        if name not in self._embedders or self._embedders[name].provider is None:
            self._embedders = embedders.embedders(connection)
        return embedders.load(self._embedders[name])

    def _step(self, connection: psycopg.Connection[Any]) -> int:
        """Claim and embed one batch; the number of inputs claimed."""
        resting = [name for name, (_, end) in self._away.items() if time.monotonic() < end]
        rows = connection.execute(
            "select space_id, embedder, input_hash, attempt, input from ragdb.claim_embeddings("
            "%s, %s, make_interval(secs => %s), %s, %s, %s)",
            (self.name, self.batch, self.lease, self.corpus, self.embedder, resting),
        ).fetchall()
        if not rows:
            return 0
        space, name = rows[0][:2]
        jobs = [(hash_, attempt) for _, _, hash_, attempt, _ in rows]
        texts = [row[4] for row in rows]
        try:
            encoder = self._encoder(connection, name)
            try:
                vectors = encoder.encode(texts)
                problems = encoders.check(vectors)
            except encoders.InputRefused:
                vectors, problems = self._one_by_one(encoder, texts)
        except (encoders.ProviderDown, EmbedderNotFound, EmbedderMismatch) as error:
            self._fail(connection, space, jobs, str(error), retry_after=REST)
            failures, _ = self._away.get(name, (0, 0.0))
            failures = failures + 1 if isinstance(error, encoders.ProviderDown) else TRIES
            self._away[name] = failures, time.monotonic() + REST
            return len(rows)
        self._away.pop(name, None)
        good = [n for n, problem in enumerate(problems) if problem is None]
        for n, problem in enumerate(problems):
            if problem is not None:
                self._fail(connection, space, [jobs[n]], problem)
        if good:
            try:
                (stored,) = connection.execute(
                    "select ragdb.complete_embeddings(%s, %s, %s, %s)",
                    (
                        space,
                        [jobs[n][0] for n in good],
                        [jobs[n][1] for n in good],
                        Reals(vectors[good]),
                    ),
                ).fetchall()[0]
                self.done.embedded += stored
            except InvalidEmbedding as error:
                self._fail(connection, space, [jobs[n] for n in good], str(error))
        return len(rows)

    def _one_by_one(
        self, encoder: encoders.Encoder, texts: Sequence[str]
    ) -> tuple[encoders.Matrix, list[str | None]]:
        import numpy as np

        vectors = np.zeros((len(texts), encoder.dims), np.float32)
        problems: list[str | None] = []
        for row, text in zip(vectors, texts, strict=True):
            try:
                row[:] = encoder.encode([text])[0]
                problems.append(encoders.check(row[None])[0])
            except encoders.InputRefused as error:
                problems.append(str(error))
        return vectors, problems

    def _fail(
        self,
        connection: psycopg.Connection[Any],
        space: int,
        jobs: Sequence[tuple[bytes, int]],
        error: str,
        retry_after: float | None = None,
    ) -> None:
        connection.execute(
            "select ragdb.fail_embeddings(%s, %s, %s, %s, make_interval(secs => %s))",
            (space, [job[0] for job in jobs], [job[1] for job in jobs], error, retry_after),
        )
        self.done.blame(error, len(jobs))

    def _answer(self, connection: psycopg.Connection[Any]) -> int:
        """Embed the queries that wait; their number."""
        rows = connection.execute(
            "select * from ragdb.claim_queries(%s, only_embedder => %s)", (self.name, self.embedder)
        ).fetchall()
        for corpus, name, hash_, attempt, query, text in rows:
            try:
                vectors = self._encoder(connection, name).encode([text])
                connection.execute(
                    "select ragdb.put_query_embedding(%s, %s, %s)",
                    (corpus, query, Reals(vectors)),
                )
                self.done.queries += 1
            except (RagdbError, encoders.ProviderDown, encoders.InputRefused) as error:
                connection.execute(
                    "select ragdb.fail_query(%s, %s, %s, %s, %s)",
                    (corpus, name, hash_, attempt, str(error)),
                )
                self.done.blame(str(error), 1)
        return len(rows)

    def _texts(self, connection: psycopg.Connection[Any]) -> int:
        """Embed what `ragdb.embed_text` was asked for; the number of requests."""
        if self.corpus is not None:
            return 0
        rows = connection.execute(
            "select * from ragdb.claim_embed_jobs(%s, only_embedder => %s)",
            (self.name, self.embedder),
        ).fetchall()
        for job, attempt, name, texts in rows:
            try:
                vectors = self._encoder(connection, name).encode(texts)
                connection.execute(
                    "select ragdb.complete_embed_job(%s, %s, %s)",
                    (job, attempt, Reals(vectors)),
                )
                self.done.queries += 1
            except JobNotFound:
                continue
            except (RagdbError, encoders.ProviderDown, encoders.InputRefused) as error:
                final = isinstance(error, encoders.InputRefused | InvalidEmbedding)
                self._give_up(
                    connection,
                    "select ragdb.fail_embed_job(%s, %s, %s, %s)",
                    (job, attempt, str(error), final),
                )
                self.done.blame(str(error), 1)
        return len(rows)

    def _read(self, connection: psycopg.Connection[Any]) -> int:
        """Read a blob that waits to be ingested, and store its document; the number of blobs."""
        from ragdb.readers import read as readers

        rows = connection.execute(
            "select job_id, attempt, doc_cid, media_type, bytes, title, language, metadata,"
            " max_tokens, overlap from ragdb.claim_ingest_jobs(%s, only_corpus => %s)",
            (self.name, self.corpus),
        ).fetchall()
        for job, attempt, cid, media_type, data, title, language, metadata, size, overlap in rows:
            problem: tuple[str, str | None, str | None]
            try:
                (document,) = readers.read(
                    data, cid, media_type, title=title, language=language, metadata=metadata
                )
                given = to_payload(document, cid, max_tokens=size, overlap=overlap)
                connection.execute(
                    "select ragdb.complete_ingest_job(%s, %s, %s)", (job, attempt, Jsonb(given))
                )
                self.done.read += 1
                continue
            except JobNotFound:
                continue
            except readers.ReadError as error:
                problem = error.reason, error.hint, "bad_request"
            except (RagdbError, psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
                word = "conflict" if isinstance(error, AlreadyExists) else "bad_request"
                problem = error.diag.message_primary or str(error), error.diag.message_hint, word
            except (OSError, ValueError, MemoryError) as error:
                problem = f"{type(error).__name__}: {error}", None, None  # it may pass
            self._give_up(
                connection,
                "select ragdb.fail_ingest_job(%s, %s, %s, %s, %s)",
                (job, attempt, *problem),
            )
            self.done.blame(problem[0], 1)
        return len(rows)

    @staticmethod
    def _give_up(connection: psycopg.Connection[Any], call: str, arguments: Any) -> None:
        with contextlib.suppress(JobNotFound):
            connection.execute(call, arguments)

    def _index(self, connection: psycopg.Connection[Any]) -> None:
        for corpus, name in connection.execute(
            "select corpus, embedder from ragdb.embedding_status(%s)"
            " where state <> 'retired' and not is_indexed and chunks >= 20000 and backlog = 0",
            (self.corpus,),
        ).fetchall():
            connection.execute("select ragdb.index_space(%s, %s)", (corpus, name))

    def _left(self, connection: psycopg.Connection[Any]) -> int:
        given_up = [name for name, (failures, _) in self._away.items() if failures >= TRIES]
        (left,) = connection.execute(
            "select coalesce(sum(backlog), 0) from ragdb.embedding_status(%s)"
            " where state <> 'retired' and embedder = coalesce(%s, embedder)"
            " and embedder <> all (%s)",
            (self.corpus, self.embedder, given_up),
        ).fetchall()[0]
        return int(left)
