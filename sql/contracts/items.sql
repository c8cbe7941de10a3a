-- The nodes of a contract being read, one row each, in the order in which they are written, with
-- what each stands in and belongs to. Nothing is refused here: rules look at the rows.

-- A node of a contract being read: what it is, what it stands in, and whether it has the form of a
-- node.
create type ragdb_internal.contract_item as (
  node_no integer, parent_no integer, node text, name text, corpus text, rag text, keys jsonb,
  columns jsonb, prompt_sha256 text, line integer, "column" integer, parent_node text,
  parent_name text, grandparent_node text, depth integer, is_sound boolean);

-- Whether a value has the form {"contract": name, "nodes": […]}.
create or replace function ragdb_internal.is_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(is_contract.contract) = 'object'
  and coalesce(pg_catalog.jsonb_typeof(is_contract.contract -> 'nodes') = 'array', false)
  and coalesce(is_contract.contract ->> 'contract', 'contract')
    ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';

-- Whether a value has the form {"node", "keys", "children"} of a node.
create or replace function ragdb_internal.is_contract_node(written jsonb) returns boolean
language sql immutable parallel safe
return case pg_catalog.jsonb_typeof(written) when 'object' then written - array['node', 'keys',
    'children', 'line', 'column', 'columns', 'prompt_sha256'] = '{}' else false end
  and pg_catalog.jsonb_typeof(written -> 'node') is not distinct from 'string'
  and coalesce(pg_catalog.jsonb_typeof(written -> 'keys'), 'object') = 'object'
  and coalesce(pg_catalog.jsonb_typeof(written -> 'children'), 'array') in ('array', 'null')
  and coalesce(pg_catalog.jsonb_typeof(written -> 'columns'), 'object') = 'object'
  and coalesce(written ->> 'prompt_sha256', 'a') ~ '^(a|[0-9a-f]{64})$'
  -- of what has no keys it is null
  and pg_catalog.jsonb_path_exists(written,
    'strict $.keys.* ? (@.type() == "object" || @.type() == "array" || @.type() == "null")',
    '{}', true) is not true;

-- Returns the array or object (type) under a key; an empty one where it is anything else.
create or replace function ragdb_internal.json_part(written jsonb, key text, type text)
  returns jsonb
language sql immutable parallel safe
return case pg_catalog.jsonb_typeof(written -> key) when type then written -> key
  else case type when 'array' then '[]' else '{}' end::jsonb end;

-- Returns the nodes of a contract as they are written, numbered from 1, with their depth from 1.
-- Depth 17 is one too many, and enough to say so.
create or replace function ragdb_internal.written_nodes(contract jsonb)
  returns table (path bigint[], node_no integer, depth integer, written jsonb)
language sql immutable parallel safe
begin atomic
  with recursive walk as (
    select array[n.ord] as path, 1 as depth, n.written
    from pg_catalog.jsonb_array_elements(ragdb_internal.json_part(contract, 'nodes', 'array'))
      with ordinality n (written, ord)
    union all
    select w.path || c.ord, w.depth + 1, c.written
    from walk w
      cross join lateral pg_catalog.jsonb_array_elements(
        ragdb_internal.json_part(w.written, 'children', 'array')) with ordinality c (written, ord)
    where w.depth < 17
  )
  select w.path, pg_catalog.row_number() over (order by w.path)::integer, w.depth, w.written
  from walk w;
end;

-- Returns the corpus or rag (wanted) that a node names itself, or else that it stands in.
create or replace function ragdb_internal.named_or_above(named text, wanted text, parent_node text,
  parent_name text)
returns text
language sql immutable parallel safe
return coalesce(named, case when parent_node = wanted then parent_name end);

-- Returns the name of the corpus that a node of a contract belongs to; null for other nodes.
create or replace function ragdb_internal.corpus_of(node text, keys jsonb, parent_node text,
  parent_name text)
returns text
language sql immutable parallel safe
return case
  when node = 'corpus' then keys ->> 'name'
  when node in ('source', 'chunking')
    then ragdb_internal.named_or_above(keys ->> 'corpus', 'corpus', parent_node, parent_name)
  when node in ('embed', 'retriever') then keys ->> 'corpus'
end;

-- Returns the mode of a retriever by its keys: hybrid with an embed, else lexical, unless declared.
create or replace function ragdb_internal.retriever_mode(keys jsonb) returns text
language sql immutable parallel safe
return coalesce(keys ->> 'mode', case when keys ? 'embed' then 'hybrid' else 'lexical' end);

