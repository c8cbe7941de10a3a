-- The schema ragdb_at of a router: what it knows of nodes and of where each corpus is, and what its
-- wrappers call. Nothing of it is there before ragdb.cluster_init.
-- Only what the nodes have too is made while Citus hands on what is made.

-- Returns the statements that make schema ragdb_at and its tables: the nodes, and the node of each
-- corpus that was made through the router.
create or replace function ragdb_internal.router_tables() returns text
language sql immutable parallel safe
return $ddl$
create schema ragdb_at;
grant usage on schema ragdb_at to ragdb_reader, bi_reader;
alter schema ragdb_at owner to ragdb_owner;
set local citus.enable_ddl_propagation = off;
create table ragdb_at.members (
  node integer primary key,
  is_isolated boolean not null default false
);
create table ragdb_at.placement (
  corpus text primary key,
  node integer not null references ragdb_at.members
);
alter table ragdb_at.members owner to ragdb_owner;
alter table ragdb_at.placement owner to ragdb_owner;
$ddl$;

-- Returns the statements that make what wrappers call to find the node of a corpus. A name that no
-- corpus has goes to the first node, which says so as any database does. Who may create no corpus
-- cannot make a row, and nobody can see one.
create or replace function ragdb_internal.router_lookups() returns text
language sql immutable parallel safe
return $ddl$
create function ragdb_at.nodes(shuffled boolean) returns integer[]
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select array(select m.node from ragdb_at.members m
    order by case when shuffled then random() else 0 end, m.node) $$;
create function ragdb_at.node_of(corpus text) returns integer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$ begin
  if node_of.corpus is null then
    perform ragdb_at.refuse('a call without a corpus', 'each node would have to answer');
  end if;
  return coalesce((select p.node from ragdb_at.placement p where p.corpus = node_of.corpus),
    (select min(m.node) from ragdb_at.members m), 0);
end $$;
create function ragdb_at.node_of(corpora text[]) returns integer
language plpgsql stable set search_path = pg_catalog, pg_temp as $$ declare
  v_nodes integer[] := array(select distinct ragdb_at.node_of(c) from unnest(corpora) c); begin
  if cardinality(v_nodes) > 1 then
    perform ragdb_at.refuse('a call for corpora of several nodes', 'one node has to answer it');
  end if;
  return coalesce(v_nodes[1], ragdb_at.node_of(null::text));
end $$;
create function ragdb_at.place(corpus text, part_of text default null) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$ begin
  perform ragdb_internal.check_may_create(place.corpus);
  insert into ragdb_at.placement as p (corpus, node)
    select place.corpus, coalesce((select w.node from ragdb_at.placement w
      where w.corpus = place.part_of), (select m.node from ragdb_at.members m
        left join ragdb_at.placement o using (node) where not m.is_isolated
        group by m.node order by count(o.corpus), m.node limit 1))
    where place.corpus not in ('system') and exists (select from ragdb_at.members)
    on conflict do nothing;
  return ragdb_at.node_of(place.corpus);
end $$;
alter function ragdb_at.nodes(boolean) owner to ragdb_owner;
alter function ragdb_at.node_of(text) owner to ragdb_owner;
alter function ragdb_at.place(text, text) owner to ragdb_owner;
$ddl$;

-- Returns the statements that make what wrappers call to ask a node.
create or replace function ragdb_internal.router_calls() returns text
language sql immutable parallel safe
return $ddl$
create function ragdb_at.refuse(what text, reason text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$ begin
  raise exception '% is not done by a router of several databases', what
    using errcode = 'RG459', detail = reason,
      hint = 'ragdb.cluster_routes() lists what is; ragdb.cluster_status() says where a node is';
end $$;
create function ragdb_at.last_node() returns integer
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(nullif(current_setting('ragdb.node', true), '')::integer,
    (ragdb_at.nodes(false))[1]) $$;
create function ragdb_at.call(node integer, what text, arguments text[], columns text) returns text
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select format('select * from ragdb_at.at_%s(%1$s, %L, %L::text[]) as t(%s)',
    set_config('ragdb.node', node::text, true), what, arguments, columns) $$;
-- for what a statement does with rows that it could not be sent to a node with
create function ragdb_at.rows_of(call text) returns setof record
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$ begin
  return query execute call;
end $$;
$ddl$;

-- Returns the statements that make what finds the node of what is given as JSON, and the grants of
-- all of these. A contract, a pack, a run or a result says of which corpus it is, or of which
-- trace.
create or replace function ragdb_internal.router_evidence() returns text
language sql immutable parallel safe
return $ddl$
create function ragdb_at.contract_corpora(contract jsonb) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array(select jsonb_path_query(contract,
    'strict $.** ? (@.node == "corpus").keys.name') #>> '{}') $$;
create function ragdb_at.contract_corpora(contract text) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select ragdb_at.contract_corpora(ragdb.parse_contract(contract)) $$;
create function ragdb_at.node_of_evidence(evidence jsonb, trace uuid default null) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$ declare
  v_corpus constant text := coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id',
    evidence #>> '{pack,corpus}', evidence #>> '{pack,corpus_id}', evidence #>> '{policy,corpus}',
    evidence #>> '{chunks,0,corpus}', evidence #>> '{result,chunks,0,corpus}');
  v_trace constant text := coalesce(trace::text, evidence ->> 'trace_id',
    evidence #>> '{pack,trace_id}', evidence #>> '{chunks,0,trace_id}',
    evidence #>> '{result,trace_id}');
begin
  if v_trace is not null then
    perform ragdb_at.get_trace(v_trace::uuid);
    return ragdb_at.last_node();
  end if;
  return case when v_corpus is null then (ragdb_at.nodes(false))[1]
    else ragdb_at.node_of(v_corpus) end;
end $$;
grant execute on all functions in schema ragdb_at to ragdb_reader, bi_reader;
$ddl$;

-- Returns the statements, with the number of a node to be put in, that make what asks that node.
-- Citus takes a function to the node whose table it is colocated with.
create or replace function ragdb_internal.node_schema() returns text
language sql immutable parallel safe
return $ddl$
create table ragdb_at.node_%1$s (node integer);
select create_distributed_table('ragdb_at.node_%1$s', 'node', shard_count => 1,
  colocate_with => 'none');
create function ragdb_at.at_%1$s(node integer, what text, arguments text[]) returns setof record
language plpgsql volatile set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD' set intervalstyle = postgres as $$ begin
  if node <> (select l.groupid from pg_dist_local_group l) then
    raise exception 'node %% was asked for, and this is another', node using errcode = 'RG459',
      detail = 'the shard of ragdb_at.node_%1$s was moved, or the call did not leave the router',
      hint = 'move it back with citus_move_shard_placement()';
  end if;
  perform set_config('ragdb.is_routed', 'on', true);
  return query execute 'select ' || what using arguments, node;
end $$;
select create_distributed_function('ragdb_at.at_%1$s(integer,text,text[])', 'node',
  colocate_with => 'ragdb_at.node_%1$s', force_delegation => true);
grant execute on function ragdb_at.at_%1$s(integer,text,text[]) to ragdb_reader, bi_reader;
$ddl$;
