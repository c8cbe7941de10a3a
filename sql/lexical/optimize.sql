-- What ragdb.optimize_corpus sees to: the pivot, the impacts that rest on it, the bounds of
-- lexemes, and the blocks that search prunes by. It does what has to be done and leaves the rest.
--
-- The pivot is pinned between two calls, so that a document that is put never moves the score of
-- another one. To move it, every impact is written anew; so in a large corpus it stays while it is
-- nearly right.
create or replace function ragdb_internal.move_pivot(corpus ragdb.corpora, pivot float8)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
begin
  update ragdb.corpora c set pivot = move_pivot.pivot where c.corpus_id = corpus.corpus_id;
  update ragdb.chunk_lexemes x set impacts = ragdb_internal.sparse((
      select string_agg(e.entries[i] || ':' || ragdb_internal.impact(
          ragdb_internal.frequency(e.entries[i + 1]::real, ragdb_internal.length_norm(
            x.lexeme_count, corpus.k1, corpus.b, corpus.pivot), corpus.k1),
          ragdb_internal.length_norm(
            x.lexeme_count, corpus.k1, corpus.b, move_pivot.pivot), corpus.k1)::real, ',')
      from (select ragdb_internal.entries(x.impacts) as entries offset 0) e
        cross join generate_series(1, cardinality(e.entries), 2) i))
    where x.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb_internal.move_pivot(ragdb.corpora, float8) is
  'Gives a corpus another pivot and computes its impacts again; the caller holds the corpus lock.';

create or replace function ragdb_internal.renew_bounds(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
begin
  update ragdb.lexemes l set max_impact = m.max_impact
    from (
      select e.entries[i]::integer as term_id, max(e.entries[i + 1])::real as max_impact
      from ragdb.chunk_lexemes x
        cross join lateral (select ragdb_internal.entries(x.impacts) as entries offset 0) e
        cross join generate_series(1, cardinality(e.entries), 2) i
      where x.corpus_id = renew_bounds.corpus_id
      group by 1) m
    where l.corpus_id = renew_bounds.corpus_id and l.term_id = m.term_id
      and l.max_impact <> m.max_impact;
end $$;
comment on function ragdb_internal.renew_bounds(integer) is
  'Sets the largest impact of every lexeme of a corpus; the caller holds the corpus lock.';

-- No lexeme is frequent enough in a corpus of a few chunks that blocks were worth their making.
create or replace function ragdb_internal.build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 then
    return;
  end if;
  perform ragdb_internal.cover_chunks(corpus.corpus_id, corpus.next_chunk_no - 1);
  perform ragdb_internal.merge_many(corpus.corpus_id, 4);
  update ragdb.lexemes l set chunk_nos = '{}'
    where l.corpus_id = corpus.corpus_id and l.in_blocks and l.chunk_nos <> '{}';
end $$;
comment on function ragdb_internal.build_blocks(ragdb.corpora) is
  'Makes all blocks of a corpus anew; the caller holds the corpus lock.';

create or replace function ragdb_internal.catch_up(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_state ragdb.block_states;
begin
  select s.* into v_state from ragdb.block_states s where s.corpus_id = corpus.corpus_id;
  if not found or corpus.chunks < 2000 or v_state.gone_chunks > 0.2 * corpus.chunks then
    perform ragdb_internal.build_blocks(corpus);
    return;
  end if;
  perform ragdb_internal.refresh_stale(corpus.corpus_id);
  if v_state.last_chunk_no < corpus.next_chunk_no - 1 then
    perform ragdb_internal.cover_chunks(corpus.corpus_id, corpus.next_chunk_no - 1);
  end if;
  perform ragdb_internal.merge_many(corpus.corpus_id, 4);
  perform ragdb_internal.reweigh_blocks(corpus.corpus_id);
end $$;
comment on function ragdb_internal.catch_up(ragdb.corpora) is
  'Makes the blocks of a corpus know all of its chunks, and makes them anew where a fifth of what '
  'they know is gone; the caller holds the corpus lock.';

create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.lock_corpus(optimize_corpus.corpus, 'write');
  v_before constant float8 := v_corpus.pivot;
  v_mean constant float8 := case when v_corpus.lexeme_count > 0
    then v_corpus.lexeme_count::float8 / v_corpus.chunks else v_before end;
  v_moves constant boolean := v_mean <> v_before
    and (v_corpus.chunks < 10000 or abs(v_mean / v_before - 1) > 0.1);
  v_dropped integer;
begin
  if v_moves then
    perform ragdb_internal.move_pivot(v_corpus, v_mean);
  end if;
  if v_moves or v_corpus.chunks < 10000 then
    perform ragdb_internal.renew_bounds(v_corpus.corpus_id);
  end if;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics v_dropped = row_count;
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
  if v_moves then
    perform ragdb_internal.build_blocks(v_corpus);
  else
    perform ragdb_internal.catch_up(v_corpus);
  end if;
  return query select v_corpus.chunks, v_before, v_corpus.pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks (from 10,000 chunks on only where it '
  'is over 10 % off), brings bounds and blocks up to date, and drops lexemes that no chunk has. '
  'Raises RG400, RG401, RG404.';
