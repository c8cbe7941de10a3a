"""Retrieval for tasks that answer from evidence: the protocol, retrievers, packs.

The functions of the database do the same for its own chunks; a pack of the same chunks has the same
bytes in both. Nothing here needs a database but `PostgresRetriever` and `CorpusRetriever`.
`ragdb.engine` runs a task over what is found.
"""

from __future__ import annotations

import codecs
import contextlib
import fnmatch
import hashlib
import heapq
import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from uuid import UUID

    from ragdb.client._generated.functions import TracedHit
    from ragdb.client.client import Client
    from ragdb.models.rerank import RerankedHit, Reranker

Unit = Literal["token", "char"]
Embed = Callable[[str], "list[float] | None"]
"""Makes the embedding of a query; None where it has none."""

TRUNCATED = "\n[truncated]"
INVISIBLE = (
    "\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
UNSAFE = re.compile(f"[\\\\\u0001-\u0020{INVISIBLE}]")
LINE = "\n\v\f\u0085\u2028\u2029"
BLANK = "\u00a0\u00ad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000\ufeff"
IMITATION = re.compile(
    f"(^|[{LINE}])([ \t{BLANK}]*)(?=[#\uff03]{{2}}[^{LINE}]*(?:source|chunk)_id|\\[truncated\\])",
    re.I | re.A,
)
TRAILING = re.compile(
    "[ \t\v\f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+(?=\n|\\Z)|\n+\\Z"
)


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """What to retrieve: a question or words, and how many chunks at most (1 or more)."""

    query: str
    top_k: int = 8

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k} and not 1 or more")


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """A chunk with the source that a citation names, and its score in [0, 1]."""

    source_id: str
    chunk_id: str
    text: str
    score: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Retriever(Protocol):
    """Whatever finds chunks for a query, best first, at most `top_k`."""

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks found; none is an answer too."""
        ...


class EmptyRetriever:
    """Finds nothing."""

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk of a pack: its number in the text, and whether only its beginning is in it."""

    n: int
    chunk: RetrievedChunk
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePack:
    """Chunks as one text. `hash` is the first 16 hex digits of the text's `sha256`."""

    corpus_id: str
    canonical_text: str
    chunks: tuple[PackedChunk, ...]
    omitted: tuple[RetrievedChunk, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.canonical_text.encode()).hexdigest()

    @property
    def hash(self) -> str:
        return self.sha256[:16]

    def as_input(self, question: str | None = None) -> dict[str, Any]:
        """The input of a task that answers from evidence: `ragdb.evidence_pack_to_input`."""
        return {
            "question": question,
            "evidence": {
                "corpus_id": self.corpus_id,
                "hash": self.hash,
                "chunks": [
                    {
                        "source_id": packed.chunk.source_id,
                        "chunk_id": packed.chunk.chunk_id,
                        "text": evidence_text(packed.chunk.text),
                    }
                    for packed in self.chunks
                ],
                "omitted": len(self.omitted),
            },
        }

    def as_json(self) -> dict[str, Any]:
        """The pack as `ragdb.build_evidence_pack` returns it."""
        return {
            "corpus": self.corpus_id,
            "canonical_text": self.canonical_text,
            "hash": self.hash,
            "sha256": self.sha256,
            "chunks": [
                {
                    **packed.chunk.metadata,
                    "n": packed.n,
                    "is_cut": packed.is_cut,
                    "source_id": packed.chunk.source_id,
                    "chunk_id": packed.chunk.chunk_id,
                    "text": packed.chunk.text,
                    "score": packed.chunk.score,
                }
                for packed in self.chunks
            ],
            "omitted": [
                {"source_id": chunk.source_id, "chunk_id": chunk.chunk_id, "reason": "budget"}
                for chunk in self.omitted
            ],
        }


