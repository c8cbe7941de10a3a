-- The life of a corpus: making it, dropping it, listing what there is. All are definers because
-- nobody but the owner touches the tables.

create or replace function ragdb_internal.check_corpus_name(corpus text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus is null or corpus !~ '^[a-z0-9-]{1,64}$' then
    raise exception '% is not a corpus name', ragdb_internal.quote(corpus)
      using errcode = 'RG411', detail = 'a name is 1 to 64 of a-z, 0-9 and -',
        hint = 'write it in lower case, with - for every other character';
  end if;
end $$;
comment on function ragdb_internal.check_corpus_name(text) is
  'Refuses what is not a name for a corpus. Raises RG411.';

create or replace function ragdb_internal.check_corpus_settings(
  text_config text, k1 float8, b float8, record_query_text text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if text_config is null or not exists (
      select from ragdb_internal.text_configs() c
      where c.config = check_corpus_settings.text_config) then
    raise exception 'text configuration % is not one that every version of PostgreSQL has',
        ragdb_internal.quote(text_config)
      using errcode = 'RG400',
        detail = 'a corpus is analysed by a configuration of pg_catalog, the same on every server',
        hint = (select 'it is one of ' || string_agg(c.config, ', ' order by c.config)
          from ragdb_internal.text_configs() c);
  end if;
  if k1 is null or not k1 between 0 and 10 then
    raise exception 'k1 is %, not 0 to 10', coalesce(k1::text, 'null')
      using errcode = 'RG400', detail = 'k1 is how slowly a repeated word stops counting',
        hint = 'the default is 1.2';
  end if;
  if b is null or not b between 0 and 1 then
    raise exception 'b is %, not 0 to 1', coalesce(b::text, 'null')
      using errcode = 'RG400', detail = 'b is how much a chunk''s length counts',
        hint = 'the default is 0.75';
  end if;
  if record_query_text is null or record_query_text not in ('full', 'hash', 'none') then
    raise exception 'record_query_text is %, not full, hash or none',
        ragdb_internal.quote(record_query_text)
      using errcode = 'RG400', detail = 'it is what traces keep of a query',
        hint = 'the default is full';
  end if;
end $$;
comment on function ragdb_internal.check_corpus_settings(text, float8, float8, text) is
  'Refuses settings of a corpus that are null or out of range. Raises RG400.';

create or replace function ragdb_internal.check_may_create(corpus text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller constant text := ragdb_internal.caller();
begin
  if pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    return;
  elsif corpus = 'system' then
    raise exception 'role % may not create corpus "system"', ragdb_internal.quote(v_caller)
      using errcode = 'RG401', detail = 'it is made and filled by whoever installs ragdb',
        hint = 'use a corpus of your own';
  elsif corpus <> 'personal' and not pg_has_role(v_caller, 'ragdb_writer', 'usage') then
    raise exception 'role % may not create corpora', ragdb_internal.quote(v_caller)
      using errcode = 'RG401', detail = 'creating a corpus takes ragdb_writer',
        hint = 'create "personal", which every role may, or ask for ragdb_writer';
  end if;
end $$;
comment on function ragdb_internal.check_may_create(text) is
  'Refuses to create a corpus that the caller may not create. Raises RG401.';

create or replace function ragdb.create_corpus(
  corpus text, title text default null, text_config text default 'english',
  k1 float8 default 1.2, b float8 default 0.75, record_query_text text default 'full',
  is_restricted boolean default false, history interval default null,
  part_of text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_personal constant boolean := corpus = 'personal';
  v_now constant timestamptz := ragdb_internal.now();
  v_whole ragdb.corpora;
  v_id integer;
begin
  perform ragdb_internal.check_corpus_name(corpus),
    ragdb_internal.check_corpus_settings(text_config, k1, b, record_query_text),
    ragdb_internal.check_history(coalesce(history, interval '1 day')),
    ragdb_internal.check_may_create(corpus);
  if part_of is not null then
    v_whole := ragdb_internal.lock_corpus(part_of, 'write', true);
    perform ragdb_internal.check_becomes_part(corpus, v_whole, text_config, k1, b, history);
  end if;
  insert into ragdb.settings as s (key, value) values ('corpora_created', '1')
    on conflict on constraint settings_key_is_unique do update
      set value = to_jsonb(s.value::integer + 1)
    returning s.value::integer into v_id;
  insert into ragdb.corpora (corpus_id, name, personal_of, personal_oid, title, text_config, k1,
      b, pivot, record_query_text, history, history_from, history_since, lamport, created_at,
      updated_at)
    values (v_id, corpus, case when v_is_personal then ragdb_internal.caller() end,
      case when v_is_personal then ragdb_internal.caller_oid() end, title, text_config, k1, b,
      -- until chunks tell: about a chunk of 240 tokens, with stop words and without
      case text_config when 'simple' then 160 else 100 end, record_query_text, history,
      case when history is not null then 0 end, case when history is not null then v_now end,
      -- who reads on under the name of a corpus that was dropped misses nothing of the new one
      coalesce((select s.value::bigint from ragdb.settings s where s.key = 'events_dropped_to'), 0),
      v_now, v_now)
    on conflict on constraint corpora_name_is_unique do nothing;
  if not found then
    raise exception 'corpus % exists already', ragdb_internal.quote(corpus)
      using errcode = 'RG409', detail = 'names are unique; "personal" is unique for each role',
        hint = 'use it, choose another name, or drop it with ragdb.drop_corpus()';
  end if;
  if is_restricted is not false and corpus not in ('personal', 'system') then
    perform ragdb_internal.set_grant(v_id, ragdb_internal.caller(), 'admin');
  end if;
  perform ragdb_internal.bind_default(v_id);
  perform ragdb_internal.restore_declared_cases(v_id, corpus);
  perform ragdb_internal.join_whole(v_id, v_whole) where part_of is not null;
  perform ragdb.maintain();
end $$;
comment on function ragdb.create_corpus(
  text, text, text, float8, float8, text, boolean, interval, text) is
  'Creates an empty corpus, embedded by the default embedder if there is one: name 1 to 64 of a-z, '
  '0-9 and -, text configuration of pg_catalog, k1 0 to 10, b 0 to 1, record_query_text full, hash '
  'or none; is_restricted makes it the caller''s and the admins'' alone until ragdb.grant_corpus; '
  'history is for how long it can be searched as it was (null: not at all). part_of makes it a '
  'part of a corpus without documents, which is searched with all of its parts as one: with the '
  'settings of that, and with its rights until it is restricted itself. Raises RG400, RG401, '
  'RG404, RG409, RG411.';

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
  v_corpus := ragdb_internal.lock_corpus(drop_corpus.corpus, 'admin', false, true);
  perform ragdb_internal.check_erasure('erase', reason);
  perform ragdb_internal.erase_derived(
    v_corpus, null, 'erase', 'corpus ' || v_corpus.name, reason);
  perform ragdb_internal.remove_corpus(v_id);
  perform ragdb_internal.record_corpus_dropped(v_corpus);
end $$;
comment on function ragdb.drop_corpus(text, text) is
  'Removes a corpus with its documents, index, grants and events, and erases its atoms and '
  'proposals, which is recorded with the reason (up to 10000 characters); its traces and '
  'evaluation runs stay. Raises RG400, RG401, RG404.';

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
comment on function ragdb_internal.counts(ragdb.corpora) is
  'Returns what a corpus has, or those of its parts that the caller may read have together.';

-- The personal corpora of other roles are not in it, for anybody.
create or replace function ragdb.list_corpora()
returns table (
  name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz,
  updated_at timestamptz, part_of text, parts integer, stale_parts integer, moved_to text)
language sql stable parallel safe security definer
begin atomic
  select c.name, c.title, n.documents, n.chunks, n.token_count, n.size_bytes, n.language,
    case when c.part_of is null and c.moving is distinct from 'moved'
      then c.lexeme_count::float8 / nullif(c.chunks, 0) / c.pivot - 1 end,
    ragdb_internal.version_of(c), c.created_at, c.updated_at, (
      select w.name from ragdb.corpora w
      where w.corpus_id = c.part_of and ragdb_internal.privilege(w) > 0),
    nullif(c.parts, 0), case when c.parts > 0 then (
      select count(*)::integer from ragdb.corpora p
      where p.part_of = c.corpus_id and ragdb_internal.is_stale(p)) end,
    ragdb_internal.moved_to(c)
  from ragdb.corpora c cross join lateral ragdb_internal.counts(c) n
  where ragdb_internal.privilege(c) > 0
  order by c.name;
end;
comment on function ragdb.list_corpora() is
  'Lists the corpora that the caller may read: counts (of one that has parts, of those that the '
  'caller may read), the language of most documents, the drift of the mean length from the pivot '
  '(0.1 is 10 % longer; null without chunks, of a part and of one that has moved), the corpus '
  'that it is a part of, how many parts it has, how many of these were written to since '
  'ragdb.sync_statistics, and the database to which it has moved.';

create or replace function ragdb.corpus_info(corpus text)
returns table (
  name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz,
  updated_at timestamptz, part_of text, parts integer, stale_parts integer, moved_to text,
  text_config text, k1 float8, b float8, pivot float8, lexemes bigint,
  record_query_text text, privilege text, gate_floors jsonb, history interval,
  history_from bigint)
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
      (select jsonb_object_agg(g.mode, g.floor) from ragdb.gate_calibrations g
        where g.corpus_id = v_corpus.corpus_id), v_corpus.history, v_corpus.history_from
    from ragdb.list_corpora() l where l.name = v_corpus.name;
end $$;
comment on function ragdb.corpus_info(text) is
  'Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each '
  'occurrence counted), the caller''s right to it, and the floors of its gate by mode (null: not '
  'measured yet). Raises RG400, RG404.';
