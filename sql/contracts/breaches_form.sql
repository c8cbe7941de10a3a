-- Breaches of what holds for every node: its form, its place, its keys and its name. A breach that
-- another rule reports already is left out.

-- Returns the nodes that do not have the form of a node, that are unknown or misplaced, or whose
-- name is too long.
create or replace function ragdb_internal.breaches_of_form(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  select ragdb_internal.breach('contract-malformed', n)
  from pg_catalog.unnest(items) n where not n.is_sound
  union all
  select ragdb_internal.breach('contract-too-deep', n)
  from pg_catalog.unnest(items) n where n.depth > 16
  union all
  select ragdb_internal.breach('contract-unknown-node', n,
    details => array[ragdb_internal.quote(n.node)],
    nearest => ragdb_internal.meant_name(pg_catalog.row_number() over (order by n.node_no), n.node,
      array(select p.node from ragdb_internal.contract_parents() p)))
  from pg_catalog.unnest(items) n
  where n.is_sound and n.node not in (select p.node from ragdb_internal.contract_parents() p)
  union all
  select ragdb_internal.breach(p.rule, n,
    details => array[case when n.parent_node is null then 'at the top'
        else 'in ' || ragdb_internal.quote(n.parent_node) end,
      pg_catalog.array_to_string(array(
        select case above when '' then 'at the top' else 'in ' || above end
        from pg_catalog.unnest(p.parents) above), ' or ')],
    words => 'misplaced')
  from pg_catalog.unnest(items) n join ragdb_internal.contract_parents() p on p.node = n.node
  where coalesce(n.parent_node, '') <> all (p.parents)
  union all
  select ragdb_internal.breach('rag-assert-missing-eval', n)
  from pg_catalog.unnest(items) n
  where n.node = 'ragAssert' and n.parent_node = 'ragCase'
    and coalesce(n.grandparent_node, '') <> 'ragEval'
  union all
  select ragdb_internal.breach('contract-name-too-long', n, 'name',
    array[n.node, pg_catalog.length(n.name)::text])
  from pg_catalog.unnest(items) n where pg_catalog.length(n.name) > 200;
end;

-- Whether a text is a value of a key of this type, range and choices.
create or replace function ragdb_internal.is_value(value text, type text, low float8, high float8,
  choices text[])
returns boolean
language sql immutable parallel safe
return case type
  when 'integer' then ragdb_internal.whole(value, low, high) is not null
  when 'number' then ragdb_internal.number(value, low, high) is not null
  when 'boolean' then value in ('true', 'false')
  when 'choice' then value = any (choices)
  when 'list' then ragdb_internal.list(value) <> '{}'
  when 'metric' then ragdb_internal.eval_metric(value) is not null
  when 'interval'
    then value ~ '^ *[0-9]{1,6} *([smhdw]|(second|minute|hour|day|week)s?) *$'
  else true
end;

-- Returns the metrics as a contract may write them, as one text.
create or replace function ragdb_internal.listed_metrics() returns text
language sql immutable parallel safe
return (
  select pg_catalog.array_to_string(m.names[:pg_catalog.cardinality(m.names) - 1], ', ')
    || ' or ' || m.names[pg_catalog.cardinality(m.names)]
  from (select array(select l.written from ragdb_internal.eval_metrics() l) as names) m);

-- Returns the keys of nodes that are unknown, that are missing, or whose value is wrong. Blank
-- chunks of a span are missing, and reported as that. A node may have thousands of keys, so it is
-- not kept with each.
create or replace function ragdb_internal.breaches_of_keys(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with allowed as materialized (
    select * from ragdb_internal.contract_keys()
  ), given as materialized (
    select n.node_no, n.node, g.key, g.value, a.key is not null as is_known, a.type, a.low, a.high,
      a.choices, a.rule
    from pg_catalog.unnest(items) n
      cross join lateral pg_catalog.jsonb_each_text(n.keys) g (key, value)
      left join allowed a on a.node = n.node and a.key = g.key
    where n.node in (select p.node from ragdb_internal.contract_parents() p)
  )
  select ragdb_internal.breach('contract-unknown-key', n, u.key,
    array[ragdb_internal.quote(u.key)], u.nearest)
  from (
    select g.node_no, g.key, ragdb_internal.meant_name(
        pg_catalog.row_number() over (order by g.node_no, g.key), g.key,
        array(select a.key from allowed a where a.node = g.node)) as nearest
    from given g where not g.is_known) u
    join pg_catalog.unnest(items) n on n.node_no = u.node_no
  union all
  select ragdb_internal.breach(g.rule, n, g.key,
    array[g.key, ragdb_internal.quote(g.value), g.low::text, g.high::text,
      case g.type when 'metric' then ragdb_internal.listed_metrics()
        else pg_catalog.array_to_string(g.choices, ', ') end],
    case g.type when 'choice' then ragdb_internal.meant_name(
      pg_catalog.row_number() over (partition by g.type order by g.node_no, g.key),
      g.value, g.choices) end,
    'not-' || g.type)
  from given g join pg_catalog.unnest(items) n on n.node_no = g.node_no
  where g.is_known and not (g.key = 'chunks' and g.value = '')
    and not ragdb_internal.is_value(g.value, g.type, g.low, g.high, g.choices)
  union all
  select ragdb_internal.breach(a.missing, n, a.key, array[a.key], words => 'key-missing')
  from pg_catalog.unnest(items) n
    join allowed a on a.node = n.node and a.missing is not null
  where n.is_sound and (n.keys ->> a.key) ~ '\S' is not true
    and not (a.type in ('integer', 'number', 'choice') and n.keys ? a.key);
end;

-- Returns the nodes whose name another node before them has where names are unique. A tool and a
-- prompt of one name would be one tool.
create or replace function ragdb_internal.breaches_of_names(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with named as (
    select n as item, u.rule, u.unique_per,
      pg_catalog.first_value(coalesce('in line ' || n.line, 'node ' || n.node_no)) over same
        as first_place,
      pg_catalog.row_number() over same as nth
    from pg_catalog.unnest(items) n
      join (values
        ('corpus', 'rag-duplicate-corpus-name', null),
        ('embed', 'rag-duplicate-embed-name', null),
        ('retriever', 'rag-duplicate-retriever-name', null),
        ('rag', 'rag-duplicate-rag-name', null),
        ('source', 'rag-duplicate-source-name', 'corpus'),
        ('ragEval', 'rag-duplicate-eval-name', 'rag'),
        ('ragCase', 'rag-duplicate-case-name', 'ragEval'),
        ('ragAnswerContract', 'rag-duplicate-answer-contract-name', 'rag'),
        ('param', 'mcp-duplicate-param-name', 'tool'),
        ('tool', 'mcp-duplicate-tool-name', 'contract'),
        ('prompt', 'mcp-duplicate-tool-name', 'contract')
      ) u (node, rule, unique_per) on u.node = n.node
    where n.name is not null
    window same as (
      partition by u.rule,
        case u.unique_per when 'corpus' then n.corpus when 'rag' then n.rag
          when 'ragEval' then n.parent_no::text when 'tool' then n.parent_no::text end,
        case n.node when 'corpus' then ragdb_internal.contract_slug(n.name) else n.name end
      order by n.node_no)
  )
  select ragdb_internal.breach(d.rule, d.item, 'name', array[coalesce(d.unique_per, d.first_place)],
    words => case when d.unique_per is null then 'declared-twice' else 'name-not-unique' end)
  from named d where d.nth > 1;
end;
