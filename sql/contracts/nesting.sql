-- Nodes of a contract put below each other, as JSON.

-- A node of a contract as the text of a JSON object without children: its place in the contract,
-- and its depth from 1.
create type ragdb_internal.flat_node as (node_no integer, depth integer, written text);

-- Returns the top nodes of a contract, each with those below it. A node is followed by its first
-- child, or else by what ends it and perhaps others around it. So one pass over the text is enough,
-- and its cost is that of its length.
create or replace function ragdb_internal.nested_nodes(nodes ragdb_internal.flat_node[])
  returns jsonb
language sql immutable parallel safe
begin atomic
  with placed as (
    select n.*, pg_catalog.lead(n.depth) over (order by n.node_no) as next_depth
    from pg_catalog.unnest(nodes) n
  )
  select ('[' || coalesce(pg_catalog.string_agg(
    pg_catalog.left(p.written, -1) || ', "children": ['
      || case when p.next_depth is null then pg_catalog.repeat(']}', p.depth)
        else pg_catalog.repeat(']}', p.depth - p.next_depth + 1)
          || case when p.next_depth > p.depth then '' else ',' end end,
    '' order by p.node_no), '') || ']')::jsonb
  from placed p;
end;
