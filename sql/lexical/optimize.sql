-- What ragdb.optimize_corpus makes anew: the pivot, the impacts that rest on it, the bounds of
-- lexemes, and the blocks that search prunes by.
--
-- The pivot is pinned between two calls, so that a document that is put never moves the score of
-- another one. Each pass goes chunk by chunk, so that memory holds one row for each lexeme of the
-- dictionary.
create or replace function ragdb_internal.renew_bounds(corpus ragdb.corpora, pivot float8)
returns void
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
      select ragdb_internal.term_id(p.token) as term_id, p.max_impact
      from (
        select w.lexeme as token, max(ragdb_internal.impact(cardinality(w.positions),
            ragdb_internal.length_norm(x.lexeme_count, corpus.k1, corpus.b, renew_bounds.pivot),
            corpus.k1))::real as max_impact
        from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) w
        where x.corpus_id = corpus.corpus_id
        group by w.lexeme) p) m
    where l.corpus_id = corpus.corpus_id and l.term_id = m.term_id
      and l.max_impact <> m.max_impact;
end $$;
comment on function ragdb_internal.renew_bounds(ragdb.corpora, float8) is
  'Sets the largest impact of every lexeme of a corpus under a pivot; the caller holds the corpus '
  'lock.';

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
      select string_agg(ragdb_internal.term_id(w.lexeme) || ':'
        || ragdb_internal.impact(cardinality(w.positions), ragdb_internal.length_norm(
            x.lexeme_count, corpus.k1, corpus.b, move_pivot.pivot), corpus.k1)::real, ',')
      from unnest(x.lexemes) w))
    where x.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb_internal.move_pivot(ragdb.corpora, float8) is
  'Gives a corpus another pivot and computes its impacts again; the caller holds the corpus lock.';

-- It takes the numbers of the corpus one by one: to take each out of a row for every posting costs
-- a tenth of the time.
create or replace function ragdb_internal.group_impacts(
  corpus_id integer, last_chunk_no integer, k1 float8, b float8, pivot float8)
returns table (group_no integer, term_id integer, impact float8)
language sql stable parallel safe
begin atomic
  select n.group_no, p.term_id, p.impact
  from pg_catalog.generate_series(0, (group_impacts.last_chunk_no - 1) / 4) n (group_no)
    cross join lateral (
      select ragdb_internal.term_id(u.lexeme) as term_id,
        max(ragdb_internal.impact(pg_catalog.cardinality(u.positions), ragdb_internal.length_norm(
          x.lexeme_count, group_impacts.k1, group_impacts.b, group_impacts.pivot),
          group_impacts.k1)) as impact
      from ragdb.chunk_lexemes x cross join lateral pg_catalog.unnest(x.lexemes) u
      where x.corpus_id = group_impacts.corpus_id
        and x.chunk_no between 4 * n.group_no + 1 and 4 * n.group_no + 4
      group by u.lexeme
      offset 0) p;
end;
comment on function ragdb_internal.group_impacts(integer, integer, float8, float8, float8) is
  'Returns the largest impact of each lexeme in each group of four chunks of a corpus, under its '
  'k1, b and pivot.';

-- A lexeme that 64 chunks have is worth a block. No lexeme is in a corpus of fewer than 2,000
-- chunks. A search holds the sums of all blocks at once, 64 kB each: past 2,000 blocks it does
-- without. Groups are taken one by one, so that memory holds only the largest impacts. The
-- dictionary is joined to all groups at once (offset 0): the planner may take it for a few rows,
-- and read it for each group.
create or replace function ragdb_internal.build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set enable_seqscan = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_blocks constant integer := ragdb_internal.blocks(corpus.next_chunk_no - 1);
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 or v_blocks > 2000 then
    return;
  end if;
  insert into ragdb.block_states (corpus_id, last_chunk_no)
    values (corpus.corpus_id, corpus.next_chunk_no - 1);
  update ragdb.lexemes l set block_weight = w.weight
    from (
      select t.term_id,
        case when t.df >= 64 then ragdb_internal.idf(corpus.chunks, t.df) end as weight
      from ragdb.lexemes t where t.corpus_id = corpus.corpus_id) w
    where l.corpus_id = corpus.corpus_id and l.term_id = w.term_id
      and l.block_weight is distinct from w.weight;
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, scores)
  select corpus.corpus_id, g.term_id, g.group_no % v_blocks, ragdb_internal.sparse_block(
    string_agg(g.group_no / v_blocks + 1 || ':' || (w.block_weight * g.impact)::real, ','),
    ragdb_internal.block_size(corpus.next_chunk_no - 1))
  from (select i.* from ragdb_internal.group_impacts(corpus.corpus_id,
      corpus.next_chunk_no - 1, corpus.k1, corpus.b, corpus.pivot) i offset 0) g
    join (select l.term_id, l.block_weight from ragdb.lexemes l
      where l.corpus_id = corpus.corpus_id and l.block_weight is not null offset 0) w
      on w.term_id = g.term_id
  group by g.term_id, g.group_no % v_blocks
  order by g.term_id, g.group_no % v_blocks;
