-- Who may do what with a corpus: the caller's right to it, the gate that every call passes, the
-- lock that every writer holds, and grants.

create or replace function ragdb_internal.privilege_level(privilege text) returns integer
language sql immutable parallel safe
return case privilege_level.privilege
  when 'read' then 1 when 'write' then 2 when 'admin' then 3 end;
comment on function ragdb_internal.privilege_level(text) is
  'Returns 1 for read, 2 for write, 3 for admin, each of which includes the ones before it; null '
  'for what is not a privilege.';

create or replace function ragdb_internal.privilege_name(level integer) returns text
language sql immutable parallel safe
return case privilege_name.level when 1 then 'read' when 2 then 'write' when 3 then 'admin' end;
comment on function ragdb_internal.privilege_name(integer) is
  'Returns the name of a privilege by its level.';

-- Decided once, at the entry of a function (never per row).
create or replace function ragdb_internal.privilege(corpus_id integer, personal_of text, name text)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller constant text := ragdb_internal.caller();
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
  select count(*) > 0, max(ragdb_internal.privilege_level(g.privilege))
      filter (where pg_has_role(v_caller, r.oid, 'usage'))
    into v_granted, v_most
    from ragdb.corpus_grants g left join pg_roles r on r.rolname = g.role
    where g.corpus_id = privilege.corpus_id;
  return case when v_granted then coalesce(v_most, 0)
    when pg_has_role(v_caller, 'ragdb_writer', 'usage') then 2
    when pg_has_role(v_caller, 'ragdb_reader', 'usage') then 1
    else 0 end;
end $$;
comment on function ragdb_internal.privilege(integer, text, text) is
  'Returns the caller''s right to a corpus: 0 none, 1 read, 2 write, 3 admin.';

-- The one gate to a corpus. A corpus that the caller may not read does not exist for them. Every
-- call passes it, and to plan its statement anew would take five times as long as to run it.
create or replace function ragdb_internal.open_corpus(corpus text, privilege text)
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
      case when corpus = 'personal' then ragdb_internal.caller() end;
  if found then
    v_has := ragdb_internal.privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name);
  end if;
  if coalesce(v_has, 0) = 0 then
    raise exception 'corpus % does not exist', ragdb_internal.quote(corpus)
      using errcode = 'RG404',
        detail = 'no corpus of that name is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_corpora() lists the names; ragdb.create_corpus() makes one';
  end if;
  if (v_has >= ragdb_internal.privilege_level(privilege)) is not true then
    raise exception 'role % has no % right to corpus %',
        ragdb_internal.quote(ragdb_internal.caller()), privilege, ragdb_internal.quote(corpus)
      using errcode = 'RG401',
        detail = 'its right is ' || ragdb_internal.privilege_name(v_has),
        hint = case when corpus = 'system'
          then 'the system corpus is read-only; use a corpus of your own'
          else 'an admin of the corpus can call ragdb.grant_corpus()' end;
  end if;
  return v_corpus;
end $$;
comment on function ragdb_internal.open_corpus(text, text) is
  'Returns the row of a corpus that the caller has at least the given right to (read, write, '
  'admin). Raises RG400, RG401, RG404.';

-- Everything that writes to a corpus holds its row lock to the end of the transaction: writers of
-- one corpus are in a queue, so counters are exact and no two of them can deadlock. The version
-- moves once per transaction.
create or replace function ragdb_internal.lock_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, privilege);
begin
  update ragdb.corpora c
    set version = c.version + case
        when c.version_xid = pg_current_xact_id() and c.updated_at = now() then 0 else 1 end,
      version_xid = pg_current_xact_id(), updated_at = now()
    where c.corpus_id = v_corpus.corpus_id
    returning c.* into v_corpus;
  if not found then
    raise exception 'corpus % does not exist', ragdb_internal.quote(corpus)
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
        hint = 'ragdb.list_corpora() lists the names';
  end if;
  return v_corpus;
end $$;
comment on function ragdb_internal.lock_corpus(text, text) is
  'Locks the row of a corpus to the end of the transaction, raises its version once, and returns '
  'it. Raises RG400, RG401, RG404.';

-- What is stored under a corpus beside its documents waits for a drop of it, and for no writer.
create or replace function ragdb_internal.hold_corpus(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.corpora c where c.corpus_id = hold_corpus.corpus_id for key share;
  if not found then
    raise exception 'the corpus does not exist'
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
        hint = 'ragdb.list_corpora() lists the names';
  end if;
end $$;
comment on function ragdb_internal.hold_corpus(integer) is
  'Keeps a corpus from being dropped until the transaction ends. Raises RG404.';

create or replace function ragdb.grant_corpus(corpus text, role text, privilege text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin');
begin
  if corpus in ('personal', 'system') then
    raise exception 'corpus % cannot be granted', ragdb_internal.quote(corpus)
      using errcode = 'RG400',
        detail = case corpus when 'personal' then 'it belongs to one role'
          else 'every reader may read it, only the installer writes it' end,
        hint = 'put the documents into a corpus of another name';
  end if;
  if role is null or not exists (select from pg_roles r where r.rolname = role) then
    raise exception 'role % does not exist', ragdb_internal.quote(role)
      using errcode = 'RG400', detail = 'a right is given to a database role',
        hint = 'create role makes one';
  end if;
  if ragdb_internal.privilege_level(privilege) is null then
    raise exception 'privilege is %, not read, write or admin', ragdb_internal.quote(privilege)
      using errcode = 'RG400', detail = 'each of them includes the ones before it',
        hint = 'read is enough to search';
  end if;
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
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
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin');
begin
  delete from ragdb.corpus_grants g
    where g.corpus_id = v_corpus.corpus_id and g.role = revoke_corpus.role;
  if not found then
    raise exception 'role % has no grant on corpus %',
        ragdb_internal.quote(role), ragdb_internal.quote(corpus)
      using errcode = 'RG400', detail = 'there is nothing to revoke',
        hint = 'a corpus without grants is open to ragdb_reader; a right may come from a role that '
          'it is a member of';
  end if;
end $$;
comment on function ragdb.revoke_corpus(text, text) is
  'Takes a role''s right to a corpus away; without any grant left the corpus is open to every '
  'reader and writer again. Raises RG400, RG401, RG404.';
