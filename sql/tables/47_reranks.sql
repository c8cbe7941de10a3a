comment on table ragdb.rerankers is
  'Models that score a query beside a passage, and where each lies here; the weights of one never '
  'change.';
comment on column ragdb.rerankers.name is 'Name that contracts and traces use.';
comment on column ragdb.rerankers.max_tokens is
  'Tokens of query and passage together that it reads; the longer of the two is cut first.';
comment on column ragdb.rerankers.weights_sha256 is
  'SHA-256 (hex) of its model.safetensors, checked when it is loaded.';
comment on column ragdb.rerankers.source is
  'Where it lies: a path on the machine that loads it, or a name on the hub.';
comment on column ragdb.rerankers.revision is
  'Revision on the hub; null for a path, or for the newest.';
comment on column ragdb.rerankers.created_at is 'When it was created.';
comment on table ragdb.retrieval_reranks is
  'What a reranker made of the hits of a trace, a row each. Append-only, in the same months as '
  'retrieval_traces; read through ragdb.trace_reranks.';
comment on column ragdb.retrieval_reranks.corpus_id is 'Corpus of the trace.';
comment on column ragdb.retrieval_reranks.trace_id is 'The trace.';
comment on column ragdb.retrieval_reranks.created_at is 'The trace''s created_at.';
comment on column ragdb.retrieval_reranks.rank is
  'Place after reranking, from 1; hits of one score keep their order.';
comment on column ragdb.retrieval_reranks.chunk_id is 'The hit.';
comment on column ragdb.retrieval_reranks.score is
  'What the model gave it: finite, higher is better, of no common scale.';
comment on column ragdb.retrieval_reranks.model is 'Name of the reranker.';
comment on column ragdb.retrieval_reranks.is_returned is
  'Whether it is among the first k, which the caller was given.';
comment on column ragdb.retrieval_reranks.recorded_at is 'When it was recorded.';
comment on column ragdb.retrieval_reranks.rerank_hash is
  'In the first row: sha256 over trace_hash and all rows without it and rerank_mac; '
  'ragdb.verify_trace recomputes it.';
comment on column ragdb.retrieval_reranks.rerank_mac is
  'In the first row: HMAC of rerank_hash by a signing key; null while there is none.';
