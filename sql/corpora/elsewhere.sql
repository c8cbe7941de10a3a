-- Parts of a corpus that are on other servers: their statistics as these gave them.
--
-- Each server has the whole, with parts of its own. Where all count the same parts, here and
-- elsewhere, a chunk has the same score on each as in the corpus in one piece. What is given here
-- is believed: its cost, where it is wrong, is the order of what the parts of this whole find. So
-- it takes the right to write to the whole, and no digest is taken from anybody.

-- Refuses numbers that no part can have, or that no corpus can count. Raises RG400.
create or replace function ragdb_internal.check_part_statistics(
  whole ragdb.corpora, part text, given ragdb.part_states)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_chunks bigint;
  v_most constant integer := (ragdb_internal.limits()).corpus_numbers;
begin
  select w.wrong into v_wrong from (values
      (given.version >= 0 and given.chunks >= 0 and given.lexeme_count >= 0
        and isfinite(given.synced_at), 'version, chunks, lexeme_count and synced_at are needed'),
      (cardinality(given.lexemes) = cardinality(given.dfs) and ragdb_internal.is_list(given.lexemes)
        and coalesce(array_ndims(given.dfs), 1) = 1, 'each lexeme has one df'),
      (not exists (select from unnest(given.lexemes) l
        where (octet_length(l) between 1 and (ragdb_internal.limits()).lexeme_bytes) is not true),
        'a lexeme has 1 to ' || (ragdb_internal.limits()).lexeme_bytes || ' bytes'),
      ((select count(distinct l) from unnest(given.lexemes) l) = cardinality(given.lexemes),
        'a lexeme is given once'),
      (not exists (select from unnest(given.dfs) d
        where (d between 1 and given.chunks) is not true), 'a df is from 1 to chunks'),
      (given.lexeme_count between (select coalesce(sum(d), 0) from unnest(given.dfs) d)
          and given.chunks::bigint * (ragdb_internal.limits()).indexed_characters,
        'lexeme_count is at least the sum of all df, and at most what so many chunks can have'))
      w (is_right, wrong)
    where w.is_right is not true limit 1;
  select coalesce(sum(e.chunks), 0) + given.chunks into v_chunks
    from ragdb.parts_elsewhere e where e.corpus_id = whole.corpus_id and e.name <> part;
  if v_wrong is not null or v_chunks > v_most then
    raise exception 'what is given of part % cannot be its statistics', ragdb_internal.quote(part)
      using errcode = 'RG400',
        detail = coalesce(v_wrong, format('parts elsewhere have at most %s chunks', v_most)),
        hint = 'pass a row of ragdb.part_statistics() of the server that has the part';
  end if;
end $$;

