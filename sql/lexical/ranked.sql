create type ragdb_internal.ranked as (
  chunk_no integer, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
comment on type ragdb_internal.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run '
  'or lacks an embedding.';
