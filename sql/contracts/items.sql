create type ragdb_internal.contract_item as (
  node_no integer, parent_no integer, node text, name text, corpus text, rag text, keys jsonb,
  columns jsonb, prompt_sha256 text, line integer, "column" integer, parent_node text,
  parent_name text, grandparent_node text, depth integer, is_sound boolean);
comment on type ragdb_internal.contract_item is
  'A node of a contract being read: what it is, what it is in, and whether it has the form of a '
  'node.';

-- A position is a message's only, so a wrong one is none
create or replace function ragdb_internal.contract_items(contract jsonb) returns setof ragdb_internal.contract_item
language sql immutable parallel safe
begin atomic
  with recursive walk as (
    select array[n.ord] as path, n.v, 1 as depth
    from pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(contract -> 'nodes')
      when 'array' then contract -> 'nodes' else '[]' end) with ordinality n (v, ord)
    union all
    select w.path || c.ord, c.v, w.depth + 1
    from walk w cross join lateral
      pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(w.v -> 'children')
      when 'array' then w.v -> 'children' else '[]' end) with ordinality c (v, ord)
    where w.depth < 17
  ), numbered as materialized (
    select w.path, w.depth, pg_catalog.row_number() over (order by w.path)::integer as node_no,
      w.v ->> 'node' as node,
      case pg_catalog.jsonb_typeof(w.v -> 'keys') when 'object' then w.v -> 'keys'
        else '{}' end as keys,
      case pg_catalog.jsonb_typeof(w.v -> 'columns') when 'object' then w.v -> 'columns'
        else '{}' end as columns,
      w.v ->> 'prompt_sha256' as prompt_sha256,
      ragdb_internal.whole(w.v ->> 'line', 1, 10000000)::integer as line,
        ragdb_internal.whole(w.v ->> 'column', 1, 10000000)::integer as "column",
      pg_catalog.jsonb_typeof(w.v) = 'object'
        and pg_catalog.jsonb_typeof(w.v -> 'node') is not distinct from 'string'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'keys'), 'object') = 'object'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'children'), 'array') in ('array', 'null')
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'columns'), 'object') = 'object'
        and coalesce(w.v ->> 'prompt_sha256', 'a') ~ '^(a|[0-9a-f]{64})$'
        and not pg_catalog.jsonb_path_exists(w.v,
          'strict $.keys.* ? (@.type() == "object" || @.type() == "array" || @.type() == "null")',
          '{}', true)
        as is_sound
    from walk w
  ), placed as materialized (
    select n.*, p.node_no as parent_no, p.node as parent_node, p.keys ->> 'name' as parent_name
    from numbered n left join numbered p on p.path = n.path[:pg_catalog.cardinality(n.path) - 1]
  )
  select n.node_no, n.parent_no, n.node, n.keys ->> 'name',
    case
      when n.node = 'corpus' then n.keys ->> 'name'
      when n.node in ('source', 'chunking')
        then coalesce(n.keys ->> 'corpus', case n.parent_node when 'corpus' then n.parent_name end)
      when n.node in ('embed', 'retriever') then n.keys ->> 'corpus'
    end,
    case
      when n.node = 'rag' then n.keys ->> 'name'
      when n.node in ('grounding', 'ragEval', 'ragAnswerContract')
        then coalesce(n.keys ->> 'rag', case n.parent_node when 'rag' then n.parent_name end)
      when n.node in ('ragCase', 'answerSpan')
        then coalesce(p.keys ->> 'rag', case p.parent_node when 'rag' then p.parent_name end)
      when n.node = 'ragAssert'
        then coalesce(g.keys ->> 'rag', case g.parent_node when 'rag' then g.parent_name end)
      when n.node = 'retrieve' then n.keys ->> 'rag'
    end,
    n.keys, n.columns, n.prompt_sha256, n.line, n."column", n.parent_node, n.parent_name,
      p.parent_node, n.depth, n.is_sound
  from placed n
    left join placed p on p.node_no = n.parent_no
    left join placed g on g.node_no = p.parent_no;
end;
comment on function ragdb_internal.contract_items(jsonb) is
  'Returns the nodes of a contract in their order, with the corpus and the rag that each belongs '
  'to.';

create or replace function ragdb_internal.is_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(is_contract.contract) = 'object'
  and coalesce(pg_catalog.jsonb_typeof(is_contract.contract -> 'nodes') = 'array', false)
  and coalesce(is_contract.contract ->> 'contract',
    'contract') ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
comment on function ragdb_internal.is_contract(jsonb) is
  'Whether a value has the form {"contract": name, "nodes": […]}.';