def evidence_text(text: str) -> str:
    """The text of a chunk as it stands in a pack: the twin of `ragdb._evidence_text`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = unicodedata.normalize("NFC", text)
    text = IMITATION.sub(r"\1\2\\", text)
    return TRAILING.sub("", text)


def evidence_field(value: str) -> str:
    """An id as it stands in the first line of a block."""
    return UNSAFE.sub(lambda c: "\\\\" if c[0] == "\\" else f"\\u{ord(c[0]):04x}", value)


def build_evidence_pack(
    chunks: Sequence[RetrievedChunk],
    corpus_id: str,
    *,
    max_context: int | None = None,
    unit: Unit = "token",
) -> EvidencePack:
    """Pack chunks, best first, into `max_context` tokens (of four characters) or characters.

    The chunk that no longer fits whole is cut, and all after it are omitted.
    """
    limit = None if max_context is None else max_context * (4 if unit == "token" else 1)
    canonical = "corpus " + evidence_field(corpus_id)
    if limit is not None and len(canonical) > limit:
        raise ValueError(f"max_context is {max_context}: the name of the corpus does not fit")
    packed: list[PackedChunk] = []
    omitted: list[RetrievedChunk] = []
    for chunk in chunks:
        if omitted or (packed and packed[-1].is_cut):
            omitted.append(chunk)
            continue
        number = len(packed) + 1
        head = (
            f"\n\n### {number} source_id={evidence_field(chunk.source_id)}"
            f" chunk_id={evidence_field(chunk.chunk_id)}"
        )
        text = ("\n" + evidence_text(chunk.text)).rstrip("\n")
        if limit is None or len(canonical) + len(head) + len(text) <= limit:
            canonical += head + text
            packed.append(PackedChunk(number, chunk))
            continue
        cut = _cut(chunk.text, limit - len(canonical) - len(head) - 1 - len(TRUNCATED))
        if cut:
            canonical += f"{head}\n{evidence_text(cut)}{TRUNCATED}"
            packed.append(PackedChunk(number, _with_text(chunk, cut), is_cut=True))
        else:
            omitted.append(chunk)
    return EvidencePack(corpus_id, canonical, tuple(packed), tuple(omitted))


def _with_text(chunk: RetrievedChunk, text: str) -> RetrievedChunk:
    return RetrievedChunk(chunk.source_id, chunk.chunk_id, text, chunk.score, chunk.metadata)


def _cut(text: str, room: int) -> str:
    """The beginning of a text that as evidence is at most `room` characters; empty for none."""
    length = room
    while length > 0:
        over = len(evidence_text(text[:length])) - room
        if over <= 0:
            return text[:length] if evidence_text(text[:length]) else ""
        length -= over
    return ""


# ---- retrieval from files ------------------------------------------------------------------------

PREVIEW = 128 * 1024
"""Bytes of a file that are looked at."""

DENIED_FOLDERS = (
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "env", "dist", "build", "node_modules",
    ".tox", ".nox", ".eggs", "*.egg-info", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".cache", ".idea", ".ssh", ".gnupg", ".aws", ".kube", "*secret*",
)  # fmt: skip
SECRET_FILES = (
    ".git", ".env", ".env.*", "*.env", "*secret*", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "credentials*",
    ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd",
)  # fmt: skip


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in patterns)


def _keywords(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


class KeywordContextRetriever:
    """Finds files of a folder by their words, without a database.

    Files rank by how many words of the query their path and first line have, then their first
    128 KiB, then by path. Links are not followed; folders of tools and files that may hold secrets
    are never opened, nor read are binary files. A chunk is a file, or its beginning where the
    share of the budget (`budget_chars` // the number of chunks, in bytes of UTF-8) is smaller.
    """

    def __init__(self, repo_path: str | PathLike[str], budget_chars: int = 8000) -> None:
        if budget_chars < 1:
            raise ValueError(f"budget_chars is {budget_chars} and not 1 or more")
        self.root = Path(repo_path).resolve()
        if not self.root.is_dir():
            raise NotADirectoryError(f"{self.root} is no folder")
        self.budget = budget_chars

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        asked = _keywords(query.query)
        best = heapq.nsmallest(query.top_k, self._ranked(asked)) if asked else []
        most = len(asked) * (len(asked) + 2)
        chunks = []
        for head, body, path, text in best:
            data = text.encode()[: self.budget // len(best)]
            excerpt = data.decode(errors="ignore")
            if excerpt:
                score = (-head * (len(asked) + 1) - body) / most
                chunks.append(RetrievedChunk(path, path, excerpt, score))
        return tuple(chunks)

    def _ranked(self, asked: set[str]) -> Iterator[tuple[int, int, str, str]]:
        for path in self._files(self.root):
            text = _preview(path)
            if text is None:
                continue
            name = path.relative_to(self.root).as_posix()
            head = len(asked & _keywords(f"{name}\n{text.partition(chr(10))[0]}"))
            body = len(asked & _keywords(text))
            if head or body:
                yield -head, -body, name, text

    def _files(self, folder: Path) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # unreadable, or gone since it was listed
            return
        for entry in entries:
            if not _is_text(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _matches(entry.name, DENIED_FOLDERS):
                    yield from self._files(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and not _matches(entry.name, SECRET_FILES):
                yield Path(entry.path)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True


def _preview(path: Path) -> str | None:
    """The beginning of a text file; None for a binary one, or one that cannot be read."""
    try:
        # a file that a link or a pipe has taken the place of is not opened
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(PREVIEW)
    except OSError:
        return None
    if b"\0" in data:
        return None
    try:
        # a character that the end of the preview cuts is no error
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data, len(data) < PREVIEW)
    except UnicodeDecodeError:
        return None


# ---- retrieval from the database -----------------------------------------------------------------


class PostgresRetriever:
    """Finds chunks through a retriever of a contract, and leaves a trace of each retrieval.

    `embed` makes the embedding of a query, which a semantic or hybrid retriever needs; without it
    the corpus's embedder does. `rerank` takes the place of the reranker that the contract declares:
    a name, a model, or "none". `trace_id` is the trace of the last retrieval.
    """

    def __init__(
        self,
        db: Client,
        retriever_name: str,
        *,
        embed: Embed | None = None,
        rerank: str | Reranker | None = None,
    ) -> None:
        self.db, self.retriever_name, self.embed, self.rerank = db, retriever_name, embed, rerank
        self.trace_id: UUID | None = None

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks, reranked where that is asked for.

        Raises what `ragdb.retrieve_with`, the embedder and the reranker raise.
        """
        declared = self.db.get_retriever(self.retriever_name)
        reranker = _reranker(declared.reranker if self.rerank is None else self.rerank)
        vector = None
        if self.embed is not None:
            vector = self.embed(query.query)
        elif declared.mode in ("semantic", "hybrid"):
            vector = _embedding(self.db, declared.corpus, query.query)
        hits = self.db.retrieve_with(
            self.retriever_name,
            query.query,
            _depth(self.db, query, reranker),
            query_embedding=vector,
            rerank="none",
        )
        self.trace_id = self.db.last_trace_id()
        return _best(self.db, query, hits, reranker)


class CorpusRetriever:
    """Finds chunks of a corpus, and leaves a trace of each retrieval.

    Hybrid where the corpus has embeddings, unless `mode` says otherwise; `embed` is as in
    `PostgresRetriever`, and `rerank` is a reranker, a name or a model. `trace_id` is the trace of
    the last retrieval.
    """

    def __init__(
        self,
        db: Client,
        corpus: str,
        *,
        mode: str | None = None,
        embed: Embed | None = None,
        client: str | None = None,
        rerank: str | Reranker | None = None,
    ) -> None:
        self.db, self.corpus, self.mode, self.client = db, corpus, mode, client
        self.embed, self.rerank = embed, _reranker(rerank)
        self.trace_id: UUID | None = None

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks, reranked where that is asked for.

        Raises what `ragdb.retrieve`, the embedder and the reranker raise.
        """
        vector = None
        if self.embed is not None:
            vector = self.embed(query.query)
        elif self.mode in (None, "semantic", "hybrid"):
            vector = _embedding(self.db, self.corpus, query.query)
        hits = self.db.retrieve(
            self.corpus,
            query.query,
            _depth(self.db, query, self.rerank),
            self.mode,
            query_embedding=vector,
            client=self.client,
        )
        self.trace_id = self.db.last_trace_id()
        return _best(self.db, query, hits, self.rerank)


ASKED = ("k", "mode", "min_score", "filter", "slice_id", "anchor", "policy", "client")
"""What is recorded of a retrieval that failed."""


def recorded(
    db: Client, retrieve: Callable[..., list[Any]], corpus: str, query: str, **how: Any
) -> list[Any]:
    """The hits of a retrieval that records; a failure is recorded too, and raised again.

    `retrieve` is `db.retrieve` or `db.retrieve_slice`. Its trace is lost with what it raises, a
    RagdbError; who may not record the failure either leaves none.
    """
    import psycopg

    from ragdb.errors import RagdbError

    began = time.perf_counter()
    try:
        return retrieve(corpus, query, **how)
    except RagdbError as error:
        elapsed = 1000 * (time.perf_counter() - began)
        asked = {name: how[name] for name in ASKED if name in how}
        with contextlib.suppress(psycopg.Error):
            db.record_failure(corpus, query, str(error.sqlstate), elapsed, **asked)
        raise


def _embedding(db: Client, corpus: str, text: str) -> list[float] | None:
    from ragdb.models import embed

    return embed.for_query(db.connection, [corpus], text)


def _reranker(asked: str | Reranker | None) -> str | Reranker | None:
    return None if asked == "none" else asked


def _depth(db: Client, query: RetrievalQuery, reranker: str | Reranker | None) -> int:
    return query.top_k if reranker is None else int(db.rerank_depth(query.top_k))


def _best(
    db: Client, query: RetrievalQuery, hits: list[TracedHit], reranker: str | Reranker | None
) -> tuple[RetrievedChunk, ...]:
    if reranker is None:
        return tuple(map(_chunk, hits))
    from ragdb.models.rerank import rerank

    return tuple(map(_chunk, rerank(db, query.query, hits, reranker, query.top_k)))


def _chunk(hit: TracedHit | RerankedHit) -> RetrievedChunk:
    return RetrievedChunk(
        hit.source,
        hit.chunk_id,
        hit.text,
        hit.score,
        {
            "trace_id": str(hit.trace_id),
            "corpus": hit.corpus,
            "title": hit.title,
            "heading": hit.heading,
            "page": hit.page,
            "start_offset": hit.start_offset,
            "end_offset": hit.end_offset,
            "content_hash": hit.content_hash,
            **_reranked(hit),
        },
    )


def _reranked(hit: TracedHit | RerankedHit) -> dict[str, Any]:
    names = ("rerank_score", "retrieval_rank")
    return {name: getattr(hit, name) for name in names if hasattr(hit, name)}
