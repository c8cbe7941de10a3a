-- Nodes of a contract put below each other, as JSON.

create type ragdb_internal.flat_node as (
  node_no integer, parent_no integer, depth integer, written jsonb);
comment on type ragdb_internal.flat_node is
  'A node of a contract as JSON without its children: its number, the number of the node that it '
  'stands in (null: the top), and its depth from 1.';

create type ragdb_internal.children as (parent_no integer, nodes jsonb);
comment on type ragdb_internal.children is
  'The nodes below a node of a contract (0: the top), as JSON.';

-- Level by level from the deepest: to look at all nodes for each of them would take the square of
-- their number. Nobody knows how many an array has, and a nested loop would do the same.
create or replace function ragdb_internal.nested_nodes(nodes ragdb_internal.flat_node[])
  returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
declare
  v_below ragdb_internal.children[] := '{}';
begin
  for v_depth in reverse (select max(n.depth) from unnest(nodes) n) .. 1 loop
    v_below := array(
      select row(coalesce(n.parent_no, 0), jsonb_agg(
        n.written || jsonb_build_object('children', coalesce(b.nodes, '[]'))
          order by n.node_no))::ragdb_internal.children
      from unnest(nodes) n left join unnest(v_below) b on b.parent_no = n.node_no
      where n.depth = v_depth group by n.parent_no);
  end loop;
  return coalesce(v_below[1].nodes, '[]');
end $$;
comment on function ragdb_internal.nested_nodes(ragdb_internal.flat_node[]) is
  'Returns the top nodes of a contract, each with those below it, in the order of their numbers.';
