"""Generated from the comments and signatures in sql/ by `make client`. Do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, overload
from uuid import UUID

from ragdb.calls import AsyncCaller, Call, Caller, choose


@dataclass(frozen=True, slots=True)
class Blob:
    """A row of type `ragdb.blob`."""

    cid: str
    media_type: str
    size: int
    bytes: bytes


@dataclass(frozen=True, slots=True)
class CheckCorpusRow:
    """A row of `check_corpus`."""

    check: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row of type `ragdb.chunk`."""

    chunk_id: str
    doc_cid: str
    ordinal: int
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    tokens: int
    text: str
    citation: Any
    content_hash: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class ClaimEmbeddingsRow:
    """A row of `claim_embeddings`."""

    space_id: int
    corpus: str
    embedder: str
    input_hash: bytes
    attempt: int
    input: str


@dataclass(frozen=True, slots=True)
class ClaimQueriesRow:
    """A row of `claim_queries`."""

    corpus: str
    embedder: str
    query_hash: bytes | None
    attempt: int
    query: str
    input: str


@dataclass(frozen=True, slots=True)
class CorpusInfoRow:
    """A row of `corpus_info`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str
    drift: float
    version: int
    created_at: datetime
    updated_at: datetime
    text_config: str
    k1: float
    b: float
    pivot: float
    lexemes: int
    record_query_text: str
    privilege: str


@dataclass(frozen=True, slots=True)
class DeleteDocumentRow:
    """A row of `delete_document`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True)
class DeleteSourceRow:
    """A row of `delete_source`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True)
class Document:
    """A row of type `ragdb.document`."""

    doc_cid: str
    source: str
    sources: list[str]
    title: str | None
    language: str | None
    media_type: str
    metadata: Any
    chunking: Any
    external_id: str | None
    source_name: str
    size_bytes: int
    pages: int | None
    chunks: int
    tokens: int
    event_id: UUID
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DropTracesBeforeRow:
    """A row of `drop_traces_before`."""

    month: date
    traces: int
    hits: int


@dataclass(frozen=True, slots=True)
class Embedders:
    """A row of type `ragdb.embedders`."""

    embedder_id: int
    name: str
    model: str
    revision: str | None
    dims: int
    metric: str
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    weights_sha256: str | None
    provider: str | None
    provider_model: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EmbeddingStatusRow:
    """A row of `embedding_status`."""

    corpus: str
    embedder: str
    model: str
    provider: str | None
    provider_model: str | None
    dims: int
    metric: str
    state: str
    chunks: int
    embedded: int
    coverage: float | None
    backlog: int
    in_work: int
    failing: int
    dead: int
    oldest: timedelta
    last_error: str | None
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class ErrorCodesRow:
    """A row of `error_codes`."""

    sqlstate: str
    name: str
    wire_word: str
    http_status: int
    meaning: str


@dataclass(frozen=True, slots=True)
class EventsAfterRow:
    """A row of `events_after`."""

    event_id: UUID
    lamport: int
    kind: str
    created_at: datetime
    author: str
    corpus: str
    doc_cid: str
    title: str | None
    language: str | None
    chunks: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A row of type `ragdb.hit`."""

    rank: int
    corpus: str
    chunk_id: str
    doc_cid: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    text: str
    citation: Any
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None
    bm25: float | None
    coverage: float | None
    content_hash: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class ListCorporaRow:
    """A row of `list_corpora`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str
    drift: float
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ListFailedEmbeddingsRow:
    """A row of `list_failed_embeddings`."""

    embedder: str
    chunk_id: str
    is_dead: bool
    failures: int
    last_error: str | None
    due_at: datetime


@dataclass(frozen=True, slots=True)
class OptimizeCorpusRow:
    """A row of `optimize_corpus`."""

    chunks: int
    pivot_before: float
    pivot: float
    lexemes_dropped: int


@dataclass(frozen=True, slots=True)
class PruneSourcesRow:
    """A row of `prune_sources`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True)
class PutResult:
    """A row of type `ragdb.put_result`."""

    position: int
    doc_cid: str
    chunks_indexed: int
    tokens_indexed: int
    ingest_event_id: UUID
    was_duplicate: bool
    ms: float


@dataclass(frozen=True, slots=True)
class QueryEmbeddingStateRow:
    """A row of `query_embedding_state`."""

    is_ready: bool
    last_error: str | None


@dataclass(frozen=True, slots=True)
class RetrievalHits:
    """A row of type `ragdb.retrieval_hits`."""

    corpus_id: int
    trace_id: UUID
    created_at: datetime
    rank: int
    chunk_id: str
    content_hash: bytes
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None


@dataclass(frozen=True, slots=True)
class RetrievalTraces:
    """A row of type `ragdb.retrieval_traces`."""

    corpus_id: int
    id: UUID
    created_at: datetime
    corpus: str
    retriever: str | None
    rag: str | None
    retrieval_mode: str
    rank_mode: str | None
    query_text: str | None
    query_hash: str | None
    query_embedding_hash: str | None
    embedding_model: str | None
    slice_id: str | None
    anchor_chunk_id: str | None
    slice_chunk_count: int | None
    slice_edge_count: int | None
    policy_id: str | None
    policy_params_hash: str | None
    schema_version: str | None
    graph_snapshot_hash: str | None
    admissibility_token: str | None
    is_admissible: bool
    admissibility_shortfall: bool
    shortfall_reason: str | None
    limit_requested: int | None
    limit_returned: int
    min_score: float | None
    filters: Any
    chunk_ids: list[str] | None
    statistics: str | None
    result_hash: str | None
    corpus_version: int
    is_exact: bool
    elapsed_ms: float
    error_code: str | None
    client: str | None
    caller: str
    otel_trace_id: str | None
    otel_span_id: str | None
    trace_hash: bytes
    trace_mac: bytes | None


@dataclass(frozen=True, slots=True)
class TracedHit:
    """A row of type `ragdb.traced_hit`."""

    trace_id: UUID
    rank: int
    corpus: str
    chunk_id: str
    doc_cid: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    text: str
    citation: Any
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None
    bm25: float | None
    coverage: float | None
    content_hash: str
    metadata: Any


@dataclass(frozen=True, slots=True)
class VerifyTraceRow:
    """A row of `verify_trace`."""

    field: str
    is_intact: bool
    stored: str
    recomputed: str


