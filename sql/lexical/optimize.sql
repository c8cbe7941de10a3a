-- The pivot is pinned between two calls, so that putting a document never moves the score of
-- another one. Both passes go chunk by chunk: what is kept in memory is one row of the dictionary
-- per lexeme.
create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.lock_corpus(optimize_corpus.corpus, 'write');
  v_before float8 := v_corpus.pivot;
  v_pivot float8 := v_corpus.pivot;
  v_dropped integer;
begin
  if v_corpus.lexeme_count > 0 then
    v_pivot := v_corpus.lexeme_count::float8 / v_corpus.chunks;
  end if;
  update ragdb.lexemes l set max_impact = m.max_impact
    from (
      select ragdb_internal.term_id(p.token) as term_id, p.max_impact
      from (
        select w.lexeme as token,
          max((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
          + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real
            as max_impact
        from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) w
        where x.corpus_id = v_corpus.corpus_id
        group by w.lexeme) p) m
    where l.corpus_id = v_corpus.corpus_id and l.term_id = m.term_id
      and l.max_impact <> m.max_impact;
  if v_pivot <> v_corpus.pivot then
    update ragdb.corpora c set pivot = v_pivot where c.corpus_id = v_corpus.corpus_id;
    update ragdb.chunk_lexemes x set impacts = ragdb_internal.sparse((
        select string_agg(ragdb_internal.term_id(w.lexeme) || ':'
          || ((v_corpus.k1 + 1) * cardinality(w.positions)
          / (cardinality(w.positions) + v_corpus.k1
            * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real, ',')
        from unnest(x.lexemes) w))
      where x.corpus_id = v_corpus.corpus_id;
  end if;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics v_dropped = row_count;
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
  perform ragdb_internal.build_blocks(v_corpus);
  return query select v_corpus.chunks, v_before, v_pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts, bounds and blocks '
  'and drops lexemes that no chunk has. Raises RG400, RG401, RG404.';
