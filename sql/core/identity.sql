-- Who a role is: its oid beside its name. A role that is dropped and made again has another oid,
-- and on another server every oid is another's, so only both together name one role.

-- Returns the oid of the role that has a name now; null where there is none.
create or replace function ragdb_internal.role_oid(role text) returns oid
language sql stable parallel safe
return pg_catalog.to_regrole(pg_catalog.quote_ident(role_oid.role))::oid;

-- Refuses a role that is not there, by its name and what it would be for. Raises RG400.
create or replace function ragdb_internal.check_role(role text, role_oid oid, use text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if role_oid is null then
    raise exception 'role % does not exist', ragdb_internal.quote(role)
      using errcode = 'RG400', detail = use,
        hint = 'ragdb_reader, ragdb_writer and ragdb_admin are there; create role makes more';
  end if;
end $$;

-- Returns the oid of the role on whose behalf the statement runs; null where the session is of a
-- role that is gone. A session keeps the name that it did `set role` to while that role is dropped
-- and another made, so whoever logged in must be allowed to become the role that has the name now.
create or replace function ragdb_internal.caller_oid() returns oid
language sql stable parallel safe
return case when pg_catalog.current_setting('role') = 'none'
    or pg_catalog.pg_has_role(session_user, ragdb_internal.role_oid(ragdb_internal.caller()), 'set')
  then ragdb_internal.role_oid(ragdb_internal.caller()) end;

-- Whether the role that had this name and this oid still has both.
create or replace function ragdb_internal.is_role(role text, role_oid oid) returns boolean
language sql stable parallel safe
return coalesce(ragdb_internal.role_oid(is_role.role) = is_role.role_oid, false);

-- Whether the role that had this name and this oid is the caller.
create or replace function ragdb_internal.is_caller(role text, role_oid oid) returns boolean
language sql stable parallel safe
return is_caller.role = ragdb_internal.caller()
  and coalesce(is_caller.role_oid = ragdb_internal.caller_oid(), false);

-- Whether a role is a superuser or a member of ragdb_owner, whom nothing here refuses.
create or replace function ragdb_internal.is_mighty(role_oid oid) returns boolean
language sql stable parallel safe
return exists (select from pg_catalog.pg_roles r
  where r.oid = is_mighty.role_oid
    and (r.rolsuper or pg_catalog.pg_has_role(r.oid, 'ragdb_owner', 'usage')));

-- Returns the superuser or owner who logged in and acts as ragdb_admin, as in Studio; else null.
-- What such a login recorded is not hidden from it where it gives up its might.
create or replace function ragdb_internal.login_of_admin() returns name
language sql stable parallel safe
return case when ragdb_internal.caller() = 'ragdb_admin'
  and ragdb_internal.is_mighty(ragdb_internal.role_oid(session_user)) then session_user end;

-- Returns the number of the corpus that the caller means by a name, whatever the caller's right to
-- it; null where there is none.
create or replace function ragdb_internal.corpus_number(corpus text) returns integer
language sql stable parallel safe
return (select c.corpus_id from ragdb.corpora c
  where c.name = corpus_number.corpus
    and (corpus_number.corpus <> 'personal'
      or ragdb_internal.is_caller(c.personal_of, c.personal_oid)));
