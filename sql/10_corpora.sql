-- Corpora: who calls, what they may do, and the life of a corpus.

-- The clock. A test may pin it, and only where the owner has allowed that in the settings.
create or replace function ragdb._now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case
    when nullif(pg_catalog.current_setting('ragdb.now', true), '') is not null
      and exists (select from ragdb.settings s where s.key = 'allow_test_clock' and s.value = 'true'::jsonb)
    then pg_catalog.current_setting('ragdb.now', true)::timestamptz
    else pg_catalog.clock_timestamp()
  end;
end;
comment on function ragdb._now() is
  'Returns the database clock; the setting ragdb.now replaces it where settings.allow_test_clock is true.';

-- Inside a definer function current_user is the owner and session_user ignores `set role`; only `set role`,
-- which checks membership, can move this one.
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
comment on function ragdb._quote(text) is 'Quotes a value for an error message, shortened to 80 characters.';

-- 0 none, 1 read, 2 write, 3 admin. Decided once, at the entry of a function (never per row).
create or replace function ragdb._privilege(corpus_id integer, personal_of text, name text)
returns integer
language sql stable parallel safe
return case
  when _privilege.personal_of is not null then
    case when _privilege.personal_of = ragdb._caller() then 3 else 0 end
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_owner', 'usage') then 3
  when _privilege.name = 'system' then
    case when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 1 else 0 end
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage') then 3
  when exists (select from ragdb.corpus_grants g where g.corpus_id = _privilege.corpus_id) then
    coalesce((select max(case g.privilege when 'read' then 1 when 'write' then 2 else 3 end)
      from ragdb.corpus_grants g join pg_catalog.pg_roles r on r.rolname = g.role
      where g.corpus_id = _privilege.corpus_id
        and pg_catalog.pg_has_role(ragdb._caller(), r.oid, 'usage')), 0)
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_writer', 'usage') then 2
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 1
  else 0
end;
comment on function ragdb._privilege(integer, text, text) is
  'Returns the caller''s right to a corpus: 0 none, 1 read, 2 write, 3 admin.';

-- The one gate to a corpus. A corpus that the caller may not read does not exist for them.
create or replace function ragdb._open_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
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
            hint = case when corpus = 'system' then 'the system corpus is read-only; use a corpus of your own'
              else 'an admin of the corpus can call ragdb.grant_corpus()' end;
  end if;
  return v_corpus;
end $$;
comment on function ragdb._open_corpus(text, text) is
  'Returns the row of a corpus that the caller has at least the given right to (read, write, admin). Raises RG400, RG401, RG404.';

-- Everything that writes to a corpus holds its row lock to the end of the transaction: writers of one corpus
-- are in a queue, so counters are exact and no two of them can deadlock. The version moves once per transaction.
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
    set version = c.version + case when c.version_xid = pg_current_xact_id() and c.updated_at = now()
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
  'Locks the row of a corpus to the end of the transaction, raises its version once, and returns it. Raises RG400, RG401, RG404.';
