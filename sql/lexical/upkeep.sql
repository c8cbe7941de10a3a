-- Keeps blocks up with the chunks that come and go.

-- Makes the blocks anew that have stale chunks; the caller holds the corpus lock.
create or replace function ragdb_internal.refresh_stale(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant integer := ragdb_internal.last_in_blocks(refresh_stale.corpus_id);
  v_unit constant integer := ragdb_internal.unit_chunks();
  v_most constant integer := ragdb_internal.block_units();
  v_block record;
begin
  for v_block in
    select b.block_no, least(b.block_no / v_most * v_most + v_most, b.next_no)::bigint as next_no
    from (
      select n as block_no, lead(n) over (order by n) as next_no, s.stale_chunks
      from ragdb.block_states s cross join unnest(s.block_nos) n
      where s.corpus_id = refresh_stale.corpus_id) b
    where exists (select from unnest(b.stale_chunks) c
      where (c - 1) / v_unit >= b.block_no and ((c - 1) / v_unit < b.next_no) is not false)
  loop
    perform ragdb_internal.renew_blocks(refresh_stale.corpus_id, v_block.block_no * v_unit,
      least(v_block.next_no * v_unit, v_last)::integer);
  end loop;
  update ragdb.block_states s set stale_chunks = '{}'
    where s.corpus_id = refresh_stale.corpus_id and s.stale_chunks <> '{}';
end $$;

-- Merges the blocks of a corpus that lie side by side where they are as wide as a block may be or
-- as many as fewest are there, and if it is to be thorough where they are at most a quarter of all;
-- the caller holds the corpus lock. What is after the last whole unit is not merged: the next block
-- takes it over. A block ends where the next one begins, or before that, which only adds zeros. The
-- rows that are merged leave room behind, so some may cost a search a little rather than that room
-- be much of what there is.
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

-- Multiplies the rows of blocks whose lexeme weighs otherwise by now, as searches would have to;
-- the caller holds the corpus lock.
create or replace function ragdb_internal.reweigh_blocks(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
begin
  update ragdb.term_blocks b
    set weight = w.weight, (scores, dense_scores) = (select s.scores, s.dense_scores
      from ragdb_internal.rescaled(b.scores, b.dense_scores, w.weight / b.weight) s)
    from ragdb_internal.weighed_lexemes(reweigh_blocks.corpus_id) w
    where b.corpus_id = reweigh_blocks.corpus_id and b.term_id = (w.lexeme).term_id
      and not ragdb_internal.is_near_one(w.weight / b.weight);
end $$;

-- Returns up to which chunk number writers make blocks anew next: those of 4,096 chunks. A step is
-- of whole blocks, and of no more than one may hold.
create or replace function ragdb_internal.swept_until(state ragdb.block_states) returns integer
language sql stable parallel safe
begin atomic
  select least((state).last_chunk_no, min(e.until))::integer
  from (
      select min(x.chunk_no) as first, max(x.chunk_no) as last
      from (
        select h.chunk_no from ragdb.chunk_lexemes h
        where h.corpus_id = (state).corpus_id and h.chunk_no > (state).swept_to
        order by h.chunk_no limit 4096) x) n
    cross join (select ragdb_internal.unit_chunks()::bigint as chunks) u
    cross join lateral (
      select b.block_no * u.chunks as until
      from pg_catalog.unnest((state).block_nos) b (block_no)
      where b.block_no * u.chunks >= n.last
      union all
      select ((n.first - 1) / w.widest + 1) * w.widest
      from (select ragdb_internal.block_units() * u.chunks as widest) w) e;
end;

-- Drops the lexemes that no chunk of a corpus has any more, but those that a block may have; the
-- caller holds the corpus lock.
create or replace function ragdb_internal.drop_unblocked_lexemes(corpus_id integer) returns void
language sql
begin atomic
  delete from ragdb.lexemes l
    where l.corpus_id = drop_unblocked_lexemes.corpus_id and l.df = 0 and not l.in_blocks;
end;

-- Drops lexemes that no chunk has any more once many have come since a corpus was as it was before;
-- the caller holds the corpus lock. What is replaced keeps its number, so no block may be due for
-- years, and each text brings words that no other has. A corpus with few chunks has some thousand
-- lexemes, and one with many has less than four a chunk: they are looked through as seldom as that.
create or replace function ragdb_internal.drop_left_lexemes(before ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from ragdb.corpora c
        cross join lateral (select greatest(8192, 4::bigint * c.chunks)) s (step)
      where c.corpus_id = before.corpus_id
        and c.next_term_id / s.step > before.next_term_id / s.step)
  then
    perform ragdb_internal.drop_unblocked_lexemes(before.corpus_id);
  end if;
end $$;

-- Begins to make all blocks of a corpus anew where half as many chunks went as there are, and does
-- the next step of it where one is due; the caller holds the corpus lock. Chunks that went leave
-- their scores in the blocks, and lexemes that no chunk has any more in the dictionary. Once half
-- as many went as there are, all blocks are made anew and such lexemes are dropped: an edit pays
-- for at most two chunks more in blocks. Writers do it step by step while an eighth of the corpus
-- goes, so that none of them waits for all of it, and the room that a step leaves behind is there
-- for the next one.
create or replace function ragdb_internal.sweep(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunks constant integer := (select c.chunks from ragdb.corpora c
    where c.corpus_id = sweep.corpus_id);
  v_state ragdb.block_states;
  v_until integer;
begin
  update ragdb.block_states s set swept_to = 0, gone_chunks = 0
    where s.corpus_id = sweep.corpus_id and s.swept_to is null
      and s.gone_chunks > 0.5 * v_chunks;
  if found then
    perform ragdb_internal.drop_unblocked_lexemes(sweep.corpus_id);
  end if;
  select s.* into v_state from ragdb.block_states s where s.corpus_id = sweep.corpus_id
    and s.swept_to * 0.125 * v_chunks <= s.last_chunk_no * s.gone_chunks::bigint;
  if not found then
    return;
  end if;
  v_until := ragdb_internal.swept_until(v_state);
  perform ragdb_internal.renew_blocks(sweep.corpus_id, v_state.swept_to, v_until);
  update ragdb.block_states s set swept_to = nullif(v_until, v_state.last_chunk_no)
    where s.corpus_id = sweep.corpus_id;
end $$;

-- Makes blocks up to a chunk number (0: none) after chunks have been indexed, from what is fresh of
-- them, and notes which chunks blocks know wrongly; the caller holds the corpus lock.
create or replace function ragdb_internal.extend_blocks(
  corpus_id integer, chunk_nos integer[], until integer, fresh ragdb_internal.fresh_postings)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stale integer;
  v_gone integer;
begin
  update ragdb.block_states s
    set stale_chunks = s.stale_chunks || array(
      select n from unnest(extend_blocks.chunk_nos) n
      where n <= s.last_chunk_no and n <> all (s.stale_chunks))
    where s.corpus_id = extend_blocks.corpus_id
    returning cardinality(s.stale_chunks), s.gone_chunks into v_stale, v_gone;
  if v_gone > 0 then
    perform ragdb_internal.sweep(extend_blocks.corpus_id);
  end if;
  if until > 0 then
    perform ragdb_internal.cover_chunks(extend_blocks.corpus_id, extend_blocks.until, fresh);
    perform ragdb_internal.merge_many(extend_blocks.corpus_id, 15);
  end if;
  if v_stale > 1000 then
    perform ragdb_internal.refresh_stale(extend_blocks.corpus_id);
  end if;
end $$;
