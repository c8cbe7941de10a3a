-- Restricted corpora: which roles have a right to one, and how it is closed and opened.

-- Refuses the two corpora whose rights are fixed. Raises RG400.
create or replace function ragdb_internal.check_may_restrict(corpus text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus in ('personal', 'system') then
    raise exception 'rights to corpus % cannot be changed', ragdb_internal.quote(corpus)
      using errcode = 'RG400',
        detail = case corpus when 'personal' then 'it belongs to one role'
          else 'every reader may read it, only the installer writes it' end,
        hint = 'put the documents into a corpus of another name';
  end if;
end $$;

-- Returns the name of the lock of the rights to a corpus.
create or replace function ragdb_internal.rights_lock(corpus_id integer) returns text
language sql immutable parallel safe
return 'rights of corpus ' || rights_lock.corpus_id;

-- Locks the rights to a corpus that was opened to the end of the transaction, and returns its row
-- where the caller still has the right admin. Whoever changes who may do what with a corpus holds
-- this lock from a look at its own right to the end: of two who take each other's right, the second
-- has none. A lock of its own, so that nobody waits for writers; whoever takes the row of the
-- corpus too takes that first. Raises RG401, RG404, RG438, RG456.
create or replace function ragdb_internal.lock_rights(
  corpus ragdb.corpora, takes_parts boolean default false, takes_moved boolean default false)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.hold(ragdb_internal.rights_lock(corpus.corpus_id));
  return ragdb_internal.open_again(corpus, 'admin', takes_parts, takes_moved);
end $$;

-- Lists the corpora to which the caller was granted a right, also by a role. A role is looked up
-- once, however many grants it has.
create or replace function ragdb_internal.granted_corpora() returns setof integer
language sql stable parallel safe
begin atomic
  with r as materialized (
    select o.role, o.role_oid
    from (select distinct g.role, g.role_oid from ragdb.corpus_grants g) o
    where pg_catalog.pg_has_role((select ragdb_internal.caller_oid()), o.role_oid, 'usage')
      and ragdb_internal.is_role(o.role, o.role_oid))
  select g.corpus_id from ragdb.corpus_grants g join r using (role, role_oid);
end;

-- Returns whether the caller has a right to restricted corpora without a grant.
create or replace function ragdb_internal.needs_no_grant() returns boolean
language sql stable parallel safe
return pg_catalog.pg_has_role(ragdb_internal.caller_oid(), 'ragdb_owner', 'usage')
  or pg_catalog.pg_has_role(ragdb_internal.caller_oid(), 'ragdb_admin', 'usage');

-- Lists the corpora that the caller may read. The right is decided for each, but not for those that
-- are closed to all but a few, of whom the caller is none: of a thousand tenants each has one.
create or replace function ragdb_internal.corpora_to_read() returns setof ragdb.corpora
language sql stable parallel safe
begin atomic
  select c.* from ragdb.corpora c
  where (not c.is_restricted or c.name in ('personal', 'system')
      or (select ragdb_internal.needs_no_grant())
      or c.corpus_id in (select g from ragdb_internal.granted_corpora() g))
    and ragdb_internal.privilege(c) > 0;
end;

-- Closes an open corpus to everybody but admins and the roles that have a grant. It waits for
-- writers of an open corpus, for it changes the row that they lock.
create or replace function ragdb_internal.close_corpus(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.corpora c set is_restricted = true
    where c.corpus_id = close_corpus.corpus_id and not c.is_restricted;
  perform ragdb_internal.record_state('settings', close_corpus.corpus_id) where found;
end $$;

-- Restricts a corpus and gives a role a right to it, which is an event of access.
create or replace function ragdb_internal.set_grant(corpus_id integer, role text, privilege text)
returns void
language sql
begin atomic
  select ragdb_internal.close_corpus(set_grant.corpus_id);
  insert into ragdb.corpus_grants (corpus_id, role, role_oid, privilege)
    values (set_grant.corpus_id, set_grant.role, ragdb_internal.role_oid(set_grant.role),
      set_grant.privilege)
    on conflict on constraint corpus_grants_role_is_unique_per_corpus do update
      set privilege = excluded.privilege;
  select ragdb_internal.record_state('rights', set_grant.corpus_id);
  select ragdb_internal.record_access('grant', c.corpus_id, c.name,
      set_grant.privilege || ' to ' || ragdb_internal.quote(set_grant.role))
    from ragdb.corpora c where c.corpus_id = set_grant.corpus_id;
end;

create or replace function ragdb.grant_corpus(corpus text, role text, privilege text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
begin
  perform ragdb_internal.check_may_restrict(corpus),
    ragdb_internal.check_role(
      role, ragdb_internal.role_oid(role), 'a right is given to a database role');
  if ragdb_internal.privilege_level(privilege) is null then
    raise exception 'privilege is %, not read, write or admin', ragdb_internal.quote(privilege)
      using errcode = 'RG400', detail = 'each of them includes the ones before it',
        hint = 'read is enough to search';
  end if;
  -- before the lock: whoever closes an open corpus waits for writers, and nobody else meanwhile
  perform ragdb_internal.close_corpus(v_corpus.corpus_id),
    ragdb_internal.lock_rights(v_corpus, true),
    ragdb_internal.set_grant(v_corpus.corpus_id, role, privilege);
  if not has_schema_privilege(ragdb_internal.role_oid(role), 'ragdb', 'usage') then
    raise notice 'role % may call nothing of ragdb yet', ragdb_internal.quote(role)
      using detail = 'a right to a corpus is for who is in ragdb_reader, too',
        hint = format('grant ragdb_reader to %I', role);
  end if;
end $$;
comment on function ragdb.grant_corpus is
  'Gives a role the right read, write or admin to a corpus, in place of the right it had; the '
  'corpus is restricted from then on: closed to all other readers and writers. Where it was open '
  'it waits for who writes to it. A notice says so where the role is not in ragdb_reader. Raises '
  'RG400, RG401, RG404.';

create or replace function ragdb.revoke_corpus(corpus text, role text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
begin
  perform ragdb_internal.lock_rights(v_corpus, true);
  delete from ragdb.corpus_grants g
    where g.corpus_id = v_corpus.corpus_id and g.role = revoke_corpus.role;
  if not found then
    raise exception 'role % has no grant on corpus %',
        ragdb_internal.quote(role), ragdb_internal.quote(corpus)
      using errcode = 'RG400', detail = 'there is nothing to revoke',
        hint = 'ragdb.list_grants() lists them; a role has the rights of those it is a member of';
  end if;
  perform ragdb_internal.record_state('rights', v_corpus.corpus_id);
  perform ragdb_internal.record_access('revoke', v_corpus.corpus_id, corpus,
    'from ' || ragdb_internal.quote(role));
end $$;
comment on function ragdb.revoke_corpus is
  'Takes a role''s right to a corpus away, also that of a role that is gone. The corpus stays '
  'restricted: without any grant left it is the admins'' alone. Raises RG400, RG401, RG404.';

create or replace function ragdb.restrict_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
begin
  perform ragdb_internal.check_may_restrict(corpus);
  -- twice: before the lock as a grant does, and where it was opened until that was there
  perform ragdb_internal.close_corpus(v_corpus.corpus_id),
    ragdb_internal.lock_rights(v_corpus, true), ragdb_internal.close_corpus(v_corpus.corpus_id);
  perform ragdb_internal.record_access('restrict', v_corpus.corpus_id, corpus, '');
end $$;
comment on function ragdb.restrict_corpus is
  'Closes a corpus to everybody but admins and the roles that have a grant, until '
  'ragdb.unrestrict_corpus. Where it was open it waits for who writes to it. Raises RG400, RG401, '
  'RG404.';

-- An open corpus has no grants: one that was left would close it again unseen.
create or replace function ragdb.unrestrict_corpus(corpus text) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
  v_revoked integer;
begin
  perform ragdb_internal.check_may_restrict(corpus);
  perform from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id for no key update;
  perform ragdb_internal.lock_rights(v_corpus, true);
  update ragdb.corpora c set is_restricted = false where c.corpus_id = v_corpus.corpus_id;
  delete from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id;
  get diagnostics v_revoked = row_count;
  perform ragdb_internal.record_state('settings', v_corpus.corpus_id);
  perform ragdb_internal.record_state('rights', v_corpus.corpus_id) where v_revoked > 0;
  perform ragdb_internal.record_access('unrestrict', v_corpus.corpus_id, corpus,
    v_revoked || ' grants removed');
  return v_revoked;
end $$;
comment on function ragdb.unrestrict_corpus is
  'Opens a restricted corpus to every reader and writer, removes its grants and returns their '
  'number. Nothing else opens a corpus. Raises RG400, RG401, RG404.';

create or replace function ragdb.list_grants(corpus text)
returns table (role text, privilege text, is_dead boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
begin
  return query
    select g.role, g.privilege, not ragdb_internal.is_role(g.role, g.role_oid)
    from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
    order by g.role, g.role_oid;
end $$;
comment on function ragdb.list_grants is
  'Lists the roles that have a right to a restricted corpus; is_dead where the role is gone, so '
  'that nobody has the right. Raises RG400, RG401, RG404.';
