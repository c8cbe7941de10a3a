-- Corpora: who calls, what they may do, and the life of a corpus.

-- The clock. A test may pin it, and only where the owner has allowed that in the settings.
create or replace function ragdb._now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case
    when nullif(pg_catalog.current_setting('ragdb.now', true), '') is not null
      and exists (select from ragdb.settings s where s.key = 'allow_test_clock'
        and s.value = 'true'::jsonb)
    then pg_catalog.current_setting('ragdb.now', true)::timestamptz
    else pg_catalog.clock_timestamp()
  end;
end;
comment on function ragdb._now() is
  'Returns the database clock; the setting ragdb.now replaces it where settings.allow_test_clock '
  'is true.';

-- Inside a definer function current_user is the owner and session_user ignores `set role`; only
-- `set role`, which checks membership, can move this one.
create or replace function ragdb._caller() returns text
language sql stable parallel safe
return coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user);
comment on function ragdb._caller() is 'Returns the role on whose behalf the statement runs.';

-- Errors quote user text, and never more than 80 characters of it.
create or replace function ragdb._quote(value text) returns text
language sql immutable parallel safe
return case
  when value is null then 'null'
  when pg_catalog.length(value) > 80 then '"' || pg_catalog.left(value, 79) || '…"'
  else '"' || value || '"'
end;
comment on function ragdb._quote(text) is
  'Quotes a value for an error message, shortened to 80 characters.';

-- JSON has numbers that a double has not: one too small for it is an error of PostgreSQL's, and a
-- share of nothing.
create or replace function ragdb._double(value numeric) returns float8
language sql immutable parallel safe
return case when abs(_double.value) < 1e-300 then 0 else _double.value::float8 end;
comment on function ragdb._double(numeric) is
  'Returns a number of JSON, of less than 1e308, in double precision; 0 for one below 1e-300.';

-- array_position() refuses arrays of arrays with an error of its own
create or replace function ragdb._is_list(items text[]) returns boolean
language sql immutable parallel safe
return case when pg_catalog.array_ndims(items) > 1 then false
  else pg_catalog.array_position(items, null) is null end;
comment on function ragdb._is_list(text[]) is
  'Whether an array, or null, has at most one dimension and no null in it.';

-- 0 none, 1 read, 2 write, 3 admin. Decided once, at the entry of a function (never per row).
create or replace function ragdb._privilege(corpus_id integer, personal_of text, name text)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller constant text := ragdb._caller();
  v_granted boolean;
  v_most integer;
begin
  if personal_of is not null then
    return case when personal_of = v_caller then 3 else 0 end;
  elsif pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    return 3;
  elsif name = 'system' then
    return case when pg_has_role(v_caller, 'ragdb_reader', 'usage') then 1 else 0 end;
  elsif pg_has_role(v_caller, 'ragdb_admin', 'usage') then
    return 3;
  end if;
  select count(*) > 0, max(case g.privilege when 'read' then 1 when 'write' then 2 else 3 end)
      filter (where pg_has_role(v_caller, r.oid, 'usage'))
    into v_granted, v_most
    from ragdb.corpus_grants g left join pg_roles r on r.rolname = g.role
    where g.corpus_id = _privilege.corpus_id;
  return case when v_granted then coalesce(v_most, 0)
    when pg_has_role(v_caller, 'ragdb_writer', 'usage') then 2
    when pg_has_role(v_caller, 'ragdb_reader', 'usage') then 1
    else 0 end;
end $$;
comment on function ragdb._privilege(integer, text, text) is
  'Returns the caller''s right to a corpus: 0 none, 1 read, 2 write, 3 admin.';

-- The one gate to a corpus. A corpus that the caller may not read does not exist for them. It is
-- passed by every call, and to plan its statement anew would cost five times what that does.
create or replace function ragdb._open_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_corpus ragdb.corpora;
  v_has integer;
