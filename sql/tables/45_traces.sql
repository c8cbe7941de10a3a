comment on table ragdb.retrieval_hits is
  'One row per hit of a retrieval. Append-only, in the same months as retrieval_traces; read '
  'through ragdb.trace_hits.';
comment on column ragdb.retrieval_hits.corpus_id is 'Corpus of the trace.';
comment on column ragdb.retrieval_hits.trace_id is 'The trace.';
comment on column ragdb.retrieval_hits.created_at is 'The trace''s created_at.';
comment on column ragdb.retrieval_hits.rank is 'Place in the result, from 1.';
comment on column ragdb.retrieval_hits.chunk_id is 'The chunk, which may be gone by now.';
comment on column ragdb.retrieval_hits.content_hash is 'Sha256 of the chunk''s text as it was.';
comment on column ragdb.retrieval_hits.score is 'Score that ranked it, 0 to 1.';
comment on column ragdb.retrieval_hits.lexical_score is
  'Score of the lexical leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_score is
  'Score of the semantic leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.lexical_rank is
  'Place in the lexical leg, from 1; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_rank is
  'Place in the semantic leg, from 1; null where it took no part.';
