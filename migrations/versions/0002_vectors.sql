-- State of vectors: embedders, the spaces of a corpus, embeddings of chunks and queries, the queue.
-- Runs once, as ragdb_owner, with pgvector's schema in the search path. Comments live in sql/.

-- What a model promises, whoever runs it; and, last, who runs it here.
create table ragdb.embedders (
  embedder_id integer constraint embedders_id_is_unique primary key,
  name text collate "C" not null constraint embedders_name_is_unique unique
    constraint embedders_name_is_short check (length(name) between 1 and 200),
  model text not null,
  revision text,
  -- the most that an HNSW index over halfvec takes
  dims integer not null constraint embedders_dims_are_in_range check (dims between 1 and 4000),
  metric text not null
    constraint embedders_metric_is_known check (metric in ('cosine', 'ip', 'l2')),
  max_tokens integer not null constraint embedders_max_tokens_are_positive check (max_tokens > 0),
  query_prefix text not null,
  passage_prefix text not null,
  weights_sha256 text collate "C"
    constraint embedders_weights_are_a_sha256 check (weights_sha256 ~ '^[0-9a-f]{64}$'),
  provider text
    constraint embedders_provider_is_known
      check (provider in ('sentence-transformers', 'openai', 'hash')),
  -- what the provider calls the model: a path, a name on the hub or at the endpoint, or hash-v1
  provider_model text,
  created_at timestamptz not null,
  constraint embedders_binding_is_whole check ((provider is null) = (provider_model is null))
);

create table ragdb.embedding_spaces (
  corpus_id integer not null
    constraint embedding_spaces_corpus_exists references ragdb.corpora on delete cascade,
  space_id integer not null constraint embedding_spaces_id_is_unique unique,
  embedder_id integer not null
    constraint embedding_spaces_embedder_exists references ragdb.embedders,
  state text not null
    constraint embedding_spaces_state_is_known check (state in ('building', 'current', 'retired')),
  m integer not null constraint embedding_spaces_m_is_in_range check (m between 2 and 100),
  ef_construction integer not null
    constraint embedding_spaces_ef_construction_is_in_range
      check (ef_construction between 4 and 1000 and ef_construction >= 2 * m),
  is_indexed boolean not null default false,
  -- chunks up to this number are embedded or in the queue
  queued_to integer not null default 0,
  created_at timestamptz not null,
  current_since timestamptz,
  constraint embedding_spaces_id_is_unique_per_corpus primary key (corpus_id, space_id),
  constraint embedding_spaces_embedder_is_unique_per_corpus unique (corpus_id, embedder_id)
);
create unique index embedding_spaces_current_is_one_per_corpus
  on ragdb.embedding_spaces (corpus_id) where state = 'current';

-- One partition a space, with its own key, foreign key and HNSW index: ragdb._make_space makes it. The
-- width is the space's, so the column has none.
create table ragdb.chunk_embeddings (
  space_id integer not null,
  corpus_id integer not null,
  chunk_no integer not null,
  input_hash bytea not null,
  embedding vector not null
) partition by list (space_id);

-- Work to do: one row an input, with the chunks that wait for it. Derived from the chunks without an embedding.
create table ragdb.embedding_jobs (
  corpus_id integer not null,
  space_id integer not null,
  input_hash bytea not null,
  chunk_nos integer[] not null,
  is_dead boolean not null default false,
  -- rises with every claim, and fences the completion
  attempt integer not null default 0,
  failures integer not null default 0,
  worker text,
  due_at timestamptz not null,
  last_error text,
  created_at timestamptz not null,
  constraint embedding_jobs_input_is_unique_per_space primary key (corpus_id, space_id, input_hash),
  constraint embedding_jobs_space_exists foreign key (corpus_id, space_id)
    references ragdb.embedding_spaces on delete cascade
);
create index embedding_jobs_by_due on ragdb.embedding_jobs (corpus_id, space_id, due_at)
  where not is_dead;

-- Under the hash of their own bytes, so that nobody can put another's in place
create table ragdb.query_embeddings (
  corpus_id integer not null
    constraint query_embeddings_corpus_exists references ragdb.corpora on delete cascade,
  embedding_hash bytea not null,
  embedder_id integer not null
    constraint query_embeddings_embedder_exists references ragdb.embedders,
  embedding vector not null,
  created_at timestamptz not null,
  constraint query_embeddings_hash_is_unique_per_corpus
    primary key (corpus_id, embedder_id, embedding_hash)
);

-- Which embedding a query has; without one, it waits for a worker
create table ragdb.embedded_queries (
  corpus_id integer not null
    constraint embedded_queries_corpus_exists references ragdb.corpora on delete cascade,
  embedder_id integer not null
    constraint embedded_queries_embedder_exists references ragdb.embedders,
  query_hash bytea not null,
  embedding_hash bytea,
  -- kept only until the worker has answered
  query_text text,
  attempt integer not null default 0,
  due_at timestamptz not null,
  last_error text,
  constraint embedded_queries_are_unique_per_embedder primary key (corpus_id, embedder_id, query_hash),
  constraint embedded_queries_wait_or_have_an_embedding
    check ((embedding_hash is null) = (query_text is not null)),
  constraint embedded_queries_embedding_exists foreign key (corpus_id, embedder_id, embedding_hash)
    references ragdb.query_embeddings on delete cascade
);
create index embedded_queries_waiting on ragdb.embedded_queries (due_at)
  where embedding_hash is null;

alter table ragdb.retrieval_traces add column ranking jsonb;
