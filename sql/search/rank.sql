create or replace function ragdb_internal.rank(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb,
    chunk_ids text[],
  query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb_internal.ranked
language plpgsql stable parallel restricted rows 20
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode = 'lexical' then
    return query
      select l.chunk_no, l.score, l.score, null::float8, null::integer, null::integer, l.bm25,
        l.coverage, true
      from ragdb_internal.rank_lexical(corpus, statistics, query, k, filter, chunk_ids) l;
  elsif mode = 'reference' then
    return query
      select r.chunk_no, r.score, null::float8, null::float8, null::integer, null::integer,
        null::float8, null::float8, true
      from ragdb_internal.rank_reference(corpus, query, k, filter, chunk_ids) r;
  else
    return query
      select n.* from ragdb_internal.rank_near(corpus, statistics, query, k, mode, filter, chunk_ids,
        query_embedding, fusion,
        lexical_weight) n;
  end if;
end $$;
comment on function ragdb_internal.rank(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb, text[],
  real[], text, float8) is
  'Returns at least the k best chunks of a corpus in a mode, in no order. Raises RG410, RG415, '
  'RG418.';
