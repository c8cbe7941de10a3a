-- How a corpus is made: what it may be, by whom, and its row.

-- Refuses what is not a name for a corpus. Raises RG411.
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

-- Refuses settings of a corpus that are null or out of range. Raises RG400.
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

-- Refuses to create a corpus that the caller may not create. Raises RG401.
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
  -- whoever may read the corpus may read the contract and answer by its tools
  elsif corpus <> 'personal' and not pg_has_role(v_caller, 'ragdb_admin', 'usage')
    and ragdb_internal.is_declared_by_others(corpus)
  then
    raise exception 'role % may not create corpus %', ragdb_internal.quote(v_caller),
        ragdb_internal.quote(corpus)
      using errcode = 'RG401', detail = 'a contract that another role applied has a corpus of '
          'that name',
        hint = 'choose another name, or ask that role or an admin to create it';
  end if;
end $$;

-- Refuses a corpus that cannot be, or that the caller may not create. Raises RG400, RG401, RG411.
create or replace function ragdb_internal.check_new_corpus(
  corpus text, text_config text, k1 float8, b float8, record_query_text text)
returns void
language sql stable parallel safe
begin atomic
  select ragdb_internal.check_corpus_name(corpus),
    ragdb_internal.check_corpus_settings(text_config, k1, b, record_query_text),
    ragdb_internal.check_may_create(corpus);
end;

-- Stores a new corpus and returns its number. Raises RG409.
create or replace function ragdb_internal.insert_corpus(
  corpus text, title text, text_config text, k1 float8, b float8, record_query_text text,
  history interval)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_personal constant boolean := corpus = 'personal';
  v_now constant timestamptz := ragdb_internal.now();
  v_id integer;
begin
  -- before the number of corpora, as whoever applies a contract and makes its corpora
  perform ragdb_internal.hold('apply_contract', true)
    where ragdb_internal.is_declared(insert_corpus.corpus);
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
      coalesce((select s.value::bigint from ragdb.settings s
        where s.key = ragdb_internal.last_tick_key(corpus)), 0), v_now, v_now)
    on conflict on constraint corpora_name_is_unique do nothing;
  if not found then
    raise exception 'corpus % exists already', ragdb_internal.quote(corpus)
      using errcode = 'RG409', detail = 'names are unique; "personal" is unique for each role',
        hint = 'use it, choose another name, or drop it with ragdb.drop_corpus()';
  end if;
  perform ragdb_internal.record_state('settings', v_id);
  perform ragdb_internal.record_state('rights', v_id) where v_is_personal;
  return v_id;
end $$;

-- Makes partitions of traces where this month has none. Those of months to come are left to
-- ragdb.maintain(): whoever makes some keeps others from all traces to the end of its transaction,
-- and a corpus is often filled in the one that makes it.
create or replace function ragdb_internal.make_overdue_partitions() returns void
language sql
begin atomic
  select ragdb_internal.make_due_partitions() where not ragdb_internal.has_partition(
    'retrieval_traces', (ragdb_internal.months_ahead())[1]);
end;

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
  v_whole ragdb.corpora;
  v_id integer;
begin
  perform ragdb_internal.check_new_corpus(corpus, text_config, k1, b, record_query_text),
    ragdb_internal.check_history(coalesce(history, interval '1 day'));
  if part_of is not null then
    v_whole := ragdb_internal.lock_corpus(part_of, 'write', true);
    perform ragdb_internal.check_becomes_part(corpus, v_whole, text_config, k1, b, history);
  end if;
  v_id := ragdb_internal.insert_corpus(
    corpus, title, text_config, k1, b, record_query_text, history);
  if is_restricted is not false and corpus not in ('personal', 'system') then
    perform ragdb_internal.set_grant(v_id, ragdb_internal.caller(), 'admin');
  end if;
  perform ragdb_internal.bind_default(v_id) where part_of is null;
  perform ragdb_internal.restore_declared_cases(v_id, corpus);
  perform ragdb_internal.join_whole(v_id, v_whole) where part_of is not null;
  perform ragdb_internal.make_overdue_partitions();
end $$;
comment on function ragdb.create_corpus is
  'Creates an empty corpus, embedded by the default embedder if there is one: name 1 to 64 of a-z, '
  '0-9 and -, text configuration of pg_catalog, k1 0 to 10, b 0 to 1, record_query_text full, hash '
  'or none; is_restricted makes it the caller''s and the admins'' alone until ragdb.grant_corpus; '
  'history is for how long it can be searched as it was (null: not at all). part_of makes it a '
  'part of a corpus without documents, which is searched with all of its parts as one: with the '
  'settings of that, and with its rights until it is restricted itself. Whoever makes another '
  'corpus waits until the transaction ends. Raises RG400, RG401, RG404, RG409, RG411.';