_BIND_EMBEDDER = Call(
    "bind_embedder", {"name": "text", "provider": "text", "provider_model": "text"}
)
_CHECK_CORPUS = Call("check_corpus", {"corpus": "text"})
_CLAIM_EMBEDDINGS = Call(
    "claim_embeddings",
    {
        "worker": "text",
        "count": "integer",
        "lease": "interval",
        "only_corpus": "text",
        "only_embedder": "text",
    },
    {"count": 256, "lease": "00:01:00", "only_corpus": None, "only_embedder": None},
)
_CLAIM_QUERIES = Call(
    "claim_queries",
    {"worker": "text", "count": "integer", "lease": "interval", "only_embedder": "text"},
    {"count": 16, "lease": "00:01:00", "only_embedder": None},
)
_COMPLETE_EMBEDDINGS = Call(
    "complete_embeddings",
    {
        "space_id": "integer",
        "input_hashes": "bytea[]",
        "attempts": "integer[]",
        "embeddings": "real[]",
    },
)
_CORPUS_INFO = Call("corpus_info", {"corpus": "text"})
_CREATE_CORPUS = Call(
    "create_corpus",
    {
        "corpus": "text",
        "title": "text",
        "text_config": "text",
        "k1": "double precision",
        "b": "double precision",
        "record_query_text": "text",
    },
    {"title": None, "text_config": "english", "k1": 1.2, "b": 0.75, "record_query_text": "full"},
)
_CREATE_EMBEDDER = Call(
    "create_embedder",
    {
        "name": "text",
        "dims": "integer",
        "model": "text",
        "metric": "text",
        "max_tokens": "integer",
        "revision": "text",
        "query_prefix": "text",
        "passage_prefix": "text",
        "weights_sha256": "text",
    },
    {
        "model": None,
        "metric": "cosine",
        "max_tokens": 256,
        "revision": None,
        "query_prefix": "",
        "passage_prefix": "",
        "weights_sha256": None,
    },
)
_CUTOVER_CORPUS = Call(
    "cutover_corpus", {"corpus": "text", "embedder": "text", "force": "boolean"}, {"force": False}
)
_DELETE_DOCUMENT = Call("delete_document", {"corpus": "text", "doc_cid": "text"})
_DELETE_SOURCE = Call("delete_source", {"corpus": "text", "uri": "text"})
_DOCUMENT_CHUNKS = Call("document_chunks", {"corpus": "text", "doc_cid": "text"})
_DROP_CORPUS = Call("drop_corpus", {"corpus": "text"})
_DROP_SPACE = Call("drop_space", {"corpus": "text", "embedder": "text"})
_DROP_TRACES_BEFORE = Call("drop_traces_before", {"before": "date"})
_EMBED_CORPUS = Call(
    "embed_corpus",
    {"corpus": "text", "embedder": "text", "m": "integer", "ef_construction": "integer"},
    {"m": 16, "ef_construction": 64},
)
_EMBED_QUERY = Call(
    "embed_query",
    {"query": "text", "corpus": "text", "timeout_s": "double precision"},
    {"corpus": None, "timeout_s": 30.0},
    procedure=True,
)
_EMBEDDING_STATUS = Call("embedding_status", {"only_corpus": "text"}, {"only_corpus": None})
_ERROR_CODES = Call("error_codes", {})
_EVENTS_AFTER = Call("events_after", {"id": "uuid", "count": "integer"}, {"id": None, "count": 100})
_FAIL_EMBEDDINGS = Call(
    "fail_embeddings",
    {
        "space_id": "integer",
        "input_hashes": "bytea[]",
        "attempts": "integer[]",
        "error": "text",
        "retry_after": "interval",
    },
    {"retry_after": None},
)
_FAIL_QUERY = Call(
    "fail_query",
    {
        "corpus": "text",
        "embedder": "text",
        "query_hash": "bytea",
        "attempt": "integer",
        "error": "text",
    },
)
_GET_BLOB = Call("get_blob", {"cid": "text"})
_GET_CHUNK = Call("get_chunk", {"corpus": "text", "chunk_id": "text"})
_GET_DOCUMENT = Call("get_document", {"corpus": "text", "doc_cid": "text"})
_GET_TRACE = Call("get_trace", {"trace_id": "uuid"})
_GRANT_CORPUS = Call("grant_corpus", {"corpus": "text", "role": "text", "privilege": "text"})
_INDEX_SPACE = Call("index_space", {"corpus": "text", "embedder": "text"}, {"embedder": None})
_LAST_TRACE_ID = Call("last_trace_id", {})
_LIST_CORPORA = Call("list_corpora", {})
_LIST_DOCUMENTS = Call(
    "list_documents",
    {"corpus": "text", "prefix": "text", "after": "text", "count": "integer"},
    {"prefix": "", "after": "", "count": 100},
)
_LIST_EMBEDDERS = Call("list_embedders", {})
_LIST_FAILED_EMBEDDINGS = Call("list_failed_embeddings", {"corpus": "text"})
_LIST_TRACES = Call(
    "list_traces",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer"},
    {"corpus": None, "since": None, "count": 50},
)
_MAINTAIN = Call("maintain", {})
_OPTIMIZE_CORPUS = Call("optimize_corpus", {"corpus": "text"})
_PRUNE_SOURCES = Call("prune_sources", {"corpus": "text", "prefix": "text", "keep": "text[]"})
_PUT_BLOB = Call("put_blob", {"bytes": "bytea", "media_type": "text"})
_PUT_DOCUMENT = Call(
    "put_document",
    {
        "corpus": "text",
        "doc_cid": "text",
        "uri": "text",
        "chunks": "jsonb",
        "chunking": "jsonb",
        "title": "text",
        "language": "text",
        "media_type": "text",
        "metadata": "jsonb",
        "external_id": "text",
        "source_name": "text",
        "size_bytes": "bigint",
        "pages": "integer",
        "etag": "text",
        "links": "jsonb",
        "force": "boolean",
    },
    {
        "title": None,
        "language": None,
        "media_type": "text/plain",
        "metadata": {},
        "external_id": None,
        "source_name": "",
        "size_bytes": None,
        "pages": None,
        "etag": None,
        "links": "[]",
        "force": False,
    },
)
_PUT_DOCUMENTS = Call(
    "put_documents", {"corpus": "text", "documents": "jsonb", "force": "boolean"}, {"force": False}
)
_PUT_QUERY_EMBEDDING = Call(
    "put_query_embedding", {"corpus": "text", "query": "text", "embedding": "real[]"}
)
_PUT_TEXT = Call(
    "put_text",
    {
        "corpus": "text",
        "source": "text",
        "text": "text",
        "title": "text",
        "language": "text",
        "metadata": "jsonb",
        "external_id": "text",
        "strategy": "text",
        "max_tokens": "integer",
        "overlap": "integer",
        "unit": "text",
        "media_type": "text",
        "force": "boolean",
    },
    {
        "title": None,
        "language": None,
        "metadata": {},
        "external_id": None,
        "strategy": "paragraph",
        "max_tokens": 240,
        "overlap": 48,
        "unit": "token",
        "media_type": "text/plain",
        "force": False,
    },
)
_QUERY_EMBEDDING_STATE = Call("query_embedding_state", {"corpus": "text", "query": "text"})
_RECORD_FAILURE = Call(
    "record_failure",
    {
        "corpus": "text",
        "query": "text",
        "error_code": "text",
        "elapsed_ms": "double precision",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
    {
        "k": None,
        "mode": None,
        "min_score": None,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
        "client": None,
        "otel_trace_id": None,
        "otel_span_id": None,
    },
)
_REEMBED_CORPUS = Call(
    "reembed_corpus",
    {"corpus": "text", "embedder": "text", "m": "integer", "ef_construction": "integer"},
    {"m": 16, "ef_construction": 64},
)
_RENEW_EMBEDDINGS = Call(
    "renew_embeddings", {"worker": "text", "lease": "interval"}, {"lease": "00:01:00"}
)
_REPAIR_CORPUS = Call("repair_corpus", {"corpus": "text"})
_REQUEST_QUERY_EMBEDDING = Call("request_query_embedding", {"corpus": "text", "query": "text"})
_REQUEUE_EMBEDDINGS = Call("requeue_embeddings", {"corpus": "text"}, {"corpus": None})
_RETRIEVE = Call(
    "retrieve",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
    {
        "k": 10,
        "mode": None,
        "min_score": 0.0,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
        "client": None,
        "otel_trace_id": None,
        "otel_span_id": None,
    },
)
_RETRY_FAILED = Call("retry_failed", {"corpus": "text"}, {"corpus": None})
_REVOKE_CORPUS = Call("revoke_corpus", {"corpus": "text", "role": "text"})
_ROLLBACK_CORPUS = Call("rollback_corpus", {"corpus": "text"})
_SEARCH_1 = Call(
    "search",
    {
        "corpora": "text[]",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
    },
    {
        "k": 10,
        "mode": None,
        "min_score": 0.0,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
    },
)
_SEARCH_2 = Call(
    "search",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
    },
    {
        "k": 10,
        "mode": None,
        "min_score": 0.0,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
    },
)
_TRACE_HITS = Call("trace_hits", {"trace_id": "uuid"})
_VERIFY_TRACE = Call("verify_trace", {"trace_id": "uuid"})


