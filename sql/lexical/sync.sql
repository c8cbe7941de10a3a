-- Parts of one corpus rank by common statistics: N, df of each lexeme and the pivot of their whole.
-- They are kept as those of any corpus, in its row and its dictionary, behind which there are no
-- chunks.
--
-- What they count of each part is kept beside them (ragdb.part_states). So only parts that were
-- written to since are read, only what differs is written, and no writer of a part waits.

-- Whether a part was written to since the statistics of its whole counted it.
create or replace function ragdb_internal.is_stale(part ragdb.corpora) returns boolean
language sql stable parallel safe
return not exists (
  select from ragdb.part_states s
  where s.corpus_id = (part).corpus_id and s.version = (part).version);

-- Returns the SHA-256 of what is counted of a part, with its lexemes in the order of their bytes.
create or replace function ragdb_internal.statistics_digest(
  chunks integer, lexeme_count bigint, lexemes text[], dfs integer[])
returns bytea
language sql immutable parallel safe
return pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.concat_ws(' ', statistics_digest.chunks, statistics_digest.lexeme_count,
    statistics_digest.lexemes, statistics_digest.dfs), 'UTF8'));

-- Counts the parts of a corpus that its statistics do not count as they are, and one that leaves as
-- nothing. One statement, hence one snapshot: df and chunks are of one version of the part.
create or replace function ragdb_internal.counted_parts(whole_id integer, leaving integer)
returns setof ragdb.part_states
language sql stable parallel safe
begin atomic
  select c.*, ragdb_internal.now(),
    ragdb_internal.statistics_digest(c.chunks, c.lexeme_count, c.lexemes, c.dfs)
  from (
    select p.corpus_id, p.version,
      case when p.corpus_id = counted_parts.leaving then 0 else p.chunks end as chunks,
      case when p.corpus_id = counted_parts.leaving then 0 else p.lexeme_count end as lexeme_count,
      coalesce(d.lexemes, '{}') as lexemes, coalesce(d.dfs, '{}') as dfs
    from ragdb.corpora p
      cross join lateral (
        select pg_catalog.array_agg(l.lexeme order by l.lexeme) as lexemes,
          pg_catalog.array_agg(l.df order by l.lexeme) as dfs
        from ragdb.lexemes l
        where l.corpus_id = p.corpus_id and l.df > 0
          and p.corpus_id is distinct from counted_parts.leaving
        offset 0) d
    where p.part_of = counted_parts.whole_id
      and (p.corpus_id = counted_parts.leaving or ragdb_internal.is_stale(p))
    offset 0) c;
end;

