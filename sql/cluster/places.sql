-- What a router knows: its nodes, and where each corpus is.

-- Refuses a database that is not a router, or a number that is none of a node. Raises RG459.
create or replace function ragdb_internal.require_router(node integer default null) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_citus();
  if to_regclass('ragdb_at.members') is null then
    raise exception 'this database is not a router' using errcode = 'RG459',
      detail = 'it has no schema ragdb_at', hint = 'ragdb.cluster_init() makes it one';
  elsif node is not null
    and not exists (select from ragdb_at.members m where m.node = require_router.node)
  then
    raise exception 'node % is not there', node using errcode = 'RG459',
      detail = 'the router has no node of that number',
      hint = 'ragdb.cluster_status() lists the nodes';
  end if;
end $$;

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
comment on function ragdb.cluster_isolate is
  'Says whether new corpora keep away from a node. Takes a superuser. Raises RG459.';

create or replace function ragdb.cluster_place(corpus text, node integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.require_router(node);
  insert into ragdb_at.placement as p (corpus, node) values (cluster_place.corpus, node)
    on conflict on constraint placement_pkey do update set node = excluded.node;
end $$;
comment on function ragdb.cluster_place is
  'Says at which node a corpus is from now on; it does not bring it there, as ragdb cluster move '
  'does. Takes a superuser. Raises RG459.';

create or replace function ragdb.cluster_corpora() returns table (corpus text, node integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.require_router();
  return query select p.corpus, p.node from ragdb_at.placement p order by p.corpus;
end $$;
comment on function ragdb.cluster_corpora is
  'Lists at which node each corpus is that was made through a router, or came with a node; one '
  'that was dropped keeps its place. Takes a superuser. Raises RG459.';

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
comment on function ragdb.cluster_status is
  'Lists the nodes of a router with the number of corpora that were put on each, and the problem '
  'where one does not answer. Takes a superuser. Raises RG459.';