class Functions(Caller):
    """Every public SQL function, as a method."""

    def bind_embedder(self, name: str, provider: str, provider_model: str) -> Embedders:
        """Binds an embedder to the provider that runs it: sentence-transformers, openai or hash.
        Raises RG400, RG416, RG417.
        """
        return self._row(_BIND_EMBEDDER, Embedders, name, provider, provider_model)

    def check_corpus(self, corpus: str) -> list[CheckCorpusRow]:
        """Recounts and recomputes a corpus and returns what differs from what is stored: no row
        means that all is well. Raises RG400, RG404.
        """
        return self._rows(_CHECK_CORPUS, CheckCorpusRow, corpus)

    def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
    ) -> list[ClaimEmbeddingsRow]:
        """Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for the
        time of the lease (1 s to 1 day), of all corpora that the caller may write or of one.
        Commit before computing. Raises RG400, RG401, RG404, RG416.
        """
        return self._rows(
            _CLAIM_EMBEDDINGS, ClaimEmbeddingsRow, worker, count, lease, only_corpus, only_embedder
        )

    def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> list[ClaimQueriesRow]:
        """Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the
        caller may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query().
        Raises RG400.
        """
        return self._rows(_CLAIM_QUERIES, ClaimQueriesRow, worker, count, lease, only_embedder)

    def complete_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        embeddings: Sequence[float],
    ) -> int:
        """Stores the embeddings (one behind the other) of claimed inputs for all chunks that have
        these inputs still, and returns how many chunks that is; claims lost meanwhile are left
        alone. Raises RG400, RG404, RG418.
        """
        value: int = self._value(_COMPLETE_EMBEDDINGS, space_id, input_hashes, attempts, embeddings)
        return value

    def corpus_info(self, corpus: str) -> CorpusInfoRow:
        """Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each
        occurrence counted) and the caller's right to it. Raises RG400, RG404.
        """
        return self._row(_CORPUS_INFO, CorpusInfoRow, corpus)

    def create_corpus(
        self,
        corpus: str,
        title: str | None = None,
        text_config: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        record_query_text: str = "full",
    ) -> None:
        """Creates an empty corpus: name 1 to 64 of a-z, 0-9 and -, text configuration of
        pg_catalog, k1 0 to 10, b 0 to 1, record_query_text full, hash or none. Raises RG400,
        RG401, RG409, RG411.
        """
        self._run(_CREATE_CORPUS, corpus, title, text_config, k1, b, record_query_text)

    def create_embedder(
        self,
        name: str,
        dims: int,
        model: str | None = None,
        metric: str = "cosine",
        max_tokens: int = 256,
        revision: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        weights_sha256: str | None = None,
    ) -> Embedders:
        """Creates an embedder, or returns it when it exists with the same promises; dims 1 to 4000,
        metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.
        """
        return self._row(
            _CREATE_EMBEDDER,
            Embedders,
            name,
            dims,
            model,
            metric,
            max_tokens,
            revision,
            query_prefix,
            passage_prefix,
            weights_sha256,
        )

    def cutover_corpus(self, corpus: str, embedder: str, force: bool = False) -> int:
        """Makes the second space of a corpus the current one, in one transaction, and keeps the
        other for a rollback; refused while chunks are missing unless forced. Raises RG401,
        RG404, RG409, RG416.
        """
        value: int = self._value(_CUTOVER_CORPUS, corpus, embedder, force)
        return value

    def delete_document(self, corpus: str, doc_cid: str) -> DeleteDocumentRow:
        """Removes a document with all its sources and chunks; returns how many documents and chunks
        went. Raises RG400, RG401, RG404, RG405.
        """
        return self._row(_DELETE_DOCUMENT, DeleteDocumentRow, corpus, doc_cid)

    def delete_source(self, corpus: str, uri: str) -> DeleteSourceRow:
        """Forgets one source, and its document when that was the last one; returns how many
        documents and chunks went. Raises RG400, RG401, RG404, RG405.
        """
        return self._row(_DELETE_SOURCE, DeleteSourceRow, corpus, uri)

    def document_chunks(self, corpus: str, doc_cid: str) -> list[Chunk]:
        """Returns the chunks of a document in order. Raises RG400, RG404, RG405."""
        return self._rows(_DOCUMENT_CHUNKS, Chunk, corpus, doc_cid)

    def drop_corpus(self, corpus: str) -> None:
        """Removes a corpus with its documents, index, grants and events; its traces stay. Raises
        RG400, RG401, RG404.
        """
        self._run(_DROP_CORPUS, corpus)

    def drop_space(self, corpus: str, embedder: str) -> None:
        """Drops the space of a corpus under an embedder with all its embeddings. Raises RG401,
        RG404, RG416.
        """
        self._run(_DROP_SPACE, corpus, embedder)

    def drop_traces_before(self, before: date) -> list[DropTracesBeforeRow]:
        """Drops the traces of whole months (UTC) that ended before a day, of every corpus, and
        returns each month with the number of traces and hits dropped. It waits for readers of
        the tables. Raises RG400.
        """
        return self._rows(_DROP_TRACES_BEFORE, DropTracesBeforeRow, before)

    def embed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 64
    ) -> int:
        """Has a corpus embedded by an embedder from now on, and returns its space; once it is, by
        no other. m 2 to 100, ef_construction 2 m to 1000. Raises RG400, RG401, RG404, RG416,
        RG417.
        """
        value: int = self._value(_EMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    def embed_query(self, query: str, corpus: str | None = None, timeout_s: float = 30.0) -> None:
        """Has a running worker embed a query for one corpus or all readable ones that have
        embeddings, and waits up to timeout_s (0 to 3600); from then on everyone can search by
        its meaning. Call it outside a transaction block. Raises RG400, RG401, RG404, RG415,
        RG419, RG420.
        """
        self._run(_EMBED_QUERY, query, corpus, timeout_s)

    def embedding_status(self, only_corpus: str | None = None) -> list[EmbeddingStatusRow]:
        """Lists the spaces of one corpus or all that the caller may read: coverage (0 to 1), chunks
        that wait, inputs in work, failing and dead, the age of the oldest job and the last
        error. Raises RG401, RG404.
        """
        return self._rows(_EMBEDDING_STATUS, EmbeddingStatusRow, only_corpus)

    def error_codes(self) -> list[ErrorCodesRow]:
        """Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP
        status and its meaning.
        """
        return self._rows(_ERROR_CODES, ErrorCodesRow)

    def events_after(self, id: UUID | str | None = None, count: int = 100) -> list[EventsAfterRow]:
        """Returns the events after a given one (null: from the beginning), oldest first, at most
        count (1 to 10000), of the corpora that the caller may read. Raises RG400.
        """
        return self._rows(_EVENTS_AFTER, EventsAfterRow, id, count)

    def fail_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        error: str,
        retry_after: timedelta | str | None = None,
    ) -> int:
        """Gives claimed inputs back after a failure, to be tried again after a back-off, or after
        about retry_after when the provider and not the input failed; the fifth failure kills a
        job. Returns how many died. Raises RG400, RG404.
        """
        value: int = self._value(
            _FAIL_EMBEDDINGS, space_id, input_hashes, attempts, error, retry_after
        )
        return value

    def fail_query(
        self, corpus: str, embedder: str, query_hash: bytes, attempt: int, error: str
    ) -> None:
        """Gives a claimed query back after a failure, to be tried again after a back-off, five
        times in all. Raises RG400, RG401, RG404, RG416.
        """
        self._run(_FAIL_QUERY, corpus, embedder, query_hash, attempt, error)

    def get_blob(self, cid: str) -> list[Blob]:
        """Returns the original bytes of a document that the caller may read. Raises RG408."""
        return self._rows(_GET_BLOB, Blob, cid)

    def get_chunk(self, corpus: str, chunk_id: str) -> list[Chunk]:
        """Returns one chunk by its id. Raises RG400, RG404, RG406."""
        return self._rows(_GET_CHUNK, Chunk, corpus, chunk_id)

    def get_document(self, corpus: str, doc_cid: str) -> list[Document]:
        """Returns one document by its identity, as ragdb.list_documents does. Raises RG400, RG404,
        RG405.
        """
        return self._rows(_GET_DOCUMENT, Document, corpus, doc_cid)

    def get_trace(self, trace_id: UUID | str) -> RetrievalTraces:
        """Returns one trace of a corpus that the caller may read. Raises RG400, RG407."""
        return self._row(_GET_TRACE, RetrievalTraces, trace_id)

    def grant_corpus(self, corpus: str, role: str, privilege: str) -> None:
        """Gives a role the right read, write or admin to a corpus, in place of the right it had;
        the first grant closes the corpus to all other readers and writers. Raises RG400, RG401,
        RG404.
        """
        self._run(_GRANT_CORPUS, corpus, role, privilege)

    def index_space(self, corpus: str, embedder: str | None = None) -> bool:
        """Builds the HNSW index of a space of a corpus (the current one unless an embedder is
        named) when it has 20,000 chunks and none yet, and says whether it did. Raises RG400,
        RG401, RG404.
        """
        value: bool = self._value(_INDEX_SPACE, corpus, embedder)
        return value

    def last_trace_id(self) -> UUID | None:
        """Returns the id of the trace that this session recorded last, also when the retrieval had
        no hits; null when it recorded none.
        """
        value: UUID | None = self._value(_LAST_TRACE_ID)
        return value

    def list_corpora(self) -> list[ListCorporaRow]:
        """Lists the corpora that the caller may read: counts, the language of most documents, and
        the drift of the mean length from the pivot (0.1 is 10 % longer; null without chunks).
        """
        return self._rows(_LIST_CORPORA, ListCorporaRow)

    def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> list[Document]:
        """Lists the documents of a corpus by their first source: those whose source begins with a
        prefix and comes after a given one, at most count (1 to 10000). Raises RG400, RG404.
        """
        return self._rows(_LIST_DOCUMENTS, Document, corpus, prefix, after, count)

    def list_embedders(self) -> list[Embedders]:
        """Lists the embedders by name."""
        return self._rows(_LIST_EMBEDDERS, Embedders)

    def list_failed_embeddings(self, corpus: str) -> list[ListFailedEmbeddingsRow]:
        """Lists the chunks of a corpus whose embedding failed, with the error, dead ones and those
        to be tried again. Raises RG400, RG401, RG404.
        """
        return self._rows(_LIST_FAILED_EMBEDDINGS, ListFailedEmbeddingsRow, corpus)

    def list_traces(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> list[RetrievalTraces]:
        """Returns the latest traces, newest first, of one corpus or of all that the caller may
        read, recorded at or after since; count is 1 to 10000. Raises RG400, RG401, RG404.
        """
        return self._rows(_LIST_TRACES, RetrievalTraces, corpus, since, count)

    def maintain(self) -> list[str]:
        """Makes the partitions that traces need: this month, three ahead, those of rows in the
        default partition, and an empty default partition; returns the names of the tables made,
        none when nothing was due. Call it outside any insert, at least monthly.
        """
        return self._values(_MAINTAIN)

    def optimize_corpus(self, corpus: str) -> OptimizeCorpusRow:
        """Sets a corpus's pivot to the mean length of its chunks, recomputes impacts and bounds and
        drops lexemes that no chunk has. Raises RG400, RG401, RG404.
        """
        return self._row(_OPTIMIZE_CORPUS, OptimizeCorpusRow, corpus)

    def prune_sources(self, corpus: str, prefix: str, keep: Sequence[str]) -> PruneSourcesRow:
        """Forgets the sources that begin with a prefix and are not among those to keep, and every
        document that is left without one; returns how many documents and chunks went. Raises
        RG400, RG401, RG404.
        """
        return self._row(_PRUNE_SOURCES, PruneSourcesRow, corpus, prefix, keep)

    def put_blob(self, bytes: bytes, media_type: str) -> str:
        """Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits;
        the media type given first stays. Raises RG400, RG401.
        """
        value: str = self._value(_PUT_BLOB, bytes, media_type)
        return value

    def put_document(
        self,
        corpus: str,
        doc_cid: str,
        uri: str,
        chunks: Any,
        chunking: Any,
        title: str | None = None,
        language: str | None = None,
        media_type: str = "text/plain",
        metadata: Any = {},
        external_id: str | None = None,
        source_name: str = "",
        size_bytes: int | None = None,
        pages: int | None = None,
        etag: str | None = None,
        links: Any = "[]",
        force: bool = False,
    ) -> list[PutResult]:
        """Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of its
        chunks. Raises RG400, RG401, RG404, RG409, RG412.
        """
        return self._rows(
            _PUT_DOCUMENT,
            PutResult,
            corpus,
            doc_cid,
            uri,
            chunks,
            chunking,
            title,
            language,
            media_type,
            metadata,
            external_id,
            source_name,
            size_bytes,
            pages,
            etag,
            links,
            force,
        )

    def put_documents(self, corpus: str, documents: Any, force: bool = False) -> list[PutResult]:
        """Stores documents with their chunks, at most 10000, in one transaction and returns a row
        for each: its position from 0, its identity, chunks, tokens and event, whether it was
        there already, and the milliseconds of the whole call. What is there already is not
        written again unless force is true. A document is {"doc_cid", "uri", "media_type",
        "size_bytes", "chunking": {…}, "chunks": [{"text", "start", "end", "tokens", "page",
        "heading": […]}], "title", "language", "metadata": {…}, "external_id", "source_name",
        "pages", "etag", "links": [{"chunk", "target"}]}; those from "title" on, "page" and
        "heading" may be missing. Raises RG400, RG401, RG404, RG409, RG412, RG413.
        """
        return self._rows(_PUT_DOCUMENTS, PutResult, corpus, documents, force)

    def put_query_embedding(self, corpus: str, query: str, embedding: Sequence[float]) -> str:
        """Keeps the embedding of a query for a corpus's current embedder, so that everyone can
        search by it, and returns its hash. Raises RG400, RG401, RG404, RG415, RG418.
        """
        value: str = self._value(_PUT_QUERY_EMBEDDING, corpus, query, embedding)
        return value

    def put_text(
        self,
        corpus: str,
        source: str,
        text: str,
        title: str | None = None,
        language: str | None = None,
        metadata: Any = {},
        external_id: str | None = None,
        strategy: str = "paragraph",
        max_tokens: int = 240,
        overlap: int = 48,
        unit: str = "token",
        media_type: str = "text/plain",
        force: bool = False,
    ) -> PutResult:
        """Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document of
        a source, as ragdb.put_documents does. Raises RG400, RG401, RG404, RG409, RG412.
        """
        return self._row(
            _PUT_TEXT,
            PutResult,
            corpus,
            source,
            text,
            title,
            language,
            metadata,
            external_id,
            strategy,
            max_tokens,
            overlap,
            unit,
            media_type,
            force,
        )

    def query_embedding_state(self, corpus: str, query: str) -> list[QueryEmbeddingStateRow]:
        """Says whether a query's embedding is kept, and why a worker failed to make it. Raises
        RG400, RG401, RG404, RG415.
        """
        return self._rows(_QUERY_EMBEDDING_STATE, QueryEmbeddingStateRow, corpus, query)

    def record_failure(
        self,
        corpus: str,
        query: str,
        error_code: str,
        elapsed_ms: float,
        k: int | None = None,
        mode: str | None = None,
        min_score: float | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> UUID:
        """Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms
        milliseconds, with the arguments it had, and returns its id; the caller's client calls it
        after the rollback. Raises RG400, RG404, RG413.
        """
        value: UUID = self._value(
            _RECORD_FAILURE,
            corpus,
            query,
            error_code,
            elapsed_ms,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            client,
            otel_trace_id,
            otel_span_id,
        )
        return value

    def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 64
    ) -> int:
        """Starts, or takes up again, a second space of a corpus under another embedder, beside the
        current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409, RG416.
        """
        value: int = self._value(_REEMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    def renew_embeddings(self, worker: str, lease: timedelta | str = "00:01:00") -> int:
        """Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and
        returns how many inputs that is. Raises RG400.
        """
        value: int = self._value(_RENEW_EMBEDDINGS, worker, lease)
        return value

    def repair_corpus(self, corpus: str) -> None:
        """Rebuilds a corpus's counters and lexical index from its documents and chunks. Raises
        RG400, RG401, RG404.
        """
        self._run(_REPAIR_CORPUS, corpus)

    def request_query_embedding(self, corpus: str, query: str) -> bool:
        """Asks the workers for the embedding of a query (1 to 32768 characters) and says whether it
        is there already. Raises RG400, RG401, RG404, RG415.
        """
        value: bool = self._value(_REQUEST_QUERY_EMBEDDING, corpus, query)
        return value

    def requeue_embeddings(self, corpus: str | None = None) -> int:
        """Has workers look again at every chunk without an embedding, of one corpus or all that the
        caller may write, and returns the number of spaces. Raises RG401, RG404.
        """
        value: int = self._value(_REQUEUE_EMBEDDINGS, corpus)
        return value

    def retrieve(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> list[TracedHit]:
        """Returns the hits of ragdb.search with the same arguments, best first, each with the id of
        the one trace that is recorded in the same transaction; client (up to 200 characters)
        names the program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what
        ragdb.search raises, RG400, RG413, and 25006 where nothing can be written.
        """
        return self._rows(
            _RETRIEVE,
            TracedHit,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            client,
            otel_trace_id,
            otel_span_id,
        )

    def retry_failed(self, corpus: str | None = None) -> int:
        """Makes all inputs that failed, dead or backing off, due at once, of one corpus or all that
        the caller may write, and returns how many. Raises RG401, RG404.
        """
        value: int = self._value(_RETRY_FAILED, corpus)
        return value

    def revoke_corpus(self, corpus: str, role: str) -> None:
        """Takes a role's right to a corpus away; without any grant left the corpus is open to every
        reader and writer again. Raises RG400, RG401, RG404.
        """
        self._run(_REVOKE_CORPUS, corpus, role)

    def rollback_corpus(self, corpus: str) -> str:
        """Makes the space that was current before current again, and returns its embedder; chunks
        that came since are queued for it. Raises RG401, RG404, RG409.
        """
        value: str = self._value(_ROLLBACK_CORPUS, corpus)
        return value

    @overload
    def search(
        self,
        corpora: Sequence[str],
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
    ) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of
        scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.
        """

    @overload
    def search(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
    ) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none
        below min_score), then chunk_id. Raises RG400, RG401, RG404, RG410, RG415.
        """

    def search(self, *args: Any, **kwargs: Any) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of
        scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.
        """
        call, values = choose((_SEARCH_1, _SEARCH_2), args, kwargs)
        return self._rows(call, Hit, *values)

    def trace_hits(self, trace_id: UUID | str) -> list[RetrievalHits]:
        """Returns the hits of one trace, best first, without the text of the chunks. Raises RG400,
        RG407.
        """
        return self._rows(_TRACE_HITS, RetrievalHits, trace_id)

    def verify_trace(self, trace_id: UUID | str) -> list[VerifyTraceRow]:
        """Recomputes the hashes of a trace from its rows: one row for trace_hash (every column and
        hit), result_hash, limit_returned and query_hash, is_intact false where a row was edited,
        added or removed since. Raises RG400, RG407.
        """
        return self._rows(_VERIFY_TRACE, VerifyTraceRow, trace_id)


class AsyncFunctions(AsyncCaller):
    """Every public SQL function, as an asynchronous method."""

    async def bind_embedder(self, name: str, provider: str, provider_model: str) -> Embedders:
        """Binds an embedder to the provider that runs it: sentence-transformers, openai or hash.
        Raises RG400, RG416, RG417.
        """
        return await self._row(_BIND_EMBEDDER, Embedders, name, provider, provider_model)

    async def check_corpus(self, corpus: str) -> list[CheckCorpusRow]:
        """Recounts and recomputes a corpus and returns what differs from what is stored: no row
        means that all is well. Raises RG400, RG404.
        """
        return await self._rows(_CHECK_CORPUS, CheckCorpusRow, corpus)

    async def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
    ) -> list[ClaimEmbeddingsRow]:
        """Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for the
        time of the lease (1 s to 1 day), of all corpora that the caller may write or of one.
        Commit before computing. Raises RG400, RG401, RG404, RG416.
        """
        return await self._rows(
            _CLAIM_EMBEDDINGS, ClaimEmbeddingsRow, worker, count, lease, only_corpus, only_embedder
        )

    async def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> list[ClaimQueriesRow]:
        """Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the
        caller may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query().
        Raises RG400.
        """
        return await self._rows(
            _CLAIM_QUERIES, ClaimQueriesRow, worker, count, lease, only_embedder
        )

    async def complete_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        embeddings: Sequence[float],
    ) -> int:
        """Stores the embeddings (one behind the other) of claimed inputs for all chunks that have
        these inputs still, and returns how many chunks that is; claims lost meanwhile are left
        alone. Raises RG400, RG404, RG418.
        """
        value: int = await self._value(
            _COMPLETE_EMBEDDINGS, space_id, input_hashes, attempts, embeddings
        )
        return value

    async def corpus_info(self, corpus: str) -> CorpusInfoRow:
        """Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each
        occurrence counted) and the caller's right to it. Raises RG400, RG404.
        """
        return await self._row(_CORPUS_INFO, CorpusInfoRow, corpus)

    async def create_corpus(
        self,
        corpus: str,
        title: str | None = None,
        text_config: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        record_query_text: str = "full",
    ) -> None:
        """Creates an empty corpus: name 1 to 64 of a-z, 0-9 and -, text configuration of
        pg_catalog, k1 0 to 10, b 0 to 1, record_query_text full, hash or none. Raises RG400,
        RG401, RG409, RG411.
        """
        await self._run(_CREATE_CORPUS, corpus, title, text_config, k1, b, record_query_text)

    async def create_embedder(
        self,
        name: str,
        dims: int,
        model: str | None = None,
        metric: str = "cosine",
        max_tokens: int = 256,
        revision: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        weights_sha256: str | None = None,
    ) -> Embedders:
        """Creates an embedder, or returns it when it exists with the same promises; dims 1 to 4000,
        metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.
        """
        return await self._row(
            _CREATE_EMBEDDER,
            Embedders,
            name,
            dims,
            model,
            metric,
            max_tokens,
            revision,
            query_prefix,
            passage_prefix,
            weights_sha256,
        )

    async def cutover_corpus(self, corpus: str, embedder: str, force: bool = False) -> int:
        """Makes the second space of a corpus the current one, in one transaction, and keeps the
        other for a rollback; refused while chunks are missing unless forced. Raises RG401,
        RG404, RG409, RG416.
        """
        value: int = await self._value(_CUTOVER_CORPUS, corpus, embedder, force)
        return value

    async def delete_document(self, corpus: str, doc_cid: str) -> DeleteDocumentRow:
        """Removes a document with all its sources and chunks; returns how many documents and chunks
        went. Raises RG400, RG401, RG404, RG405.
        """
        return await self._row(_DELETE_DOCUMENT, DeleteDocumentRow, corpus, doc_cid)

    async def delete_source(self, corpus: str, uri: str) -> DeleteSourceRow:
        """Forgets one source, and its document when that was the last one; returns how many
        documents and chunks went. Raises RG400, RG401, RG404, RG405.
        """
        return await self._row(_DELETE_SOURCE, DeleteSourceRow, corpus, uri)

    async def document_chunks(self, corpus: str, doc_cid: str) -> list[Chunk]:
        """Returns the chunks of a document in order. Raises RG400, RG404, RG405."""
        return await self._rows(_DOCUMENT_CHUNKS, Chunk, corpus, doc_cid)

    async def drop_corpus(self, corpus: str) -> None:
        """Removes a corpus with its documents, index, grants and events; its traces stay. Raises
        RG400, RG401, RG404.
        """
        await self._run(_DROP_CORPUS, corpus)

    async def drop_space(self, corpus: str, embedder: str) -> None:
        """Drops the space of a corpus under an embedder with all its embeddings. Raises RG401,
        RG404, RG416.
        """
        await self._run(_DROP_SPACE, corpus, embedder)

    async def drop_traces_before(self, before: date) -> list[DropTracesBeforeRow]:
        """Drops the traces of whole months (UTC) that ended before a day, of every corpus, and
        returns each month with the number of traces and hits dropped. It waits for readers of
        the tables. Raises RG400.
        """
        return await self._rows(_DROP_TRACES_BEFORE, DropTracesBeforeRow, before)

    async def embed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 64
    ) -> int:
        """Has a corpus embedded by an embedder from now on, and returns its space; once it is, by
        no other. m 2 to 100, ef_construction 2 m to 1000. Raises RG400, RG401, RG404, RG416,
        RG417.
        """
        value: int = await self._value(_EMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    async def embed_query(
        self, query: str, corpus: str | None = None, timeout_s: float = 30.0
    ) -> None:
        """Has a running worker embed a query for one corpus or all readable ones that have
        embeddings, and waits up to timeout_s (0 to 3600); from then on everyone can search by
        its meaning. Call it outside a transaction block. Raises RG400, RG401, RG404, RG415,
        RG419, RG420.
        """
        await self._run(_EMBED_QUERY, query, corpus, timeout_s)

    async def embedding_status(self, only_corpus: str | None = None) -> list[EmbeddingStatusRow]:
        """Lists the spaces of one corpus or all that the caller may read: coverage (0 to 1), chunks
        that wait, inputs in work, failing and dead, the age of the oldest job and the last
        error. Raises RG401, RG404.
        """
        return await self._rows(_EMBEDDING_STATUS, EmbeddingStatusRow, only_corpus)

    async def error_codes(self) -> list[ErrorCodesRow]:
        """Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP
        status and its meaning.
        """
        return await self._rows(_ERROR_CODES, ErrorCodesRow)

    async def events_after(
        self, id: UUID | str | None = None, count: int = 100
    ) -> list[EventsAfterRow]:
        """Returns the events after a given one (null: from the beginning), oldest first, at most
        count (1 to 10000), of the corpora that the caller may read. Raises RG400.
        """
        return await self._rows(_EVENTS_AFTER, EventsAfterRow, id, count)

    async def fail_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        error: str,
        retry_after: timedelta | str | None = None,
    ) -> int:
        """Gives claimed inputs back after a failure, to be tried again after a back-off, or after
        about retry_after when the provider and not the input failed; the fifth failure kills a
        job. Returns how many died. Raises RG400, RG404.
        """
        value: int = await self._value(
            _FAIL_EMBEDDINGS, space_id, input_hashes, attempts, error, retry_after
        )
        return value

    async def fail_query(
        self, corpus: str, embedder: str, query_hash: bytes, attempt: int, error: str
    ) -> None:
        """Gives a claimed query back after a failure, to be tried again after a back-off, five
        times in all. Raises RG400, RG401, RG404, RG416.
        """
        await self._run(_FAIL_QUERY, corpus, embedder, query_hash, attempt, error)

    async def get_blob(self, cid: str) -> list[Blob]:
        """Returns the original bytes of a document that the caller may read. Raises RG408."""
        return await self._rows(_GET_BLOB, Blob, cid)

    async def get_chunk(self, corpus: str, chunk_id: str) -> list[Chunk]:
        """Returns one chunk by its id. Raises RG400, RG404, RG406."""
        return await self._rows(_GET_CHUNK, Chunk, corpus, chunk_id)

    async def get_document(self, corpus: str, doc_cid: str) -> list[Document]:
        """Returns one document by its identity, as ragdb.list_documents does. Raises RG400, RG404,
        RG405.
        """
        return await self._rows(_GET_DOCUMENT, Document, corpus, doc_cid)

    async def get_trace(self, trace_id: UUID | str) -> RetrievalTraces:
        """Returns one trace of a corpus that the caller may read. Raises RG400, RG407."""
        return await self._row(_GET_TRACE, RetrievalTraces, trace_id)

    async def grant_corpus(self, corpus: str, role: str, privilege: str) -> None:
        """Gives a role the right read, write or admin to a corpus, in place of the right it had;
        the first grant closes the corpus to all other readers and writers. Raises RG400, RG401,
        RG404.
        """
        await self._run(_GRANT_CORPUS, corpus, role, privilege)

    async def index_space(self, corpus: str, embedder: str | None = None) -> bool:
        """Builds the HNSW index of a space of a corpus (the current one unless an embedder is
        named) when it has 20,000 chunks and none yet, and says whether it did. Raises RG400,
        RG401, RG404.
        """
        value: bool = await self._value(_INDEX_SPACE, corpus, embedder)
        return value

    async def last_trace_id(self) -> UUID | None:
        """Returns the id of the trace that this session recorded last, also when the retrieval had
        no hits; null when it recorded none.
        """
        value: UUID | None = await self._value(_LAST_TRACE_ID)
        return value

    async def list_corpora(self) -> list[ListCorporaRow]:
        """Lists the corpora that the caller may read: counts, the language of most documents, and
        the drift of the mean length from the pivot (0.1 is 10 % longer; null without chunks).
        """
        return await self._rows(_LIST_CORPORA, ListCorporaRow)

    async def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> list[Document]:
        """Lists the documents of a corpus by their first source: those whose source begins with a
        prefix and comes after a given one, at most count (1 to 10000). Raises RG400, RG404.
        """
        return await self._rows(_LIST_DOCUMENTS, Document, corpus, prefix, after, count)

    async def list_embedders(self) -> list[Embedders]:
        """Lists the embedders by name."""
        return await self._rows(_LIST_EMBEDDERS, Embedders)

    async def list_failed_embeddings(self, corpus: str) -> list[ListFailedEmbeddingsRow]:
        """Lists the chunks of a corpus whose embedding failed, with the error, dead ones and those
        to be tried again. Raises RG400, RG401, RG404.
        """
        return await self._rows(_LIST_FAILED_EMBEDDINGS, ListFailedEmbeddingsRow, corpus)

    async def list_traces(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> list[RetrievalTraces]:
        """Returns the latest traces, newest first, of one corpus or of all that the caller may
        read, recorded at or after since; count is 1 to 10000. Raises RG400, RG401, RG404.
        """
        return await self._rows(_LIST_TRACES, RetrievalTraces, corpus, since, count)

    async def maintain(self) -> list[str]:
        """Makes the partitions that traces need: this month, three ahead, those of rows in the
        default partition, and an empty default partition; returns the names of the tables made,
        none when nothing was due. Call it outside any insert, at least monthly.
        """
        return await self._values(_MAINTAIN)

    async def optimize_corpus(self, corpus: str) -> OptimizeCorpusRow:
        """Sets a corpus's pivot to the mean length of its chunks, recomputes impacts and bounds and
        drops lexemes that no chunk has. Raises RG400, RG401, RG404.
        """
        return await self._row(_OPTIMIZE_CORPUS, OptimizeCorpusRow, corpus)

    async def prune_sources(self, corpus: str, prefix: str, keep: Sequence[str]) -> PruneSourcesRow:
        """Forgets the sources that begin with a prefix and are not among those to keep, and every
        document that is left without one; returns how many documents and chunks went. Raises
        RG400, RG401, RG404.
        """
        return await self._row(_PRUNE_SOURCES, PruneSourcesRow, corpus, prefix, keep)

    async def put_blob(self, bytes: bytes, media_type: str) -> str:
        """Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits;
        the media type given first stays. Raises RG400, RG401.
        """
        value: str = await self._value(_PUT_BLOB, bytes, media_type)
        return value

    async def put_document(
        self,
        corpus: str,
        doc_cid: str,
        uri: str,
        chunks: Any,
        chunking: Any,
        title: str | None = None,
        language: str | None = None,
        media_type: str = "text/plain",
        metadata: Any = {},
        external_id: str | None = None,
        source_name: str = "",
        size_bytes: int | None = None,
        pages: int | None = None,
        etag: str | None = None,
        links: Any = "[]",
        force: bool = False,
    ) -> list[PutResult]:
        """Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of its
        chunks. Raises RG400, RG401, RG404, RG409, RG412.
        """
        return await self._rows(
            _PUT_DOCUMENT,
            PutResult,
            corpus,
            doc_cid,
            uri,
            chunks,
            chunking,
            title,
            language,
            media_type,
            metadata,
            external_id,
            source_name,
            size_bytes,
            pages,
            etag,
            links,
            force,
        )

    async def put_documents(
        self, corpus: str, documents: Any, force: bool = False
    ) -> list[PutResult]:
        """Stores documents with their chunks, at most 10000, in one transaction and returns a row
        for each: its position from 0, its identity, chunks, tokens and event, whether it was
        there already, and the milliseconds of the whole call. What is there already is not
        written again unless force is true. A document is {"doc_cid", "uri", "media_type",
        "size_bytes", "chunking": {…}, "chunks": [{"text", "start", "end", "tokens", "page",
        "heading": […]}], "title", "language", "metadata": {…}, "external_id", "source_name",
        "pages", "etag", "links": [{"chunk", "target"}]}; those from "title" on, "page" and
        "heading" may be missing. Raises RG400, RG401, RG404, RG409, RG412, RG413.
        """
        return await self._rows(_PUT_DOCUMENTS, PutResult, corpus, documents, force)

    async def put_query_embedding(self, corpus: str, query: str, embedding: Sequence[float]) -> str:
        """Keeps the embedding of a query for a corpus's current embedder, so that everyone can
        search by it, and returns its hash. Raises RG400, RG401, RG404, RG415, RG418.
        """
        value: str = await self._value(_PUT_QUERY_EMBEDDING, corpus, query, embedding)
        return value

    async def put_text(
        self,
        corpus: str,
        source: str,
        text: str,
        title: str | None = None,
        language: str | None = None,
        metadata: Any = {},
        external_id: str | None = None,
        strategy: str = "paragraph",
        max_tokens: int = 240,
        overlap: int = 48,
        unit: str = "token",
        media_type: str = "text/plain",
        force: bool = False,
    ) -> PutResult:
        """Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document of
        a source, as ragdb.put_documents does. Raises RG400, RG401, RG404, RG409, RG412.
        """
        return await self._row(
            _PUT_TEXT,
            PutResult,
            corpus,
            source,
            text,
            title,
            language,
            metadata,
            external_id,
            strategy,
            max_tokens,
            overlap,
            unit,
            media_type,
            force,
        )

    async def query_embedding_state(self, corpus: str, query: str) -> list[QueryEmbeddingStateRow]:
        """Says whether a query's embedding is kept, and why a worker failed to make it. Raises
        RG400, RG401, RG404, RG415.
        """
        return await self._rows(_QUERY_EMBEDDING_STATE, QueryEmbeddingStateRow, corpus, query)

    async def record_failure(
        self,
        corpus: str,
        query: str,
        error_code: str,
        elapsed_ms: float,
        k: int | None = None,
        mode: str | None = None,
        min_score: float | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> UUID:
        """Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms
        milliseconds, with the arguments it had, and returns its id; the caller's client calls it
        after the rollback. Raises RG400, RG404, RG413.
        """
        value: UUID = await self._value(
            _RECORD_FAILURE,
            corpus,
            query,
            error_code,
            elapsed_ms,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            client,
            otel_trace_id,
            otel_span_id,
        )
        return value

    async def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 64
    ) -> int:
        """Starts, or takes up again, a second space of a corpus under another embedder, beside the
        current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409, RG416.
        """
        value: int = await self._value(_REEMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    async def renew_embeddings(self, worker: str, lease: timedelta | str = "00:01:00") -> int:
        """Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and
        returns how many inputs that is. Raises RG400.
        """
        value: int = await self._value(_RENEW_EMBEDDINGS, worker, lease)
        return value

    async def repair_corpus(self, corpus: str) -> None:
        """Rebuilds a corpus's counters and lexical index from its documents and chunks. Raises
        RG400, RG401, RG404.
        """
        await self._run(_REPAIR_CORPUS, corpus)

    async def request_query_embedding(self, corpus: str, query: str) -> bool:
        """Asks the workers for the embedding of a query (1 to 32768 characters) and says whether it
        is there already. Raises RG400, RG401, RG404, RG415.
        """
        value: bool = await self._value(_REQUEST_QUERY_EMBEDDING, corpus, query)
        return value

    async def requeue_embeddings(self, corpus: str | None = None) -> int:
        """Has workers look again at every chunk without an embedding, of one corpus or all that the
        caller may write, and returns the number of spaces. Raises RG401, RG404.
        """
        value: int = await self._value(_REQUEUE_EMBEDDINGS, corpus)
        return value

    async def retrieve(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> list[TracedHit]:
        """Returns the hits of ragdb.search with the same arguments, best first, each with the id of
        the one trace that is recorded in the same transaction; client (up to 200 characters)
        names the program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what
        ragdb.search raises, RG400, RG413, and 25006 where nothing can be written.
        """
        return await self._rows(
            _RETRIEVE,
            TracedHit,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            client,
            otel_trace_id,
            otel_span_id,
        )

    async def retry_failed(self, corpus: str | None = None) -> int:
        """Makes all inputs that failed, dead or backing off, due at once, of one corpus or all that
        the caller may write, and returns how many. Raises RG401, RG404.
        """
        value: int = await self._value(_RETRY_FAILED, corpus)
        return value

    async def revoke_corpus(self, corpus: str, role: str) -> None:
        """Takes a role's right to a corpus away; without any grant left the corpus is open to every
        reader and writer again. Raises RG400, RG401, RG404.
        """
        await self._run(_REVOKE_CORPUS, corpus, role)

    async def rollback_corpus(self, corpus: str) -> str:
        """Makes the space that was current before current again, and returns its embedder; chunks
        that came since are queued for it. Raises RG401, RG404, RG409.
        """
        value: str = await self._value(_ROLLBACK_CORPUS, corpus)
        return value

    @overload
    async def search(
        self,
        corpora: Sequence[str],
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
    ) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of
        scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.
        """

    @overload
    async def search(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
    ) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none
        below min_score), then chunk_id. Raises RG400, RG401, RG404, RG410, RG415.
        """

    async def search(self, *args: Any, **kwargs: Any) -> list[Hit]:
        """Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of
        scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.
        """
        call, values = choose((_SEARCH_1, _SEARCH_2), args, kwargs)
        return await self._rows(call, Hit, *values)

    async def trace_hits(self, trace_id: UUID | str) -> list[RetrievalHits]:
        """Returns the hits of one trace, best first, without the text of the chunks. Raises RG400,
        RG407.
        """
        return await self._rows(_TRACE_HITS, RetrievalHits, trace_id)

    async def verify_trace(self, trace_id: UUID | str) -> list[VerifyTraceRow]:
        """Recomputes the hashes of a trace from its rows: one row for trace_hash (every column and
        hit), result_hash, limit_returned and query_hash, is_intact false where a row was edited,
        added or removed since. Raises RG400, RG407.
        """
        return await self._rows(_VERIFY_TRACE, VerifyTraceRow, trace_id)
