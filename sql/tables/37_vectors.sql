comment on table ragdb.embedders is
  'What an embedding model promises whoever runs it, and which provider runs it here.';
comment on column ragdb.embedders.embedder_id is 'Number of the embedder.';
comment on column ragdb.embedders.name is 'Name that contracts and corpora use.';
comment on column ragdb.embedders.model is 'The model, as its makers name it.';
comment on column ragdb.embedders.revision is 'Revision of the model; null when it has none.';
comment on column ragdb.embedders.dims is 'Width of its vectors, 1 to 4000.';
comment on column ragdb.embedders.metric is
  'How its vectors are compared: cosine, ip or l2; the last two want unit vectors.';
comment on column ragdb.embedders.max_tokens is
  'Tokens of an input that it reads; the rest is cut.';
comment on column ragdb.embedders.query_prefix is 'Put before a query that is embedded.';
comment on column ragdb.embedders.passage_prefix is 'Put before a chunk that is embedded.';
comment on column ragdb.embedders.weights_sha256 is
  'SHA-256 (hex) of its weights, checked when they are loaded; null to trust the provider.';
comment on column ragdb.embedders.provider is
  'Who runs it: sentence-transformers, openai (any compatible endpoint) or hash; null until bound.';
comment on column ragdb.embedders.provider_model is
  'What the provider calls the model: packaged, a path, a name on the hub or at the endpoint, or '
  'hash-v1.';
comment on column ragdb.embedders.created_at is 'When it was created.';
comment on table ragdb.embedding_spaces is
  'The spaces of a corpus: one an embedder, of which at most one is current, and searched.';
comment on column ragdb.embedding_spaces.corpus_id is 'The corpus.';
comment on column ragdb.embedding_spaces.space_id is
  'Number of the space, and of its partition of ragdb.chunk_embeddings.';
comment on column ragdb.embedding_spaces.embedder_id is 'The embedder.';
comment on column ragdb.embedding_spaces.state is
  'building (filled beside the current one), current (searched) or retired (kept for a rollback, '
  'no longer filled).';
comment on column ragdb.embedding_spaces.m is 'Links of an HNSW node, 2 to 100.';
comment on column ragdb.embedding_spaces.ef_construction is
  'Candidates looked at when the HNSW index is built, 4 to 1000.';
comment on column ragdb.embedding_spaces.is_indexed is 'Whether the HNSW index is there.';
comment on column ragdb.embedding_spaces.ef_search is
  'Candidates that a walk of the index looks at, 1 to 1000: as many as it took, when the index was '
  'built, to find nearly all that a scan finds.';
comment on column ragdb.embedding_spaces.queued_to is
  'Largest number of a chunk that has been given an embedding or a job.';
comment on column ragdb.embedding_spaces.created_at is 'When it was made.';
comment on column ragdb.embedding_spaces.current_since is
  'When it last became current; null if never.';
comment on table ragdb.chunk_embeddings is 'Embeddings of chunks, partitioned by space.';
comment on column ragdb.chunk_embeddings.space_id is 'The space.';
comment on column ragdb.chunk_embeddings.corpus_id is 'The corpus.';
comment on column ragdb.chunk_embeddings.chunk_no is 'The chunk.';
comment on column ragdb.chunk_embeddings.input_hash is
  'SHA-256 of what was embedded: passage prefix, then title, heading path and text joined by '
  'newlines.';
comment on column ragdb.chunk_embeddings.embedding is 'The vector, as the model gave it.';
comment on table ragdb.query_embeddings is
  'Embeddings of queries, under the hash of their own bytes.';
comment on column ragdb.query_embeddings.corpus_id is 'The corpus that was asked.';
comment on column ragdb.query_embeddings.embedding_hash is
  'SHA-256 of the numbers as big-endian float4.';
comment on column ragdb.query_embeddings.embedder_id is 'The embedder.';
comment on column ragdb.query_embeddings.embedding is 'The vector.';
comment on column ragdb.query_embeddings.created_at is 'When it was kept.';
