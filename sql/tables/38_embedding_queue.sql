comment on table ragdb.embedding_jobs is 'Inputs that wait for an embedding or failed to get one.';
comment on column ragdb.embedding_jobs.corpus_id is 'The corpus.';
comment on column ragdb.embedding_jobs.space_id is 'The space.';
comment on column ragdb.embedding_jobs.input_hash is 'SHA-256 of the input.';
comment on column ragdb.embedding_jobs.chunk_nos is
  'Chunks that had that input when they were queued.';
comment on column ragdb.embedding_jobs.is_dead is
  'Whether it failed too often; ragdb.retry_failed() revives it.';
comment on column ragdb.embedding_jobs.attempt is 'Claims so far; a completion must name the last.';
comment on column ragdb.embedding_jobs.failures is 'Failures reported so far; five kill it.';
comment on column ragdb.embedding_jobs.worker is 'Who claimed it; null when it waits.';
comment on column ragdb.embedding_jobs.due_at is
  'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embedding_jobs.last_error is 'The last failure.';
comment on column ragdb.embedding_jobs.created_at is 'When it was queued.';
comment on table ragdb.embedded_queries is
  'Queries by hash, with the hash of their embedding or waiting for one.';
comment on column ragdb.embedded_queries.corpus_id is 'The corpus that is asked.';
comment on column ragdb.embedded_queries.embedder_id is 'The embedder.';
comment on column ragdb.embedded_queries.query_hash is 'SHA-256 of the query as it was typed.';
comment on column ragdb.embedded_queries.embedding_hash is
  'Its embedding in ragdb.query_embeddings; null while it waits.';
comment on column ragdb.embedded_queries.query_text is 'The query, only while it waits.';
comment on column ragdb.embedded_queries.attempt is 'Claims so far.';
comment on column ragdb.embedded_queries.due_at is 'When it may be claimed.';
comment on column ragdb.embedded_queries.last_error is 'The last failure.';