-- Counts a part on another server as it is given, or with an empty list no more; returns how many
-- lexemes that changed. The caller holds the lock of the whole. Raises RG413.
create or replace function ragdb_internal.replace_elsewhere(
  whole ragdb.corpora, part text, counted ragdb.part_states[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_changed integer;
  v_added integer;
begin
  select d.changed, d.added into v_changed, v_added
    from ragdb_internal.add_to_dictionary(whole, counted, array(
      select row(null, e.version, e.chunks, e.lexeme_count, e.lexemes, e.dfs, e.synced_at, e.digest)
        ::ragdb.part_states
      from ragdb.parts_elsewhere e where e.corpus_id = whole.corpus_id and e.name = part)) d;
  delete from ragdb.parts_elsewhere e where e.corpus_id = whole.corpus_id and e.name = part;
  insert into ragdb.parts_elsewhere (corpus_id, name, version, chunks, lexeme_count, lexemes, dfs,
      synced_at, digest)
    select whole.corpus_id, part, c.version, c.chunks, c.lexeme_count, c.lexemes, c.dfs,
      c.synced_at, c.digest
    from unnest(counted) c;
  perform ragdb_internal.count_whole(whole.corpus_id, v_added);
  return v_changed;
end $$;

create or replace function ragdb.put_part_statistics(
  corpus text, part text, version bigint, chunks integer, lexeme_count bigint, lexemes text[],
  dfs integer[], synced_at timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole constant ragdb.corpora :=
    ragdb_internal.lock_corpus(put_part_statistics.corpus, 'write', true);
  v_given ragdb.part_states := row(
    null, version, chunks, lexeme_count, lexemes, dfs, synced_at, null);
begin
  perform ragdb_internal.check_has_parts(v_whole), ragdb_internal.check_corpus_name(part),
    ragdb_internal.check_part_statistics(v_whole, part, v_given);
  if exists (select from ragdb.corpora c where c.part_of = v_whole.corpus_id and c.name = part) then
    raise exception 'part % is on this server', ragdb_internal.quote(part)
      using errcode = 'RG409', detail = 'the name of a part is its own on all servers',
        hint = 'give the part that is elsewhere another name';
  end if;
  select array_agg(w.lexeme order by w.lexeme collate "C"),
      array_agg(w.df order by w.lexeme collate "C")
    into v_given.lexemes, v_given.dfs
    from unnest(v_given.lexemes, v_given.dfs) w (lexeme, df);
  v_given.lexemes := coalesce(v_given.lexemes, '{}');
  v_given.dfs := coalesce(v_given.dfs, '{}');
  v_given.digest := ragdb_internal.statistics_digest(
    v_given.chunks, v_given.lexeme_count, v_given.lexemes, v_given.dfs);
  return ragdb_internal.replace_elsewhere(v_whole, part, array[v_given]);
end $$;
comment on function ragdb.put_part_statistics is
  'Has the statistics of a corpus count a part that is on another server, as '
  'ragdb.part_statistics gave it there, and returns how many lexemes that changed. It takes the '
  'right to write to the corpus, whose ranking rests on what is given: each df is 1 to chunks, and '
  'lexeme_count at least their sum. Raises RG400, RG401, RG404, RG409, RG411, RG413.';

create or replace function ragdb.drop_part_statistics(corpus text, part text) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole constant ragdb.corpora :=
    ragdb_internal.lock_corpus(drop_part_statistics.corpus, 'write', true);
begin
  if not exists (select from ragdb.parts_elsewhere e
      where e.corpus_id = v_whole.corpus_id and e.name = part) then
    raise exception 'corpus % counts no part % on another server',
        ragdb_internal.quote(v_whole.name), coalesce(ragdb_internal.quote(part), 'null')
      using errcode = 'RG404', detail = 'nothing was given of it',
        hint = 'ragdb.list_parts() lists what is counted';
  end if;
  return ragdb_internal.replace_elsewhere(v_whole, part, '{}');
end $$;
comment on function ragdb.drop_part_statistics is
  'Has the statistics of a corpus count a part on another server no more, because it is gone or '
  'has come here, and returns how many lexemes that changed. Raises RG400, RG401, RG404.';

create or replace function ragdb.part_statistics(corpus text, parts text[] default '{}')
returns table (part text, is_elsewhere boolean, version bigint, chunks integer,
  lexeme_count bigint, lexemes text[], dfs integer[], synced_at timestamptz, digest bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole constant ragdb.corpora :=
    ragdb_internal.open_corpus(part_statistics.corpus, 'write', true);
begin
  perform ragdb_internal.open_parts(v_whole, is_of_several => true);
  return query
    select s.part, s.is_elsewhere, s.version, s.chunks, s.lexeme_count,
      case when s.part = any (parts) then s.lexemes end,
      case when s.part = any (parts) then s.dfs end, s.synced_at, s.digest
    from (
      select c.name as part, false as is_elsewhere, t.version, t.chunks, t.lexeme_count, t.lexemes,
        t.dfs, t.synced_at, t.digest
      from ragdb.corpora c join ragdb.part_states t on t.corpus_id = c.corpus_id
      where c.part_of = v_whole.corpus_id
      union all
      select e.name, true, e.version, e.chunks, e.lexeme_count, e.lexemes, e.dfs, e.synced_at,
        e.digest
      from ragdb.parts_elsewhere e where e.corpus_id = v_whole.corpus_id) s
    order by s.part;
end $$;
comment on function ragdb.part_statistics is
  'Returns what the statistics of a corpus count of each of its parts, here and on other servers '
  '(is_elsewhere): chunks, lexemes with each occurrence, and their SHA-256; of those named also '
  'each lexeme with how many chunks have it (null of others), for ragdb.put_part_statistics on '
  'another server. It takes the right to write, and all parts. Raises RG400, RG401, RG404.';
