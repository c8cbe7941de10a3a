-- A router of several databases, made and changed. Citus lets a superuser alone do it, so these are
-- invokers; with a router in front every node stays a whole ragdb that answers by itself too.

-- Refuses a database without the extension citus. Raises RG459.
create or replace function ragdb_internal.require_citus() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_extension e where e.extname = 'citus') then
    raise exception 'this database has no Citus' using errcode = 'RG459',
      detail = 'Citus 13 or newer takes calls from the router to the nodes',
      hint = 'install it, put it into shared_preload_libraries, and: create extension citus';
  end if;
end $$;

-- Drops the wrappers of a router. Those of an earlier version go first: what they took or returned
-- may have changed.
create or replace function ragdb_internal.drop_wrappers() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement text;
begin
  perform set_config('citus.enable_ddl_propagation', 'off', true);
  for v_statement in
    select 'drop routine ' || p.oid::regprocedure from pg_proc p
      where p.pronamespace = 'ragdb_at'::regnamespace
        and obj_description(p.oid, 'pg_proc') like 'At the router: %'
    union all
    select 'drop type ' || t.oid::regtype from pg_type t
      where t.typnamespace = 'ragdb_at'::regnamespace and t.typname like E'%\\_row'
        and t.typrelid <> 0
  loop
    execute v_statement;
  end loop;
end $$;

-- Makes the wrapper of a public function in schema ragdb_at, with its comment and its grants.
create or replace function ragdb_internal.make_wrapper(routed ragdb_internal.routed) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrapper text;
  v_role text;
begin
  if routed.result like E'setof ragdb\\_at.%' then
    execute format('create type ragdb_at.%I as (%s); alter type ragdb_at.%1$I owner to ragdb_owner',
      routed.name || '_row', routed.columns);
  end if;
  execute ragdb_internal.router_wrapper(routed);
  select format('ragdb_at.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid))
    into v_wrapper from pg_proc p where p.oid = routed.routine;
  execute format('comment on routine %s is %L', v_wrapper,
    'At the router: ' || obj_description(routed.routine, 'pg_proc'));
  execute format('revoke all on routine %s from public', v_wrapper);
  execute format('alter routine %s owner to ragdb_owner', v_wrapper);
  for v_role in
    select a.grantee::regrole from pg_proc p cross join lateral aclexplode(p.proacl) a
      where p.oid = routed.routine and a.privilege_type = 'EXECUTE' and a.grantee <> 0
  loop
    execute format('grant execute on routine %s to %s', v_wrapper, v_role);
  end loop;
end $$;

-- Makes the wrappers of a router anew, at its making and at each upgrade; returns how many.
create or replace function ragdb_internal.make_wrappers() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.drop_wrappers();
  return (select count(ragdb_internal.make_wrapper(r)) from ragdb_internal.routed_functions() r);
end $$;

create or replace function ragdb.cluster_init(host text, port integer default 5432)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_citus();
  if to_regnamespace('ragdb_at') is null then
    perform citus_set_coordinator_host(host, port);
    execute ragdb_internal.router_tables();
    execute ragdb_internal.router_lookups();
    execute ragdb_internal.router_calls();
    execute ragdb_internal.router_evidence();
  end if;
  return ragdb_internal.make_wrappers();
end $$;
comment on function ragdb.cluster_init is
  'Makes this database a router: host and port are those by which the nodes reach it. Schema '
  'ragdb_at then has each public function, which is called at the node of its corpus. Returns how '
  'many there are. Takes a superuser. Raises RG459.';
