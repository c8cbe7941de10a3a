create or replace function ragdb_internal.rank_near(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb,
  chunk_ids text[], query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb_internal.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.current_space(corpus);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_among integer[];
  v_chunk_nos integer[];
begin
  v_embedding := ragdb_internal.pgvector(ragdb_internal.query_vector(corpus, v_space, query, query_embedding));
  if filter is not null or chunk_ids is not null then
    v_among := ragdb_internal.filtered_chunks(corpus.corpus_id, filter, chunk_ids);
  end if;
  -- what has a sign, + or -, binds the semantic leg too; a mere phrase does not: questions quote
  -- what no text says in these words
  v_chunk_nos := ragdb_internal.demanded_chunks(corpus,
    regexp_replace(query, '(^|[^+-])"[^"]*"', '\1 ', 'g'), v_among);
  if mode = 'semantic' then
    return query select r.*
      from ragdb_internal.rank_semantic(corpus, v_space, v_embedding, k, v_chunk_nos) r;
  else
    return query select r.* from ragdb_internal.rank_hybrid(corpus, statistics, query, v_space, v_embedding,
      k, v_among,
      v_chunk_nos, fusion, lexical_weight) r;
  end if;
end $$;
comment on function ragdb_internal.rank_near(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb,
  text[], real[], text, float8) is
  'Ranks a corpus by meaning (semantic) or by words and meaning (hybrid). Raises RG410, RG415, '
  'RG418.';