-- Returns the keys of an assertion; a value that stands for the one bound of its kind goes under
-- the name of that bound. The language calls what an assertion is held to "the given value",
-- whatever its kind: a bound may be written as value too.
create or replace function ragdb_internal.assertion_keys(keys jsonb) returns jsonb
language sql immutable parallel safe
return coalesce((
  select keys - 'value' || pg_catalog.jsonb_build_object(k.property, keys -> 'value')
  from ragdb_internal.assertion_kinds() k
  where k.kind = keys ->> 'kind' and k.property in ('threshold', 'count', 'valueMs')
    and keys ? 'value' and not keys ? k.property), keys);

-- Returns the nodes of a contract in their order, with the corpus and the rag that each belongs to.
-- A line or column that is wrong only misplaces a message, so it is left out.
create or replace function ragdb_internal.contract_items(contract jsonb)
  returns setof ragdb_internal.contract_item
language sql immutable parallel safe
begin atomic
  with numbered as materialized (
    select w.path, w.node_no, w.depth, w.written, w.written ->> 'node' as node,
      case w.written ->> 'node' when 'ragAssert' then ragdb_internal.assertion_keys(k.keys)
        else k.keys end as keys
    from ragdb_internal.written_nodes(contract) w
      cross join lateral (
        select ragdb_internal.json_part(w.written, 'keys', 'object')) k (keys)
  ), placed as materialized (
    select n.*, p.node_no as parent_no, p.node as parent_node, p.keys ->> 'name' as parent_name
    from numbered n
      left join numbered p on p.path = n.path[:pg_catalog.cardinality(n.path) - 1]
  )
  select n.node_no, n.parent_no, n.node, n.keys ->> 'name',
    ragdb_internal.corpus_of(n.node, n.keys, n.parent_node, n.parent_name),
    case
      when n.node = 'rag' then n.keys ->> 'name'
      when n.node = 'retrieve' then n.keys ->> 'rag'
      when n.node in ('grounding', 'ragEval', 'ragAnswerContract')
        then ragdb_internal.named_or_above(n.keys ->> 'rag', 'rag', n.parent_node, n.parent_name)
      when n.node in ('ragCase', 'answerSpan')
        then ragdb_internal.named_or_above(p.keys ->> 'rag', 'rag', p.parent_node, p.parent_name)
      when n.node = 'ragAssert'
        then ragdb_internal.named_or_above(g.keys ->> 'rag', 'rag', g.parent_node, g.parent_name)
    end,
    n.keys, ragdb_internal.json_part(n.written, 'columns', 'object'), n.written ->> 'prompt_sha256',
    ragdb_internal.whole(n.written ->> 'line', 1, 10000000)::integer,
    ragdb_internal.whole(n.written ->> 'column', 1, 10000000)::integer, n.parent_node,
    n.parent_name, p.parent_node, n.depth, ragdb_internal.is_contract_node(n.written)
  from placed n
    left join placed p on p.node_no = n.parent_no
    left join placed g on g.node_no = p.parent_no
  order by n.node_no;
end;

-- The names of corpora, retrievers and rags that a contract declares; the rags whose grounding
-- requires citations, and all that require them.
create type ragdb_internal.contract_names as (
  corpora text[], retrievers text[], rags text[], grounded_rags text[], citing_rags text[]);

-- Returns the names that a contract declares, each once.
create or replace function ragdb_internal.contract_names(items ragdb_internal.contract_item[])
  returns ragdb_internal.contract_names
language sql immutable parallel safe
return (
  select row(
    coalesce(pg_catalog.array_agg(distinct n.name) filter (where n.node = 'corpus'), '{}'),
    coalesce(pg_catalog.array_agg(distinct n.name) filter (where n.node = 'retriever'), '{}'),
    coalesce(pg_catalog.array_agg(distinct n.name) filter (where n.node = 'rag'), '{}'),
    coalesce(pg_catalog.array_agg(distinct n.name) filter (where n.node = 'grounding'), '{}'),
    coalesce(pg_catalog.array_agg(distinct n.name) filter (where n.cites), '{}')
  )::ragdb_internal.contract_names
  from (
    select i.node, i.name, false as cites from pg_catalog.unnest(items) i
    where i.node in ('corpus', 'retriever', 'rag')
    union all
    select i.node, i.rag, true from pg_catalog.unnest(items) i
    where i.node = 'grounding' and i.keys ->> 'requireCitations' = 'true'
    union all
    select null, i.rag, true from pg_catalog.unnest(items) i
    where i.node = 'rag' and i.keys ->> 'citations' = 'true') n
  where n.name is not null);