-- Adds to the dictionary of a corpus by how much some of its parts differ from what they were when
-- it counted them; returns how many lexemes that changed and how many were new. Raises RG413.
create or replace function ragdb_internal.add_to_dictionary(
  whole ragdb.corpora, counted ragdb.part_states[], was ragdb.part_states[],
  out changed integer, out added integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
begin
  with differing as materialized (
    select u.lexeme, sum(u.df)::integer as df
    from (
      select n.lexeme, n.df
      from unnest(counted) c cross join lateral unnest(c.lexemes, c.dfs) n (lexeme, df)
      union all
      select o.lexeme, -o.df
      from unnest(was) p cross join lateral unnest(p.lexemes, p.dfs) o (lexeme, df)) u
    group by u.lexeme having sum(u.df) <> 0
  ), terms as materialized (
    select d.lexeme, d.df, l.term_id is null as is_new, coalesce(l.term_id,
      ragdb_internal.next_term_id(whole, row_number()
        over (partition by l.term_id is null order by d.lexeme))) as term_id
    from differing d
      left join lateral (select k.term_id from ragdb.lexemes k
        where k.corpus_id = whole.corpus_id and k.lexeme = d.lexeme offset 0) l on true
  ), summed as (
    insert into ragdb.lexemes as l (corpus_id, lexeme, term_id, df, max_impact)
      select whole.corpus_id, t.lexeme, t.term_id, t.df, 0 from terms t order by t.lexeme
    on conflict on constraint lexemes_are_unique_per_corpus do update set df = l.df + excluded.df
  )
  select count(*), count(*) filter (where t.is_new)
    into add_to_dictionary.changed, add_to_dictionary.added from terms t;
end $$;

-- Sums the chunks and lexemes of the parts of a corpus, here and elsewhere, into its row, and
-- counts so many new lexemes.
create or replace function ragdb_internal.count_whole(whole_id integer, new_terms integer)
returns void
language sql
begin atomic
  update ragdb.corpora w
    set next_term_id = w.next_term_id + count_whole.new_terms, (chunks, lexeme_count) = (
      select coalesce(sum(s.chunks), 0), coalesce(sum(s.lexeme_count), 0)
      from (
        select s.chunks, s.lexeme_count
        from ragdb.part_states s join ragdb.corpora p on p.corpus_id = s.corpus_id
        where p.part_of = count_whole.whole_id
        union all
        select e.chunks, e.lexeme_count from ragdb.parts_elsewhere e
        where e.corpus_id = count_whole.whole_id) s)
    where w.corpus_id = count_whole.whole_id;
end;

-- Counts what the parts of a corpus have become into its statistics, and one that leaves as
-- nothing; returns how many parts it counted and how many lexemes that changed. The caller holds
-- the lock of the whole. Raises RG413.
create or replace function ragdb_internal.sum_parts(
  whole ragdb.corpora, leaving integer default null, out parts integer, out lexemes integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counted constant ragdb.part_states[] := array(
    select c from ragdb_internal.counted_parts(whole.corpus_id, sum_parts.leaving) c);
  v_added integer;
begin
  select d.changed, d.added into lexemes, v_added
    from ragdb_internal.add_to_dictionary(whole, v_counted, array(
      select s from ragdb.part_states s
      where s.corpus_id in (select c.corpus_id from unnest(v_counted) c))) d;
  insert into ragdb.part_states select c.* from unnest(v_counted) c
    on conflict on constraint part_states_corpus_is_unique do update
      set (version, chunks, lexeme_count, lexemes, dfs, synced_at, digest) = row(excluded.version,
        excluded.chunks, excluded.lexeme_count, excluded.lexemes, excluded.dfs, excluded.synced_at,
        excluded.digest);
  perform ragdb_internal.count_whole(whole.corpus_id, v_added);
  parts := cardinality(v_counted);
end $$;

-- Counts all parts of a corpus anew, here as they are and elsewhere as they were given; the caller
-- holds the lock of the whole. Sums alone change by differences, so what is wrong in them would
-- stay. Raises RG413.
create or replace function ragdb_internal.recount_parts(whole ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole ragdb.corpora;
  v_added integer;
begin
  delete from ragdb.lexemes l where l.corpus_id = whole.corpus_id;
  delete from ragdb.part_states s using ragdb.corpora p
    where p.part_of = whole.corpus_id and s.corpus_id = p.corpus_id;
  update ragdb.corpora c set next_term_id = 1 where c.corpus_id = whole.corpus_id
    returning c.* into v_whole;
  select d.added into v_added from ragdb_internal.add_to_dictionary(v_whole, array(
      select row(e.corpus_id, e.version, e.chunks, e.lexeme_count, e.lexemes, e.dfs, e.synced_at,
        e.digest)::ragdb.part_states
      from ragdb.parts_elsewhere e where e.corpus_id = whole.corpus_id), '{}') d;
  perform ragdb_internal.count_whole(whole.corpus_id, v_added);
  v_whole.next_term_id := v_whole.next_term_id + v_added;
  perform ragdb_internal.sum_parts(v_whole);
end $$;

-- Refuses a corpus without parts. Raises RG400.
create or replace function ragdb_internal.check_has_parts(corpus ragdb.corpora) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.parts = 0 then
    raise exception 'corpus % has no parts', ragdb_internal.quote(corpus.name)
      using errcode = 'RG400',
        detail = case when corpus.part_of is null then 'it ranks by its own statistics, which are '
          'always those of its chunks' else 'it is a part itself' end,
        hint = 'ragdb.create_corpus() makes the parts of a corpus that has no documents yet';
  end if;
end $$;

create or replace function ragdb.sync_statistics(corpus text)
returns table (parts integer, chunks integer, lexemes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_whole constant ragdb.corpora :=
    ragdb_internal.lock_corpus(sync_statistics.corpus, 'write', true);
  v_parts integer;
  v_lexemes integer;
begin
  perform ragdb_internal.check_has_parts(v_whole);
  select s.parts, s.lexemes into v_parts, v_lexemes from ragdb_internal.sum_parts(v_whole) s;
  return query
    select v_parts, c.chunks, v_lexemes from ragdb.corpora c where c.corpus_id = v_whole.corpus_id;
end $$;
comment on function ragdb.sync_statistics is
  'Sums the chunks, lexemes and df of the parts of a corpus anew, by which they all rank. It reads '
  'the parts that were written to since the last time, and returns how many these were, the chunks '
  'of all parts, and how many lexemes changed. Of parts on other servers it counts what '
  'ragdb.put_part_statistics was given last. Raises RG400, RG401, RG404.';
