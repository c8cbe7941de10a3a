-- Embedders, the spaces of a corpus, embeddings of chunks and queries, and their queues.

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
      check (provider in ('sentence-transformers', 'openai', 'hash', 'static')),
  provider_model text,
  created_at timestamptz not null,
  constraint embedders_binding_is_whole check ((provider is null) = (provider_model is null))
);
comment on table ragdb.embedders is
  'What an embedding model promises whoever runs it, and which provider runs it here. Read it '
  'through ragdb.list_embedders and bi.dim_embedding_model.';
comment on column ragdb.embedders.embedder_id is 'Number of the embedder.';
comment on column ragdb.embedders.name is 'Name that contracts and corpora use.';
comment on column ragdb.embedders.model is 'Name that the makers of the model gave it.';
comment on column ragdb.embedders.revision is 'Revision of the model; null without one.';
comment on column ragdb.embedders.dims is 'Width of its vectors, 1 to 4000.';
comment on column ragdb.embedders.metric is
  'How its vectors are compared: cosine, ip or l2. The last two want unit vectors.';
comment on column ragdb.embedders.max_tokens is
  'Tokens of an input that the model reads. The rest is cut.';
comment on column ragdb.embedders.query_prefix is 'Text put before a query that is embedded.';
comment on column ragdb.embedders.passage_prefix is 'Text put before a chunk that is embedded.';
comment on column ragdb.embedders.weights_sha256 is
  'SHA-256 (hex) of its weights, checked when they are loaded; null to trust the provider.';
comment on column ragdb.embedders.provider is
  'Who runs the model: sentence-transformers, openai (any compatible endpoint), hash, or static '
  '(the database); null until bound.';
comment on column ragdb.embedders.provider_model is
  'What the provider calls the model: packaged, a path, a name on the hub or at the endpoint, '
  'hash-v1 or static-v2.';
comment on column ragdb.embedders.created_at is 'When the embedder was created.';

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
      check (ef_construction >= 2 * m and ef_construction between 4 and 1000),
  ef_search integer not null default 240
    constraint embedding_spaces_ef_search_is_in_range check (ef_search between 1 and 1000),
  is_indexed boolean not null default false,
  is_filled boolean not null default false,
  is_half boolean not null default false,
  queued_to integer not null default 0,
  created_at timestamptz not null,
  current_since timestamptz,
  constraint embedding_spaces_id_is_unique_per_corpus primary key (corpus_id, space_id),
  constraint embedding_spaces_embedder_is_unique_per_corpus unique (corpus_id, embedder_id)
);
create unique index embedding_spaces_current_is_one_per_corpus
  on ragdb.embedding_spaces (corpus_id) where state = 'current';
comment on table ragdb.embedding_spaces is
  'The spaces of a corpus, one for each embedder. At most one of them is current, and searched. '
  'Read it through ragdb.embedding_status.';
comment on column ragdb.embedding_spaces.corpus_id is 'The corpus.';
comment on column ragdb.embedding_spaces.space_id is
  'Number of the space, and of its partition of ragdb.chunk_embeddings.';
comment on column ragdb.embedding_spaces.embedder_id is 'The embedder.';
comment on column ragdb.embedding_spaces.state is
  'building (filled beside the current one), current (searched) or retired (kept for a rollback, '
  'no longer filled).';
comment on column ragdb.embedding_spaces.m is 'Links of an HNSW node, 2 to 100.';
comment on column ragdb.embedding_spaces.ef_construction is
  'Candidates examined when the HNSW index is built, 4 to 1000.';
comment on column ragdb.embedding_spaces.ef_search is
  'Candidates that a walk of the index examines, 1 to 1000. It is measured when the index is '
  'built, so that the index finds nearly all that a scan finds. A hybrid search that weighs words '
  'by 0.75 or more examines an eighth.';
comment on column ragdb.embedding_spaces.is_indexed is 'Whether the HNSW index exists.';
comment on column ragdb.embedding_spaces.is_filled is
  'Whether every chunk has had its embedding at one time, or the space was made current on demand. '
  'Until then a search ranks by words unless a mode is asked for.';
comment on column ragdb.embedding_spaces.is_half is
  'Whether its vectors are stored, and compared, in half precision, as those of a static embedder '
  'are.';
comment on column ragdb.embedding_spaces.queued_to is
  'Largest number of a chunk that has been given an embedding or a job.';
comment on column ragdb.embedding_spaces.created_at is 'When the space was made.';
comment on column ragdb.embedding_spaces.current_since is
  'When the space last became current; null if never.';

-- Each space is a partition, made at run time with its own key, foreign key and HNSW index. The
-- width is the space's, so the column does not have one.
create table ragdb.chunk_embeddings (
  space_id integer not null,
  corpus_id integer not null,
  chunk_no integer not null,
  input_hash bytea not null,
  embedding vector,
  half halfvec,
  constraint chunk_embeddings_have_one_precision check ((embedding is null) <> (half is null))
) partition by list (space_id);
comment on table ragdb.chunk_embeddings is
  'Embeddings of chunks, partitioned by space. Read it through ragdb.export_embeddings.';
comment on column ragdb.chunk_embeddings.space_id is 'The space.';
comment on column ragdb.chunk_embeddings.corpus_id is 'The corpus.';
comment on column ragdb.chunk_embeddings.chunk_no is 'The chunk.';
comment on column ragdb.chunk_embeddings.input_hash is
  'SHA-256 of what was embedded: passage prefix, then title, heading path and text joined by '
  'newlines.';
comment on column ragdb.chunk_embeddings.embedding is
  'The vector, as the model gave it; null in a space of halves.';
