"""Retrievers over corpora and over the retrievers of contracts, with a trace of each retrieval."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk

if TYPE_CHECKING:
    from uuid import UUID

    from ragdb.client._generated.rows import TracedHit
    from ragdb.client.client import Client
    from ragdb.client.results import Recorded
    from ragdb.models.rerank import RerankedHit, Reranker


Embed = Callable[[str], "list[float] | None"]
"""Makes the embedding of a query; None where it has none."""


class PostgresRetriever:
    """Finds chunks through a retriever of a contract, and leaves a trace of each retrieval.

    `embed` makes the embedding of a query, which a semantic or hybrid retriever needs; without it
    the corpus's embedder does. `rerank` takes the place of the reranker that the contract declares:
    a name, a model, or "none". `rag` is the rag of a contract that names the retriever. `corpus` is
    what names a pack to which no retrieval gave a chunk. `filter` is that of a search. `trace_id`
    is the trace of the last retrieval; without `record` there is none.
    """

    def __init__(
        self,
        db: Client,
        retriever_name: str,
        *,
        embed: Embed | None = None,
        rerank: str | Reranker | None = None,
        rag: str | None = None,
        corpus: str | None = None,
        client: str | None = None,
        span: Mapping[str, str] | None = None,
        filter: Mapping[str, Any] | None = None,
        record: bool = True,
    ) -> None:
        self.asker: dict[str, Any] = {"client": client, **(span or {})}
        self.db, self.retriever_name, self.embed, self.rerank = db, retriever_name, embed, rerank
        self.rag, self.corpus, self.filter, self.record = rag, corpus, filter, record
        self.trace_id: UUID | None = None

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks, reranked where that is asked for.

        Raises what `ragdb.retrieve_with`, the embedder and the reranker raise.
        """
        declared = self.db.get_retriever(self.retriever_name)
        reranker = _reranker(declared.reranker if self.rerank is None else self.rerank)
        if self.embed is not None:
            vector = self.embed(query.query)
        else:
            vector = _embedding(self.db, declared.corpus, query.query, declared.mode)
        how: dict[str, Any] = {
            "k": _depth(self.db, query, reranker),
            "query_embedding": vector,
            "filter": self.filter,
            "rag": self.rag,
            "rerank": "none",
        }
        named: Any = self.retriever_name if self.rag is None else None
        if not self.record:
            found: Any = self.db.search_with(named, query.query, **how)
            return _best(self.db, query, found, reranker)
        hits = self.db.retrieve_with(named, query.query, **self.asker, **how)
        self.trace_id = hits.trace_id
        return _best(self.db, query, hits, reranker)


class CorpusRetriever:
    """Finds chunks of a corpus, and leaves a trace of each retrieval.

    Hybrid where the corpus has embeddings, unless `mode` says otherwise; `embed` and `filter` are
    as in `PostgresRetriever`, and `rerank` is a reranker, a name or a model. `trace_id` is the
    trace of the last retrieval; without `record` there is none.
    """

    def __init__(
        self,
        db: Client,
        corpus: str,
        *,
        mode: str | None = None,
        embed: Embed | None = None,
        client: str | None = None,
        span: Mapping[str, str] | None = None,
        rerank: str | Reranker | None = None,
        filter: Mapping[str, Any] | None = None,
        record: bool = True,
    ) -> None:
        self.asker: dict[str, Any] = {"client": client, **(span or {})}
        self.db, self.corpus, self.mode, self.record = db, corpus, mode, record
        self.embed, self.rerank, self.filter = embed, _reranker(rerank), filter
        self.trace_id: UUID | None = None

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks, reranked where that is asked for.

        Raises what `ragdb.retrieve`, the embedder and the reranker raise.
        """
        if self.embed is not None:
            vector = self.embed(query.query)
        else:
            vector = _embedding(self.db, self.corpus, query.query, self.mode)
        k = _depth(self.db, query, self.rerank)
        how: dict[str, Any] = {"filter": self.filter, "query_embedding": vector}
        if not self.record:
            found: Any = self.db.search(self.corpus, query.query, k, self.mode, **how)
            return _best(self.db, query, found, self.rerank)
        hits = self.db.retrieve(self.corpus, query.query, k, self.mode, **how, **self.asker)
        self.trace_id = hits.trace_id
        return _best(self.db, query, hits, self.rerank)


ASKED = ("k", "mode", "min_score", "filter", "slice_id", "anchor", "policy", "client")
"""What is recorded of a retrieval that failed."""


def recorded(
    db: Client, retrieve: Callable[..., Recorded[Any]], corpus: str, query: str, **how: Any
) -> Recorded[Any]:
    """The hits of a retrieval that records; a failure is recorded too, and raised again.

    `retrieve` is `db.retrieve` or `db.retrieve_slice`. Its trace is lost with what it raises, a
    RagdbError; who is refused the corpus leaves a refusal.
    """
    import psycopg

    from ragdb.errors import CorpusNotFound, RagdbError

    began = time.perf_counter()
    try:
        return retrieve(corpus, query, **how)
    except RagdbError as error:
        elapsed = 1000 * (time.perf_counter() - began)
        asked = {name: how[name] for name in ASKED if name in how}
        with contextlib.suppress(psycopg.Error):
            if isinstance(error, CorpusNotFound):
                db.record_refusal(corpus, str(error.sqlstate))
            else:
                db.record_failure(corpus, query, str(error.sqlstate), elapsed, **asked)
        raise


def _embedding(db: Client, corpus: str, text: str, mode: str | None) -> list[float] | None:
    from ragdb.models import asking

    return asking.for_query(db.connection, [corpus], text, mode)


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

    best: Sequence[Any] = rerank(db, query.query, hits, reranker, query.top_k)
    return tuple(map(_chunk, best))


def _chunk(hit: TracedHit | RerankedHit) -> RetrievedChunk:
    return RetrievedChunk(
        hit.source,
        hit.chunk_id,
        hit.text,
        hit.score,
        {
            **({"trace_id": str(hit.trace_id)} if hasattr(hit, "trace_id") else {"mode": hit.mode}),
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
