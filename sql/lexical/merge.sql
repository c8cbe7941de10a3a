-- Merges blocks that lie side by side: one row of 15,360 groups is read faster than 15 of 1,024.
--
-- One term after the other, because the sum of a term is 61 kB wide. To gather all of them at once
-- took 570 GB of temporary files at a million chunks. Most terms have a few groups in each block:
-- these are written anew entry by entry, because such a sum costs as much for a few as for all.
create or replace function ragdb_internal.merged_terms(
  corpus_id integer, block_nos integer[], units integer)
returns table (term_id integer, weight real, scores sparsevec)
language sql stable parallel safe
begin atomic
  select t.term_id, t.weight, m.scores
  from (
      select min(m) as first_no, max(m) as last_no,
        ragdb_internal.even(0, ragdb_internal.unit_groups() * merged_terms.units) as zeros
      from pg_catalog.unnest(merged_terms.block_nos) m
      offset 0) s
    cross join (
      select l.term_id, ragdb_internal.idf(c.chunks, l.df)::real as weight
      from ragdb.lexemes l cross join ragdb.corpora c
      where l.corpus_id = merged_terms.corpus_id and l.in_blocks
        and c.corpus_id = merged_terms.corpus_id
      offset 0) t
    cross join lateral (
      select avg(pg_catalog.pg_column_size(b.scores)) <= 400 as are_short
      from ragdb.term_blocks b
      where b.corpus_id = merged_terms.corpus_id and b.term_id = t.term_id
        and b.block_no between s.first_no and s.last_no
      offset 0) r
    cross join lateral (
      select ragdb_internal.sparse_block(pg_catalog.string_agg(
          (e.entries[i] + ragdb_internal.unit_groups() * (e.block_no - s.first_no))
            || ':' || e.entries[i + 1] * e.factor, ','), merged_terms.units) as scores
      from (
          select b.block_no, t.weight / b.weight::float8 as factor,
            ragdb_internal.entries(b.scores) as entries
          from ragdb.term_blocks b
          where b.corpus_id = merged_terms.corpus_id and b.term_id = t.term_id
            and b.block_no between s.first_no and s.last_no
          offset 0) e
        cross join pg_catalog.generate_series(1, pg_catalog.cardinality(e.entries), 2) i
      where r.are_short
      union all
      select ragdb_internal.sparsely(sum(ragdb_internal.placed(b.scores, t.weight / b.weight,
        b.block_no - s.first_no, merged_terms.units, s.zeros)))
      from ragdb.term_blocks b
      where b.corpus_id = merged_terms.corpus_id and b.term_id = t.term_id
        and b.block_no between s.first_no and s.last_no and not r.are_short) m
  where m.scores is not null;
end;
comment on function ragdb_internal.merged_terms(integer, integer[], integer) is
  'Returns the rows of the block of so many units that some blocks become.';

create or replace function ragdb_internal.merge_blocks(
  corpus_id integer, block_nos integer[], units integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
set work_mem = '64MB'
set jit = off
as $$
declare
  v_first constant integer := block_nos[1];
begin
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, weight, scores)
    select merge_blocks.corpus_id, t.term_id, v_first, t.weight, t.scores
    from ragdb_internal.merged_terms(
      merge_blocks.corpus_id, merge_blocks.block_nos, merge_blocks.units) t
    order by t.term_id
    on conflict on constraint term_blocks_are_unique do update
      set weight = excluded.weight, scores = excluded.scores;
  delete from ragdb.term_blocks b
    where b.corpus_id = merge_blocks.corpus_id and b.block_no = any (merge_blocks.block_nos)
      and b.block_no <> v_first;
  update ragdb.block_states s set block_nos = array(select n from unnest(s.block_nos) n
      where n <= v_first or n <> all (merge_blocks.block_nos))
    where s.corpus_id = merge_blocks.corpus_id;
end $$;
comment on function ragdb_internal.merge_blocks(integer, integer[], integer) is
  'Makes one block of so many units of some that lie side by side, in order; the caller holds the '
  'corpus lock.';

-- What is after the last whole unit is not merged: the next block takes it over. A block ends where
-- the next one begins, or before that, which only adds zeros. The rows that are merged leave room
-- behind, so some may cost a search a little rather than that room be much of what there is.
create or replace function ragdb_internal.merge_many(
  corpus_id integer, fewest integer, is_thorough boolean default false)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_complete constant integer :=
    ragdb_internal.last_in_blocks(merge_many.corpus_id) / ragdb_internal.unit_chunks();
  v_most constant integer := ragdb_internal.block_units();
  v_blocks record;
begin
  for v_blocks in
    select array_agg(b.n order by b.n) as block_nos, max(b.until) - min(b.n) as units
    from (
      select n, n / v_most as nth, least(n / v_most * v_most + v_most, v_complete) as until
      from ragdb.block_states s cross join unnest(s.block_nos) n
      where s.corpus_id = merge_many.corpus_id and n < v_complete) b
    group by b.nth
    having count(*) >= fewest or count(*) > 1 and (b.nth < v_complete / v_most
      or is_thorough and max(b.until) - min(b.n) <= v_complete / 4)
    order by b.nth
  loop
    perform ragdb_internal.merge_blocks(
      merge_many.corpus_id, v_blocks.block_nos, v_blocks.units);
  end loop;
end $$;
comment on function ragdb_internal.merge_many(integer, integer, boolean) is
  'Merges the blocks of a corpus that lie side by side where they are as wide as a block may be or '
  'as many as fewest are there, and if it is to be thorough where they are at most a quarter of '
  'all; the caller holds the corpus lock.';

create or replace function ragdb_internal.reweigh_blocks(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
begin
  update ragdb.term_blocks b
    set weight = w.weight, scores = ragdb_internal.rescaled(b.scores, w.weight / b.weight)
    from (
      select l.term_id, ragdb_internal.idf(c.chunks, l.df)::real as weight
      from ragdb.lexemes l cross join ragdb.corpora c
      where l.corpus_id = reweigh_blocks.corpus_id and l.in_blocks
        and c.corpus_id = reweigh_blocks.corpus_id) w
    where b.corpus_id = reweigh_blocks.corpus_id and b.term_id = w.term_id
      and not ragdb_internal.is_near_one(w.weight / b.weight);
end $$;
comment on function ragdb_internal.reweigh_blocks(integer) is
  'Multiplies the rows of blocks whose lexeme weighs otherwise by now, as searches would have to; '
  'the caller holds the corpus lock.';

create or replace function ragdb_internal.extend_blocks(
  corpus_id integer, chunk_nos integer[], until integer, fresh ragdb_internal.fresh_postings)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stale integer;
begin
  update ragdb.block_states s
    set stale_chunks = s.stale_chunks || array(
      select n from unnest(extend_blocks.chunk_nos) n
      where n <= s.last_chunk_no and n <> all (s.stale_chunks))
    where s.corpus_id = extend_blocks.corpus_id
    returning cardinality(s.stale_chunks) into v_stale;
  if until > 0 then
    perform ragdb_internal.cover_chunks(extend_blocks.corpus_id, extend_blocks.until, fresh);
    perform ragdb_internal.merge_many(extend_blocks.corpus_id, 15);
  end if;
  if v_stale > 1000 then
    perform ragdb_internal.refresh_stale(extend_blocks.corpus_id);
  end if;
end $$;
comment on function ragdb_internal.extend_blocks(
  integer, integer[], integer, ragdb_internal.fresh_postings) is
  'Makes blocks up to a chunk number (0: none) after chunks have been indexed, from what is fresh '
  'of them, and notes which chunks blocks know wrongly; the caller holds the corpus lock.';