comment on column ragdb.chunk_embeddings.half is
  'The vector in half precision; null where it is kept as the model gave it.';

create table ragdb.embedding_jobs (
  corpus_id integer not null,
  space_id integer not null,
  input_hash bytea not null,
  chunk_nos integer[] not null,
  is_dead boolean not null default false,
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
create index embedding_jobs_dead on ragdb.embedding_jobs (corpus_id, space_id) where is_dead;
create index embedding_jobs_claimed on ragdb.embedding_jobs (corpus_id, space_id, due_at)
  where worker is not null;
create index embedding_jobs_failed on ragdb.embedding_jobs (corpus_id, space_id, due_at)
  where last_error is not null;
comment on table ragdb.embedding_jobs is
  'Inputs that wait for an embedding or failed to get one. It is derived from the chunks without '
  'an embedding. Read it through ragdb.embedding_status and ragdb.list_failed_embeddings.';
comment on column ragdb.embedding_jobs.corpus_id is 'The corpus.';
comment on column ragdb.embedding_jobs.space_id is 'The space.';
comment on column ragdb.embedding_jobs.input_hash is 'SHA-256 of the input.';
comment on column ragdb.embedding_jobs.chunk_nos is
  'Chunks that had that input when they were queued.';
comment on column ragdb.embedding_jobs.is_dead is
  'Whether the input failed too often. ragdb.retry_failed revives it.';
comment on column ragdb.embedding_jobs.attempt is
  'Claims so far, or since ragdb.retry_failed. A completion must name the last one.';
comment on column ragdb.embedding_jobs.failures is
  'Failures reported so far, or since ragdb.retry_failed. After five, the job is dead.';
comment on column ragdb.embedding_jobs.worker is
  'Worker that claimed the job; null while it waits.';
comment on column ragdb.embedding_jobs.due_at is
  'When the job may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embedding_jobs.last_error is 'The last failure.';
comment on column ragdb.embedding_jobs.created_at is 'When the job was queued.';

create table ragdb.query_embeddings (
  corpus_id integer not null
    constraint query_embeddings_corpus_exists references ragdb.corpora on delete cascade,
  embedding_hash bytea not null,
  embedder_id integer not null
    constraint query_embeddings_embedder_exists references ragdb.embedders,
  stored_by xid8 not null,
  embedding vector not null,
  created_at timestamptz not null,
  -- with the transaction: of two who store the same at a time none waits for the other's end
  constraint query_embeddings_hash_is_unique_per_transaction
    primary key (corpus_id, embedder_id, embedding_hash, stored_by)
);
comment on table ragdb.query_embeddings is
  'Embeddings of queries, each under the hash of its own bytes, so that nobody can replace '
  'another''s. Whoever sees one stores it no more.';
comment on column ragdb.query_embeddings.corpus_id is 'The corpus that was asked.';
comment on column ragdb.query_embeddings.embedding_hash is
  'SHA-256 of the numbers as big-endian float4.';
comment on column ragdb.query_embeddings.embedder_id is 'The embedder.';
comment on column ragdb.query_embeddings.stored_by is 'The transaction that stored it.';
comment on column ragdb.query_embeddings.embedding is 'The vector.';
comment on column ragdb.query_embeddings.created_at is 'When the embedding was stored.';

create table ragdb.embedded_queries (
  corpus_id integer not null
    constraint embedded_queries_corpus_exists references ragdb.corpora on delete cascade,
  embedder_id integer not null
    constraint embedded_queries_embedder_exists references ragdb.embedders,
  query_hash bytea not null,
  embedding_hash bytea,
  stored_by xid8,
  query_text text,
  attempt integer not null default 0,
  due_at timestamptz not null,
  last_error text,
  constraint embedded_queries_are_unique_per_embedder
    primary key (corpus_id, embedder_id, query_hash),
  constraint embedded_queries_wait_or_have_an_embedding
    check ((embedding_hash is null) = (query_text is not null)
      and (embedding_hash is null) = (stored_by is null)),
  constraint embedded_queries_embedding_exists
    foreign key (corpus_id, embedder_id, embedding_hash, stored_by)
    references ragdb.query_embeddings on delete cascade
);
create index embedded_queries_waiting on ragdb.embedded_queries (due_at)
  where embedding_hash is null;
-- what retention deletes of ragdb.query_embeddings is looked for here, row by row
create index embedded_queries_by_embedding on ragdb.embedded_queries
  (corpus_id, embedder_id, embedding_hash, stored_by) where embedding_hash is not null;
comment on table ragdb.embedded_queries is
  'Queries by hash. Each has the hash of its embedding or waits for one. Read it through '
  'ragdb.query_embedding_state.';
comment on column ragdb.embedded_queries.corpus_id is 'The corpus that is asked.';
comment on column ragdb.embedded_queries.embedder_id is 'The embedder.';
comment on column ragdb.embedded_queries.query_hash is 'SHA-256 of the query as it was typed.';
comment on column ragdb.embedded_queries.embedding_hash is
  'Its embedding in ragdb.query_embeddings; null while it waits.';
comment on column ragdb.embedded_queries.stored_by is
  'The transaction that stored that; null while it waits.';
comment on column ragdb.embedded_queries.query_text is 'The query, kept only while it waits.';
comment on column ragdb.embedded_queries.attempt is 'Claims so far.';
comment on column ragdb.embedded_queries.due_at is
  'When the query may be claimed; once it has an embedding, when that was put last.';
comment on column ragdb.embedded_queries.last_error is 'The last failure.';
