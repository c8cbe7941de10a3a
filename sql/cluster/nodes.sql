-- Nodes that come to a router, and go.

-- Refuses a node that is not a ragdb of the build of the router. What a node cannot keep prepared,
-- no transaction of two nodes can commit. Raises RG459.
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
    raise exception 'node % is not a ragdb like this one', check_node.node using errcode = 'RG459',
      detail = format('it says: %s; the router: %s', v_found, v_build),
      hint = 'run `ragdb init` there, of the same version, and set max_prepared_transactions';
  end if;
end $$;

-- Has the router find the corpora that a node brings. Raises RG459.
create or replace function ragdb_internal.adopt_corpora(node integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus text;
  v_there integer;
begin
  for v_corpus in execute ragdb_at.call(node,
    't.name from ragdb.list_corpora() t'
    ' where t.name not in (''system'', ''personal'') and t.moved_to is null', '{}', 'name text')
  loop
    insert into ragdb_at.placement as p (corpus, node) values (v_corpus, adopt_corpora.node)
      on conflict on constraint placement_pkey do update set node = p.node
      returning p.node into v_there;
    if v_there <> adopt_corpora.node then
      raise exception 'corpus % is at node % too', ragdb_internal.quote(v_corpus), v_there
        using errcode = 'RG459', detail = 'a router finds a corpus by its name',
          hint = 'export it, drop it, and import it under another name';
    end if;
  end loop;
end $$;

-- Makes what asks a node that Citus knows. Raises RG459.
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
  perform ragdb_internal.adopt_corpora(v_node);
end $$;

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
comment on procedure ragdb.cluster_add_node is
  'Adds a node to a router: a whole ragdb of the same build. New corpora go to the node that has '
  'the fewest. Where it ends with an error, it goes on when it is called again. Takes a superuser. '
  'Raises RG459.';

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
  select count(*) into v_left from ragdb_at.rows_of(ragdb_at.call(node,
      't.name from ragdb.list_corpora() t', '{}', 'name text')) as t(name text)
    where t.name <> 'system' and ragdb_at.node_of(t.name) = cluster_remove_node.node;
  if v_left > 0 then
    raise exception 'node % has %', node, ragdb_internal.counted(v_left, 'corpus')
      using errcode = 'RG459',
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
comment on function ragdb.cluster_remove_node is
  'Removes a node that has no corpora from a router; its database stays as it is, with what was '
  'recorded of corpora that moved away. Takes a superuser. Raises RG459.';
