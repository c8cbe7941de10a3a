-- What ragdb.optimize_corpus sees to for words: the pivot, the impacts that rest on it, the bounds
-- of lexemes, and the blocks that search prunes by. It does what has to be done and leaves the
-- rest.
--
-- The pivot is pinned between two calls, so that a document that is put never moves the score of
-- another one. To move it, every impact is written anew; so in a large corpus it stays while it is
-- nearly right.

-- Gives a corpus another pivot and computes its impacts again; the caller holds the corpus lock.
create or replace function ragdb_internal.move_pivot(corpus ragdb.corpora, pivot float8)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
begin
  update ragdb.corpora c set pivot = move_pivot.pivot where c.corpus_id = corpus.corpus_id;
  perform ragdb_internal.record_state('settings', corpus.corpus_id);
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

-- Sets the largest impact of every lexeme of a corpus; the caller holds the corpus lock.
create or replace function ragdb_internal.renew_bounds(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
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

-- Makes all blocks of a corpus anew; the caller holds the corpus lock. No lexeme is frequent enough
-- in a corpus of a few chunks that blocks were worth their making.
create or replace function ragdb_internal.build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 then
    return;
  end if;
  update ragdb.lexemes l set chunk_nos = ''
    where l.corpus_id = corpus.corpus_id and l.in_blocks and l.chunk_nos <> '';
  perform ragdb_internal.cover_chunks(corpus.corpus_id, corpus.next_chunk_no - 1);
  perform ragdb_internal.merge_many(corpus.corpus_id, 8, true);
end $$;

-- Makes the blocks of a corpus know all of its chunks, makes them anew where there are none or a
-- fifth of what they know is gone, and notes it; the caller holds the corpus lock.
create or replace function ragdb_internal.catch_up(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_state ragdb.block_states;
begin
  update ragdb.corpora c set optimized_to = c.next_chunk_no
    where c.corpus_id = corpus.corpus_id;
  select s.* into v_state from ragdb.block_states s where s.corpus_id = corpus.corpus_id;
  if not found or corpus.chunks < 2000 or v_state.swept_to is not null
    or v_state.gone_chunks > 0.2 * corpus.chunks
  then
    perform ragdb_internal.build_blocks(corpus);
    return;
  end if;
  perform ragdb_internal.refresh_stale(corpus.corpus_id);
  if v_state.last_chunk_no < corpus.next_chunk_no - 1 then
    perform ragdb_internal.cover_chunks(corpus.corpus_id, corpus.next_chunk_no - 1);
  end if;
  perform ragdb_internal.merge_many(corpus.corpus_id, 8, true);
  perform ragdb_internal.place_listed(corpus.corpus_id,
    (corpus.next_chunk_no - 2) / ragdb_internal.unit_chunks() + 1);
  perform ragdb_internal.reweigh_blocks(corpus.corpus_id);
end $$;

-- Drops the lexemes that no chunk of a corpus has, and returns how many they were; the caller holds
-- the corpus lock.
create or replace function ragdb_internal.drop_lexemes(
  corpus_id integer, out lexemes_dropped integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.lexemes l where l.corpus_id = drop_lexemes.corpus_id and l.df = 0;
  get diagnostics lexemes_dropped = row_count;
end $$;

-- Optimizes a corpus for a pivot and returns how many lexemes it dropped; the caller holds the
-- corpus lock.
create or replace function ragdb_internal.optimize(
  corpus ragdb.corpora, pivot float8, out lexemes_dropped integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_moves constant boolean := optimize.pivot <> corpus.pivot;
  v_corpus ragdb.corpora;
begin
  if v_moves then
    perform ragdb_internal.move_pivot(corpus, optimize.pivot);
  end if;
  if v_moves or corpus.chunks < 10000 then
    perform ragdb_internal.renew_bounds(corpus.corpus_id);
  end if;
  lexemes_dropped := ragdb_internal.drop_lexemes(corpus.corpus_id);
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
  if v_moves then
    delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  end if;
  perform ragdb_internal.catch_up(v_corpus);
end $$;

-- Returns how far the mean length of the chunks of a corpus is from its pivot: 0.1 is 10 % longer;
-- null without chunks.
create or replace function ragdb_internal.drift(corpus ragdb.corpora) returns float8
language sql immutable parallel safe
return (corpus).lexeme_count::float8 / nullif((corpus).chunks, 0) / (corpus).pivot - 1;

-- Whether the mean length of so many chunks is so far from the pivot that this is to be moved: by
-- 10 %, or 25 % from 10,000 chunks on. To move the pivot writes every impact anew, and a large
-- corpus takes twice the room then. A pivot that is a quarter off moves nDCG@10 of thirteen
-- collections by -.0005 and .0001 on the mean.
create or replace function ragdb_internal.is_drifted(chunks integer, drift float8)
returns boolean
language sql immutable parallel safe
return abs(is_drifted.drift) > case when is_drifted.chunks < 10000 then 0.1 else 0.25 end;

-- Returns the pivot that a corpus shall have: the mean length of its chunks, or what it has where
-- it has none, or where it has 10,000 chunks or more and is not drifted.
create or replace function ragdb_internal.next_pivot(corpus ragdb.corpora) returns float8
language sql immutable parallel safe
return case
  when (corpus).lexeme_count = 0 then (corpus).pivot
  when (corpus).chunks >= 10000
      and not ragdb_internal.is_drifted((corpus).chunks, ragdb_internal.drift(corpus))
    then (corpus).pivot
  else (corpus).lexeme_count::float8 / (corpus).chunks end;

-- Sums the statistics of the parts of a corpus and optimizes each for one pivot, the given one or
-- the mean length of all their chunks; the caller holds the lock of the whole. All parts in one
-- transaction, so that no search sees two pivots. In the order of their numbers: two that optimize
-- cannot deadlock. Raises RG401, RG404.
create or replace function ragdb_internal.optimize_parts(
  whole ragdb.corpora, given float8, out pivot float8, out lexemes_dropped integer)
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
  pivot := coalesce(given, ragdb_internal.next_pivot(v_whole));
  for v_part in
    select p.* from ragdb.corpora p where p.part_of = whole.corpus_id order by p.corpus_id
  loop
    lexemes_dropped := lexemes_dropped + ragdb_internal.optimize(v_part, pivot);
  end loop;
  update ragdb.corpora c set pivot = optimize_parts.pivot
    where c.corpus_id = whole.corpus_id and c.pivot <> optimize_parts.pivot;
  perform ragdb_internal.record_state('settings', whole.corpus_id) where found;
  perform ragdb_internal.drop_lexemes(whole.corpus_id);
end $$;

-- Refuses a pivot that is not a length, or that is given for a corpus without parts. Raises RG400.
create or replace function ragdb_internal.check_pivot(corpus ragdb.corpora, pivot float8)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if pivot is null then
    return;
  elsif pivot not between 0.001 and 1000000 then
    raise exception 'pivot is %', pivot
      using errcode = 'RG400', detail = 'it is a length in lexemes',
        hint = 'pass a number from 0.001 to 1000000';
  end if;
  perform ragdb_internal.check_has_parts(corpus);
end $$;