end $$;
comment on function ragdb_internal.build_blocks(ragdb.corpora) is
  'Makes the blocks of a corpus anew; the caller holds the corpus lock.';

create or replace function ragdb_internal.optimize(
  corpus ragdb.corpora, pivot float8, out lexemes_dropped integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := corpus;
begin
  perform ragdb_internal.renew_bounds(v_corpus, optimize.pivot);
  if optimize.pivot <> v_corpus.pivot then
    perform ragdb_internal.move_pivot(v_corpus, optimize.pivot);
  end if;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics lexemes_dropped = row_count;
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
  perform ragdb_internal.build_blocks(v_corpus);
end $$;
comment on function ragdb_internal.optimize(ragdb.corpora, float8) is
  'Optimizes a corpus for a pivot and returns how many lexemes it dropped; the caller holds the '
  'corpus lock.';

create or replace function ragdb_internal.mean_length(corpus ragdb.corpora) returns float8
language sql immutable parallel safe
return case when (corpus).lexeme_count > 0
  then (corpus).lexeme_count::float8 / (corpus).chunks else (corpus).pivot end;
comment on function ragdb_internal.mean_length(ragdb.corpora) is
  'Returns the mean length of the chunks of a corpus; its pivot where it has none.';

-- All parts in one transaction, so that no search sees two pivots. In the order of their numbers:
-- two that optimize cannot deadlock.
create or replace function ragdb_internal.optimize_parts(
  whole ragdb.corpora, out pivot float8, out lexemes_dropped integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole ragdb.corpora;
  v_part ragdb.corpora;
begin
  lexemes_dropped := 0;
  for v_part in
    select p.* from ragdb.corpora p where p.part_of = whole.corpus_id order by p.corpus_id
  loop
    perform ragdb_internal.lock_corpus(v_part.name, 'write');
  end loop;
  perform ragdb_internal.sum_parts(whole);
  select c.* into strict v_whole from ragdb.corpora c where c.corpus_id = whole.corpus_id;
  pivot := ragdb_internal.mean_length(v_whole);
  for v_part in
    select p.* from ragdb.corpora p where p.part_of = whole.corpus_id order by p.corpus_id
  loop
    lexemes_dropped := lexemes_dropped + ragdb_internal.optimize(v_part, pivot);
  end loop;
  update ragdb.corpora c set pivot = optimize_parts.pivot where c.corpus_id = whole.corpus_id;
  delete from ragdb.lexemes l where l.corpus_id = whole.corpus_id and l.df = 0;
end $$;
comment on function ragdb_internal.optimize_parts(ragdb.corpora) is
  'Sums the statistics of the parts of a corpus and optimizes each for one pivot, the mean length '
  'of all their chunks; the caller holds the lock of the whole. Raises RG401, RG404.';

create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.lock_corpus(optimize_corpus.corpus, 'write', true);
  v_pivot float8 := case when v_corpus.part_of is null
    then ragdb_internal.mean_length(v_corpus) else v_corpus.pivot end;
  v_dropped integer;
begin
  if v_corpus.parts > 0 then
    select o.pivot, o.lexemes_dropped into v_pivot, v_dropped
      from ragdb_internal.optimize_parts(v_corpus) o;
  else
    v_dropped := ragdb_internal.optimize(v_corpus, v_pivot);
  end if;
  return query select c.chunks, v_corpus.pivot, v_pivot, v_dropped
    from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts, bounds and blocks, '
  'and drops lexemes that no chunk has. A part keeps the pivot of its whole; with the name of the '
  'whole, the statistics of all parts are summed and all get one pivot. Raises RG400, RG401, '
  'RG404.';
