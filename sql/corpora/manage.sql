-- The life of a corpus: dropping it, listing what there is. All are definers because nobody but the
-- owner touches the tables.

create or replace function ragdb.drop_corpus(corpus text, reason text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora :=
    ragdb_internal.open_corpus(drop_corpus.corpus, 'admin', false, true);
  v_id constant integer := v_corpus.corpus_id;
begin
  perform ragdb_internal.leave_whole(v_corpus);
  v_corpus := ragdb_internal.lock_rights(
    ragdb_internal.lock_corpus(drop_corpus.corpus, 'admin', false, true), false, true);
  perform ragdb_internal.check_erasure('erase', reason), ragdb_internal.hold_corpus_alone(v_id);
  perform ragdb_internal.erase_derived(
    v_corpus, null, 'erase', 'corpus ' || v_corpus.name, reason);
  perform ragdb_internal.remove_corpus(v_id);
  perform ragdb_internal.record_corpus_dropped(v_corpus);
end $$;
comment on function ragdb.drop_corpus is
  'Removes a corpus with its documents, index, grants and events, and erases its atoms and '
  'proposals, which is recorded with the reason (up to 10000 characters); its traces and '
  'evaluation runs stay. Raises RG400, RG401, RG404.';

-- Returns what a corpus has, or those of its parts that the caller may read have together.
create or replace function ragdb_internal.counts(corpus ragdb.corpora)
returns table (
  documents integer, chunks integer, token_count bigint, size_bytes bigint,
  lexeme_count bigint, language text)
language sql stable parallel safe rows 1
begin atomic
  with counted as (
    select (counts.corpus).* where (counts.corpus).parts = 0
    union all
    select p.* from ragdb.corpora p
    where p.part_of = (counts.corpus).corpus_id and (counts.corpus).parts > 0
      and ragdb_internal.privilege(p) > 0
  )
  select coalesce(sum(c.documents), 0)::integer, coalesce(sum(c.chunks), 0)::integer,
    coalesce(sum(c.token_count), 0)::bigint, coalesce(sum(c.size_bytes), 0)::bigint,
    coalesce(sum(c.lexeme_count), 0)::bigint,
    (select l.key from counted u cross join lateral pg_catalog.jsonb_each_text(u.languages) l
      group by l.key order by sum(l.value::integer) desc, l.key collate "C" limit 1)
  from counted c;
end;

-- Returns what ragdb.list_corpora says of a corpus.
create or replace function ragdb_internal.listed(corpus ragdb.corpora)
returns table (
  name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, is_drifted boolean, version bigint,
  created_at timestamptz, updated_at timestamptz, part_of text, parts integer,
  stale_parts integer, moved_to text)
language sql stable parallel safe rows 1
begin atomic
  select (corpus).name, (corpus).title, n.documents, n.chunks, n.token_count, n.size_bytes,
    n.language, r.drift,
    coalesce(ragdb_internal.is_drifted((corpus).chunks, r.drift), false),
    ragdb_internal.version_of(corpus), (corpus).created_at, (corpus).updated_at, (
      select w.name from ragdb.corpora w
      where w.corpus_id = (corpus).part_of and ragdb_internal.privilege(w) > 0),
    nullif((corpus).parts, 0), case when (corpus).parts > 0 then (
      select count(*)::integer from ragdb.corpora p
      where p.part_of = (corpus).corpus_id and ragdb_internal.is_stale(p)) end,
    ragdb_internal.moved_to(corpus)
  from ragdb_internal.counts(corpus) n
    cross join lateral (
      select case when (corpus).part_of is null and (corpus).moving is distinct from 'moved'
        then ragdb_internal.drift(corpus) end as drift) r;
end;

-- Returns the corpora that the caller may read, by name or those that changed last first: those
-- that begin with a prefix and come after a name, at most so many (null: all), with the personal
-- one or without it. Planned anew, as a page reads the index in order, and a list of all does not.
-- Raises RG400.
create or replace function ragdb_internal.page_of_corpora(
  prefix text, after text, count integer, with_personal boolean, by_change boolean default false)
returns setof ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  perform ragdb_internal.check_paged(prefix, after, 'name'),
    ragdb_internal.check_listed(coalesce(count, 1), 'corpora');
  return query
    select c.* from ragdb_internal.corpora_to_read() c
    -- the first of the two is a range of the index, which the function is not
    where c.name >= prefix collate "C" and starts_with(c.name, prefix)
      and c.name > after collate "C" and (with_personal or c.personal_of is null)
    order by case when by_change then c.updated_at end desc, c.name limit count;
end $$;

-- The personal corpora of other roles are not in it, for anybody.
create or replace function ragdb.list_corpora(
  prefix text default '', after text default '', count integer default null,
  by_change boolean default false)
returns table (
  name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, is_drifted boolean, version bigint,
  created_at timestamptz, updated_at timestamptz, part_of text, parts integer,
  stale_parts integer, moved_to text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select l.* from ragdb_internal.page_of_corpora(prefix, after, count, true, by_change) c
      cross join lateral ragdb_internal.listed(c) l
    order by case when by_change then c.updated_at end desc, c.name;
end $$;
comment on function ragdb.list_corpora is
  'Lists the corpora that the caller may read, by name, or those that changed last first: those '
  'whose name begins with a prefix and comes after a given one, at most count (1 to 10000; null: '
  'all). Each has counts (of one that '
  'has parts, of those that the caller may read), the language of most documents, the drift of '
  'the mean length from the pivot (0.1 is 10 % longer; null without chunks, of a part and of one '
  'that has moved), whether ragdb.optimize_corpus is due for it (over 10 %, or 25 % from 10,000 '
  'chunks on), the corpus that it is a part of, how many parts it has, how many of these were '
  'written to since ragdb.sync_statistics, and the database to which it has moved. Raises RG400.';

create or replace function ragdb.count_corpora(with_personal boolean default true)
returns table (
  corpora integer, documents bigint, chunks bigint, tokens bigint, size_bytes bigint,
  spaces bigint)
language sql stable parallel safe security definer rows 1
begin atomic
  -- what one made of parts has is that of its parts
  select count(*)::integer, coalesce(sum(c.documents) filter (where c.parts = 0), 0)::bigint,
    coalesce(sum(c.chunks) filter (where c.parts = 0), 0)::bigint,
    coalesce(sum(c.token_count) filter (where c.parts = 0), 0)::bigint,
    coalesce(sum(c.size_bytes) filter (where c.parts = 0), 0)::bigint,
    coalesce(sum(s.spaces) filter (where c.parts = 0), 0)::bigint
  from ragdb_internal.corpora_to_read() c
    left join (select e.corpus_id, count(*) as spaces from ragdb.embedding_spaces e
      group by e.corpus_id) s on s.corpus_id = c.corpus_id
  where count_corpora.with_personal or c.personal_of is null;
end;
comment on function ragdb.count_corpora is
  'Counts the corpora that the caller may read, with the personal one or without it, and what they '
  'have together: documents, chunks, tokens, bytes and spaces of embeddings.';

create or replace function ragdb.corpus_info(corpus text)
returns table (
  name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, is_drifted boolean, version bigint,
  created_at timestamptz, updated_at timestamptz, part_of text, parts integer,
  stale_parts integer, moved_to text,
  text_config text, k1 float8, b float8, pivot float8, lexemes bigint,
  record_query_text text, privilege text, gate_floors jsonb, history interval,
  history_from bigint, new_chunks integer, embedder text)
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read', true, true);
begin
  return query
    select l.*, v_corpus.text_config, v_corpus.k1, v_corpus.b, v_corpus.pivot,
      (ragdb_internal.counts(v_corpus)).lexeme_count, v_corpus.record_query_text,
      ragdb_internal.privilege_name(ragdb_internal.privilege(v_corpus)),
      (select jsonb_object_agg(g.mode, ragdb_internal.floor_in(v_corpus, g.mode))
        from ragdb.gate_calibrations g where g.corpus_id = v_corpus.corpus_id),
      v_corpus.history, v_corpus.history_from,
      v_corpus.next_chunk_no - v_corpus.optimized_to,
      (select e.name from ragdb.embedding_spaces s join ragdb.embedders e using (embedder_id)
        where s.corpus_id = ragdb_internal.embedded_as(v_corpus) and s.state = 'current')
    from ragdb_internal.listed(v_corpus) l;
end $$;
comment on function ragdb.corpus_info is
  'Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each '
  'occurrence counted), the caller''s right to it, the floors of its gate by mode (null: not '
  'measured yet), how many chunks came since ragdb.optimize_corpus, and the embedder that it is '
  'searched by (null: by words alone). Raises RG400, RG404.';