begin
  if corpus is null then
    raise exception 'corpus is null'
      using errcode = 'RG400', detail = 'every function of a corpus needs its name',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  select c.* into v_corpus from ragdb.corpora c
    where c.name = corpus and c.personal_of is not distinct from
      case when corpus = 'personal' then ragdb._caller() end;
  if found then
    v_has := ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name);
  end if;
  if coalesce(v_has, 0) = 0 then
    raise exception 'corpus % does not exist', ragdb._quote(corpus)
      using errcode = 'RG404',
            detail = 'no corpus of that name is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_corpora() lists the names; ragdb.create_corpus() makes one';
  end if;
  if v_has < (case privilege when 'read' then 1 when 'write' then 2 else 3 end) then
    raise exception 'role % has no % right to corpus %',
        ragdb._quote(ragdb._caller()), privilege, ragdb._quote(corpus)
      using errcode = 'RG401',
            detail = 'its right is ' || case v_has when 1 then 'read' else 'write' end,
            hint = case when corpus = 'system'
              then 'the system corpus is read-only; use a corpus of your own'
              else 'an admin of the corpus can call ragdb.grant_corpus()' end;
  end if;
  return v_corpus;
end $$;
comment on function ragdb._open_corpus(text, text) is
  'Returns the row of a corpus that the caller has at least the given right to (read, write, '
  'admin). Raises RG400, RG401, RG404.';

-- Everything that writes to a corpus holds its row lock to the end of the transaction: writers of
-- one corpus are in a queue, so counters are exact and no two of them can deadlock. The version
-- moves once per transaction.
create or replace function ragdb._lock_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(corpus, privilege);
  update ragdb.corpora c
    set version = c.version + case when c.version_xid = pg_current_xact_id()
      and c.updated_at = now()
          then 0 else 1 end,
        version_xid = pg_current_xact_id(), updated_at = now()
    where c.corpus_id = v_corpus.corpus_id
    returning c.* into v_corpus;
  if not found then
    raise exception 'corpus % does not exist', ragdb._quote(corpus)
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  return v_corpus;
end $$;
comment on function ragdb._lock_corpus(text, text) is
  'Locks the row of a corpus to the end of the transaction, raises its version once, and returns '
  'it. Raises RG400, RG401, RG404.';

-- What is stored under a corpus beside its documents waits for a drop of it, and for no writer.
create or replace function ragdb._hold_corpus(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.corpora c where c.corpus_id = _hold_corpus.corpus_id for key share;
  if not found then
    raise exception 'the corpus does not exist'
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
end $$;
comment on function ragdb._hold_corpus(integer) is
  'Keeps a corpus from being dropped until the transaction ends. Raises RG404.';

-- PostgreSQL 18 has uuidv7(), 16 has not. The twelve bits after the milliseconds hold their
-- fraction, as there.
create or replace function ragdb._uuid7(at timestamptz) returns uuid
language sql volatile parallel safe
return (pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from _uuid7.at) * 1000000)::bigint / 1000),
  12, '0') || '7'
  || pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from _uuid7.at) * 1000000)::bigint % 1000
    * 4096 / 1000), 3, '0')
  || pg_catalog.right(pg_catalog.encode(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 'hex'),
    16))::uuid;
comment on function ragdb._uuid7(timestamptz) is
  'Returns a new UUID of version 7 whose time is the given one, to a quarter of a microsecond.';

