-- A router of several databases, made and changed. Citus lets a superuser alone do it, so these are
-- invokers; with a router in front every node stays a whole ragdb that answers by itself too.

create or replace function ragdb_internal.require_citus() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_extension e where e.extname = 'citus') then
    raise exception 'this database has no Citus' using errcode = 'RG439',
      detail = 'Citus 13 or newer takes calls from the router to the nodes',
      hint = 'install it, put it into shared_preload_libraries, and: create extension citus';
  end if;
end $$;
comment on function ragdb_internal.require_citus() is
  'Refuses a database without the extension citus. Raises RG439.';

-- Those of an earlier version go first: what they took or returned may have changed.
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
      where t.typnamespace = 'ragdb_at'::regnamespace and t.typname like '%\_row'
  loop
    execute v_statement;
  end loop;
end $$;
comment on function ragdb_internal.drop_wrappers() is
  'Drops the wrappers of a router.';

create or replace function ragdb_internal.make_wrapper(routed ragdb_internal.routed) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrapper text;
  v_role text;
begin
  if routed.result like 'setof ragdb\_at.%' then
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
comment on function ragdb_internal.make_wrapper(ragdb_internal.routed) is
  'Makes the wrapper of a public function in schema ragdb_at, with its comment and its grants.';

create or replace function ragdb_internal.make_wrappers() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.drop_wrappers();
  return (select count(ragdb_internal.make_wrapper(r)) from ragdb_internal.routed_functions() r);
end $$;
comment on function ragdb_internal.make_wrappers() is
  'Makes the wrappers of a router anew, at its making and at each upgrade; returns how many.';

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
  end if;
  return ragdb_internal.make_wrappers();
end $$;
comment on function ragdb.cluster_init(text, integer) is
  'Makes this database a router: host and port are those by which the nodes reach it. Schema '
  'ragdb_at then has each public function, which is called at the node of its corpus. Returns how '
  'many there are. Takes a superuser. Raises RG439.';

-- What a node cannot keep prepared, no transaction of two nodes can commit.
create or replace function ragdb_internal.check_node(node integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_build constant text := obj_description('ragdb'::regnamespace, 'pg_namespace');
  v_found text;
begin
  select r.result into v_found
    from run_command_on_all_nodes(
        'select coalesce(obj_description(to_regnamespace(''ragdb''), ''pg_namespace''), ''none'')'
        ' || case when current_setting(''max_prepared_transactions'')::integer = 0'
        ' then '', max_prepared_transactions = 0'' else '''' end') r
      join pg_dist_node n using (nodeid)
    where n.groupid = check_node.node;
  if v_found is distinct from v_build then
    raise exception 'node % is not a ragdb like this one', check_node.node using errcode = 'RG439',
      detail = format('it says: %s; the router: %s', v_found, v_build),
      hint = 'run `ragdb init` there, of the same version, and set max_prepared_transactions';
  end if;
end $$;
comment on function ragdb_internal.check_node(integer) is
  'Refuses a node that is not a ragdb of the build of the router. Raises RG439.';

create or replace function ragdb_internal.require_router(node integer default null) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_citus();
  if to_regclass('ragdb_at.members') is null then
    raise exception 'this database is not a router' using errcode = 'RG439',
      detail = 'it has no schema ragdb_at', hint = 'ragdb.cluster_init() makes it one';
  elsif not exists (
      select from ragdb_at.members m where m.node = coalesce(require_router.node, m.node))
      and require_router.node is not null then
    raise exception 'node % is not there', node using errcode = 'RG439',
      detail = 'the router has no node of that number',
      hint = 'ragdb.cluster_status() lists the nodes';
  end if;
end $$;
comment on function ragdb_internal.require_router(integer) is
  'Refuses a database that is not a router, or a number that is none of a node. Raises RG439.';

create or replace function ragdb_internal.make_node(host text, port integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node integer;
begin
  select n.groupid into strict v_node from pg_dist_node n
    where n.nodename = host and n.nodeport = port;
  perform ragdb_internal.check_node(v_node);
  if to_regclass('ragdb_at.node_' || v_node) is null then
    -- so that Citus puts the shard there
    perform citus_set_node_property(n.nodename, n.nodeport, 'shouldhaveshards', false)
      from pg_dist_node n where n.groupid not in (0, v_node);
    execute format(ragdb_internal.node_schema(), v_node);
    perform citus_set_node_property(n.nodename, n.nodeport, 'shouldhaveshards', true)
      from pg_dist_node n where n.groupid not in (0, v_node);
  end if;
  insert into ragdb_at.members (node) values (v_node) on conflict do nothing;
end $$;
comment on function ragdb_internal.make_node(text, integer) is
  'Makes what asks a node that Citus knows. Raises RG439.';

-- Two transactions: within one, Citus would wait for itself.
create or replace procedure ragdb.cluster_add_node(host text, port integer default 5432)
language plpgsql
as $$
begin
  perform ragdb_internal.require_router();
  perform pg_catalog.citus_add_node(host, port);
  commit;
  perform ragdb_internal.make_node(host, port);
end $$;
comment on procedure ragdb.cluster_add_node(text, integer) is
  'Adds a node to a router: a whole ragdb of the same build. New corpora go to the node that has '
  'the fewest. Where it ends with an error, it goes on when it is called again. Takes a superuser. '
  'Raises RG439.';

create or replace function ragdb.cluster_isolate(node integer, is_isolated boolean default true)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_router(node);
  update ragdb_at.members m set is_isolated = cluster_isolate.is_isolated
    where m.node = cluster_isolate.node;
end $$;
comment on function ragdb.cluster_isolate(integer, boolean) is
  'Says whether new corpora keep away from a node. Takes a superuser. Raises RG439.';

create or replace function ragdb.cluster_status()
returns table (node integer, host text, port integer, is_up boolean, is_isolated boolean,
  corpora bigint, problem text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_router();
  return query
    select m.node, n.nodename::text, n.nodeport, r.success, m.is_isolated,
      (select count(*) from ragdb_at.placement p where p.node = m.node),
      case when not r.success then r.result end
    from ragdb_at.members m
      join pg_dist_node n on n.groupid = m.node
      join run_command_on_all_nodes('select 1') r on r.nodeid = n.nodeid
    order by m.node;
end $$;
comment on function ragdb.cluster_status() is
  'Lists the nodes of a router with the number of corpora that were put on each, and the problem '
  'where one does not answer. Takes a superuser. Raises RG439.';

create or replace function ragdb.cluster_remove_node(node integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left bigint;
  v_host text;
  v_port integer;
begin
  perform ragdb_internal.require_router(node);
  execute ragdb_at.call(node, 'count(*) from ragdb.list_corpora() t where t.name <> ''system''',
    '{}', 'corpora bigint') into v_left;
  if v_left > 0 then
    raise exception 'node % has % corpora', node, v_left using errcode = 'RG439',
      detail = 'nobody would find them through the router',
      hint = 'ragdb cluster isolate, then ragdb cluster move for each, or drop them';
  end if;
  select n.nodename, n.nodeport into v_host, v_port from pg_dist_node n
    where n.groupid = cluster_remove_node.node;
  delete from ragdb_at.placement p where p.node = cluster_remove_node.node;
  delete from ragdb_at.members m where m.node = cluster_remove_node.node;
  execute format('drop function ragdb_at.at_%s; drop table ragdb_at.node_%1$s', node);
  perform citus_remove_node(v_host, v_port);
end $$;
comment on function ragdb.cluster_remove_node(integer) is
  'Removes a node that has no corpora from a router; its database stays as it is. Takes a '
  'superuser. Raises RG439.';
