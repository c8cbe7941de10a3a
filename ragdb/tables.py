"""The tables of schema ragdb for SQLAlchemy Core, for joining them in queries of one's own.

They describe what migrations/ made, and are never used to make anything: a test compares them with
the database. Only ragdb_owner reads tables; everyone else calls the functions.
"""

from __future__ import annotations

from pgvector.sqlalchemy import SPARSEVEC, VECTOR
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlalchemy.types import UserDefinedType


class XID8(UserDefinedType[int]):
    """A transaction's number."""

    cache_ok = True

    def get_col_spec(self) -> str:
        return "xid8"


metadata = MetaData(schema="ragdb")

blobs = Table(
    "blobs",
    metadata,
    Column("cid", Text, primary_key=True),
    Column("bytes", LargeBinary, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
)

chunk_embeddings = Table(
    "chunk_embeddings",
    metadata,
    Column("space_id", Integer, nullable=False),
    Column("corpus_id", Integer, nullable=False),
    Column("chunk_no", Integer, nullable=False),
    Column("input_hash", LargeBinary, nullable=False),
    Column("embedding", VECTOR, nullable=False),
)

chunk_lexemes = Table(
    "chunk_lexemes",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    Column("lexeme_count", Integer, nullable=False),
    Column("impacts", SPARSEVEC, nullable=False),
    Column("lexemes", TSVECTOR, nullable=False),
)

corpora = Table(
    "corpora",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("personal_of", Text),
    Column("title", Text),
    Column("text_config", Text, nullable=False),
    Column("k1", Double, nullable=False),
    Column("b", Double, nullable=False),
    Column("pivot", Double, nullable=False),
    Column("record_query_text", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("version_xid", XID8),
    Column("documents", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("lexeme_count", BigInteger, nullable=False),
    Column("token_count", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("next_doc_no", Integer, nullable=False),
    Column("next_chunk_no", Integer, nullable=False),
    Column("next_term_id", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint(
        "name", "personal_of", name="corpora_name_is_unique", postgresql_nulls_not_distinct=True
    ),
)

embedders = Table(
    "embedders",
    metadata,
    Column("embedder_id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("revision", Text),
    Column("dims", Integer, nullable=False),
    Column("metric", Text, nullable=False),
    Column("max_tokens", Integer, nullable=False),
    Column("query_prefix", Text, nullable=False),
    Column("passage_prefix", Text, nullable=False),
    Column("weights_sha256", Text),
    Column("provider", Text),
    Column("provider_model", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("name", name="embedders_name_is_unique"),
)

event_clock = Table(
    "event_clock",
    metadata,
    Column("id", Boolean, primary_key=True),
    Column("lamport", BigInteger, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("lamport", BigInteger, primary_key=True),
    Column("event_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("author", Text, nullable=False),
    Column("corpus_id", Integer, nullable=False),
    Column("corpus", Text, nullable=False),
    Column("doc_cid", Text, nullable=False),
    Column("title", Text),
    Column("language", Text),
    Column("chunks", Integer, nullable=False),
    UniqueConstraint("event_id", name="events_id_is_unique"),
)

lexemes = Table(
    "lexemes",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("lexeme", Text, primary_key=True),
    Column("term_id", Integer, nullable=False),
    Column("df", Integer, nullable=False),
    Column("max_impact", REAL, nullable=False),
    UniqueConstraint("corpus_id", "term_id", name="lexemes_term_id_is_unique_per_corpus"),
)

retrieval_hits = Table(
    "retrieval_hits",
    metadata,
    Column("corpus_id", Integer, nullable=False),
    Column("trace_id", Uuid, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("rank", Integer, nullable=False),
    Column("chunk_id", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("score", Double, nullable=False),
    Column("lexical_score", Double),
    Column("semantic_score", Double),
    Column("lexical_rank", Integer),
    Column("semantic_rank", Integer),
)

retrieval_traces = Table(
    "retrieval_traces",
    metadata,
    Column("corpus_id", Integer, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("corpus", Text, nullable=False),
    Column("retriever", Text),
    Column("rag", Text),
    Column("retrieval_mode", Text, nullable=False),
    Column("rank_mode", Text),
    Column("query_text", Text),
    Column("query_hash", Text),
    Column("query_embedding_hash", Text),
    Column("embedding_model", Text),
    Column("slice_id", Text),
    Column("anchor_chunk_id", Text),
    Column("slice_chunk_count", Integer),
    Column("slice_edge_count", Integer),
    Column("policy_id", Text),
    Column("policy_params_hash", Text),
    Column("schema_version", Text),
    Column("graph_snapshot_hash", Text),
    Column("admissibility_token", Text),
    Column("is_admissible", Boolean, nullable=False),
    Column("admissibility_shortfall", Boolean, nullable=False),
    Column("shortfall_reason", Text),
    Column("limit_requested", Integer),
    Column("limit_returned", Integer, nullable=False),
    Column("min_score", Double),
    Column("filters", JSONB),
    Column("chunk_ids", ARRAY(Text)),
    Column("statistics", Text),
    Column("result_hash", Text),
    Column("corpus_version", BigInteger, nullable=False),
    Column("is_exact", Boolean, nullable=False),
    Column("elapsed_ms", Double, nullable=False),
    Column("error_code", Text),
    Column("client", Text),
    Column("caller", Text, nullable=False),
    Column("otel_trace_id", Text),
    Column("otel_span_id", Text),
    Column("trace_hash", LargeBinary, nullable=False),
    Column("trace_mac", LargeBinary),
)

settings = Table(
    "settings",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", JSONB, nullable=False),
)

corpus_grants = Table(
    "corpus_grants",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("role", Text, primary_key=True),
    Column("privilege", Text, nullable=False),
    ForeignKeyConstraint(
        ["corpus_id"],
        ["ragdb.corpora.corpus_id"],
        name="corpus_grants_corpus_exists",
        ondelete="CASCADE",
    ),
)

documents = Table(
    "documents",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("doc_no", Integer, primary_key=True),
    Column("doc_cid", Text, nullable=False),
    Column("title", Text),
    Column("language", Text),
    Column("media_type", Text, nullable=False),
    Column("metadata", JSONB, nullable=False),
    Column("chunking", JSONB, nullable=False),
    Column("external_id", Text),
    Column("source_name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("pages", Integer),
    Column("chunks", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("event_id", Uuid, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("corpus_id", "doc_cid", name="documents_cid_is_unique_per_corpus"),
    ForeignKeyConstraint(
        ["corpus_id"],
        ["ragdb.corpora.corpus_id"],
        name="documents_corpus_exists",
        ondelete="CASCADE",
    ),
)

embedding_spaces = Table(
    "embedding_spaces",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("space_id", Integer, primary_key=True),
    Column("embedder_id", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("m", Integer, nullable=False),
    Column("ef_construction", Integer, nullable=False),
    Column("is_indexed", Boolean, nullable=False),
    Column("queued_to", Integer, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("current_since", DateTime(timezone=True)),
    UniqueConstraint(
        "corpus_id", "embedder_id", name="embedding_spaces_embedder_is_unique_per_corpus"
    ),
    UniqueConstraint("space_id", name="embedding_spaces_id_is_unique"),
    ForeignKeyConstraint(
        ["corpus_id"],
        ["ragdb.corpora.corpus_id"],
        name="embedding_spaces_corpus_exists",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["embedder_id"], ["ragdb.embedders.embedder_id"], name="embedding_spaces_embedder_exists"
    ),
)

query_embeddings = Table(
    "query_embeddings",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("embedding_hash", LargeBinary, primary_key=True),
    Column("embedder_id", Integer, primary_key=True),
    Column("embedding", VECTOR, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    ForeignKeyConstraint(
        ["corpus_id"],
        ["ragdb.corpora.corpus_id"],
        name="query_embeddings_corpus_exists",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["embedder_id"], ["ragdb.embedders.embedder_id"], name="query_embeddings_embedder_exists"
    ),
)

chunks = Table(
    "chunks",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    Column("doc_no", Integer, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("chunk_id", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("heading", ARRAY(Text), nullable=False),
    Column("page", Integer),
    Column("start_offset", Integer, nullable=False),
    Column("end_offset", Integer, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("citation", JSONB),
    Column("text", Text, nullable=False),
    UniqueConstraint("corpus_id", "chunk_id", name="chunks_id_is_unique_per_corpus"),
    UniqueConstraint(
        "corpus_id", "doc_no", "ordinal", name="chunks_ordinal_is_unique_per_document"
    ),
    ForeignKeyConstraint(
        ["corpus_id", "doc_no"],
        ["ragdb.documents.corpus_id", "ragdb.documents.doc_no"],
        name="chunks_document_exists",
        ondelete="CASCADE",
    ),
)

document_sources = Table(
    "document_sources",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("uri", Text, primary_key=True),
    Column("doc_no", Integer, nullable=False),
    Column("source_name", Text, nullable=False),
    Column("etag", Text),
    Column("seen_at", DateTime(timezone=True), nullable=False),
    ForeignKeyConstraint(
        ["corpus_id", "doc_no"],
        ["ragdb.documents.corpus_id", "ragdb.documents.doc_no"],
        name="document_sources_document_exists",
        ondelete="CASCADE",
    ),
)

embedded_queries = Table(
    "embedded_queries",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("embedder_id", Integer, primary_key=True),
    Column("query_hash", LargeBinary, primary_key=True),
    Column("embedding_hash", LargeBinary),
    Column("query_text", Text),
    Column("attempt", Integer, nullable=False),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("last_error", Text),
    ForeignKeyConstraint(
        ["corpus_id"],
        ["ragdb.corpora.corpus_id"],
        name="embedded_queries_corpus_exists",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["embedder_id"], ["ragdb.embedders.embedder_id"], name="embedded_queries_embedder_exists"
    ),
    ForeignKeyConstraint(
        ["corpus_id", "embedder_id", "embedding_hash"],
        [
            "ragdb.query_embeddings.corpus_id",
            "ragdb.query_embeddings.embedder_id",
            "ragdb.query_embeddings.embedding_hash",
        ],
        name="embedded_queries_embedding_exists",
        ondelete="CASCADE",
    ),
)

embedding_jobs = Table(
    "embedding_jobs",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("space_id", Integer, primary_key=True),
    Column("input_hash", LargeBinary, primary_key=True),
    Column("chunk_nos", ARRAY(Integer), nullable=False),
    Column("is_dead", Boolean, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("worker", Text),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("last_error", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    ForeignKeyConstraint(
        ["corpus_id", "space_id"],
        ["ragdb.embedding_spaces.corpus_id", "ragdb.embedding_spaces.space_id"],
        name="embedding_jobs_space_exists",
        ondelete="CASCADE",
    ),
)

document_links = Table(
    "document_links",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    Column("target", Text, primary_key=True),
    ForeignKeyConstraint(
        ["corpus_id", "chunk_no"],
        ["ragdb.chunks.corpus_id", "ragdb.chunks.chunk_no"],
        name="document_links_chunk_exists",
        ondelete="CASCADE",
    ),
)

edges = Table(
    "edges",
    metadata,
    Column("corpus_id", Integer, primary_key=True),
    Column("parent_no", Integer, primary_key=True),
    Column("child_no", Integer, primary_key=True),
    Column("edge_type", Text, primary_key=True),
    Column("child_salience", REAL, nullable=False),
    ForeignKeyConstraint(
        ["corpus_id", "child_no"],
        ["ragdb.chunks.corpus_id", "ragdb.chunks.chunk_no"],
        name="edges_child_exists",
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["corpus_id", "parent_no"],
        ["ragdb.chunks.corpus_id", "ragdb.chunks.chunk_no"],
        name="edges_parent_exists",
        ondelete="CASCADE",
    ),
)