-- A definer because nobody but the owner touches the tables.
create or replace function ragdb.create_corpus(
  corpus text, title text default null, text_config text default 'english',
  k1 float8 default 1.2, b float8 default 0.75, record_query_text text default 'full'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := ragdb._caller();
  v_id integer;
begin
  if corpus is null or corpus !~ '^[a-z0-9-]{1,64}$' then
    raise exception '% is not a corpus name', ragdb._quote(corpus)
      using errcode = 'RG411', detail = 'a name is 1 to 64 of a-z, 0-9 and -',
            hint = 'write it in lower case, with - for every other character';
  end if;
  if text_config is null or not exists (
      select from ragdb._text_configs() c where c.config = create_corpus.text_config) then
    raise exception 'text configuration % is not one that every version of PostgreSQL has',
      ragdb._quote(text_config)
      using errcode = 'RG400',
        detail = 'a corpus is analysed by a configuration of pg_catalog, the same on every server',
            hint = (select 'it is one of ' || string_agg(c.config, ', ' order by c.config)
                    from ragdb._text_configs() c);
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
      ragdb._quote(record_query_text)
      using errcode = 'RG400', detail = 'it is what traces keep of a query',
        hint = 'the default is full';
  end if;
  if corpus = 'system' and not pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    raise exception 'role % may not create corpus "system"', ragdb._quote(v_caller)
      using errcode = 'RG401', detail = 'it is made and filled by whoever installs ragdb',
        hint = 'use a corpus of your own';
  end if;
  if corpus not in ('personal', 'system') and not pg_has_role(v_caller, 'ragdb_writer', 'usage')
    and not pg_has_role(v_caller, 'ragdb_owner', 'usage')
  then
    raise exception 'role % may not create corpora', ragdb._quote(v_caller)
      using errcode = 'RG401', detail = 'creating a corpus takes ragdb_writer',
            hint = 'create "personal", which every role may, or ask for ragdb_writer';
  end if;
  insert into ragdb.settings as s (key, value) values ('corpora_created', '1')
    on conflict on constraint settings_key_is_unique do update
      set value = to_jsonb(s.value::integer + 1)
    returning s.value::integer into v_id;
  insert into ragdb.corpora (corpus_id, name, personal_of, title, text_config, k1, b, pivot,
      record_query_text, created_at, updated_at)
    values (v_id, corpus, case when corpus = 'personal' then v_caller end, title, text_config, k1,
      b,
      -- until ragdb.optimize_corpus: about a chunk of 240 tokens, with stop words and without
      case text_config when 'simple' then 160 else 100 end, record_query_text, ragdb._now(),
        ragdb._now())
    on conflict on constraint corpora_name_is_unique do nothing;
  if not found then
    raise exception 'corpus % exists already', ragdb._quote(corpus)
      using errcode = 'RG409', detail = 'names are unique; "personal" is unique for each role',
            hint = 'use it, choose another name, or drop it with ragdb.drop_corpus()';
  end if;
  perform ragdb.maintain();
end $$;
comment on function ragdb.create_corpus(text, text, text, float8, float8, text) is
  'Creates an empty corpus: name 1 to 64 of a-z, 0-9 and -, text configuration of pg_catalog, k1 0 '
  'to 10, b 0 to 1, record_query_text full, hash or none. Raises RG400, RG401, RG409, RG411.';

create or replace function ragdb.drop_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb._lock_corpus(corpus, 'admin')).corpus_id;
  v_cids text[];
begin
  select array_agg(d.doc_cid) into v_cids from ragdb.documents d where d.corpus_id = v_id;
  perform ragdb._drop_spaces(v_id);
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  delete from ragdb.edges e where e.corpus_id = v_id;
  delete from ragdb.document_links l where l.corpus_id = v_id;
  delete from ragdb.chunks c where c.corpus_id = v_id;
  delete from ragdb.documents d where d.corpus_id = v_id;
  delete from ragdb.events e where e.corpus_id = v_id;
  delete from ragdb.corpora c where c.corpus_id = v_id;
  perform ragdb._drop_unused_blobs(v_cids);
end $$;
comment on function ragdb.drop_corpus(text) is
  'Removes a corpus with its documents, index, grants and events; its traces and evaluation runs '
  'stay. Raises RG400, RG401, RG404.';

-- The personal corpora of other roles are not in it, for anybody.
create or replace function ragdb.list_corpora()
returns table (name text, title text, documents integer, chunks integer, tokens bigint,
  size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz,
    updated_at timestamptz)
language sql stable parallel safe security definer
begin atomic
  select c.name, c.title, c.documents, c.chunks, c.token_count, c.size_bytes,
    (select l.key from pg_catalog.jsonb_each_text(c.languages) l order by l.value::integer desc,
      l.key collate "C" limit 1),
    c.lexeme_count::float8 / nullif(c.chunks, 0) / c.pivot - 1,
    c.version, c.created_at, c.updated_at
  from ragdb.corpora c
  where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
  order by c.name;
end;
comment on function ragdb.list_corpora() is
  'Lists the corpora that the caller may read: counts, the language of most documents, and the '
  'drift of the mean length from the pivot (0.1 is 10 % longer; null without chunks).';

create or replace function ragdb.corpus_info(corpus text)
returns table (name text, title text, documents integer, chunks integer, tokens bigint,
  size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz,
    updated_at timestamptz,
  text_config text, k1 float8, b float8, pivot float8, lexemes bigint, record_query_text text,
    privilege text)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
begin
  return query
    select l.*, v_corpus.text_config, v_corpus.k1, v_corpus.b, v_corpus.pivot,
      v_corpus.lexeme_count,
      v_corpus.record_query_text,
      case ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name)
        when 1 then 'read' when 2 then 'write' else 'admin' end
    from ragdb.list_corpora() l where l.name = v_corpus.name;
end $$;
comment on function ragdb.corpus_info(text) is
  'Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each '
  'occurrence counted) and the caller''s right to it. Raises RG400, RG404.';

create or replace function ragdb.grant_corpus(corpus text, role text, privilege text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'admin');
begin
  if corpus in ('personal', 'system') then
    raise exception 'corpus % cannot be granted', ragdb._quote(corpus)
      using errcode = 'RG400',
            detail = case corpus when 'personal' then 'it belongs to one role'
              else 'every reader may read it, only the installer writes it' end,
            hint = 'put the documents into a corpus of another name';
  end if;
  if role is null or not exists (select from pg_roles r where r.rolname = role) then
    raise exception 'role % does not exist', ragdb._quote(role)
      using errcode = 'RG400', detail = 'a right is given to a database role',
        hint = 'create role makes one';
  end if;
  if privilege is null or privilege not in ('read', 'write', 'admin') then
    raise exception 'privilege is %, not read, write or admin', ragdb._quote(privilege)
      using errcode = 'RG400', detail = 'each of them includes the ones before it',
        hint = 'read is enough to search';
  end if;
  perform ragdb._hold_corpus(v_corpus.corpus_id);
  insert into ragdb.corpus_grants (corpus_id, role, privilege)
    values (v_corpus.corpus_id, grant_corpus.role, grant_corpus.privilege)
    on conflict on constraint corpus_grants_role_is_unique_per_corpus do update
      set privilege = excluded.privilege;
end $$;
comment on function ragdb.grant_corpus(text, text, text) is
  'Gives a role the right read, write or admin to a corpus, in place of the right it had; the '
  'first grant closes the corpus to all other readers and writers. Raises RG400, RG401, RG404.';

create or replace function ragdb.revoke_corpus(corpus text, role text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'admin');
begin
  delete from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
    and g.role = revoke_corpus.role;
  if not found then
    raise exception 'role % has no grant on corpus %', ragdb._quote(role), ragdb._quote(corpus)
      using errcode = 'RG400', detail = 'there is nothing to revoke',
            hint = 'a corpus without grants is open to ragdb_reader; a right may come from a role '
                   'that it is a member of';
  end if;
end $$;
comment on function ragdb.revoke_corpus(text, text) is
  'Takes a role''s right to a corpus away; without any grant left the corpus is open to every '
  'reader and writer again. Raises RG400, RG401, RG404.';
