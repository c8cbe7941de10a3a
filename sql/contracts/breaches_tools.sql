-- Breaches of the rules about tools and prompts: their names, params, retrieves and output.

-- Lists the tools of ragdb mcp, whose names no contract may use. ragdb mcp serves these itself;
-- BUILTIN in ragdb/mcp/catalogue.py, CHANGES in changes.py, PEERS in federated.py and BOUND in
-- bound.py hold what each does.
create or replace function ragdb_internal.builtin_tools() returns text[]
language sql immutable parallel safe
return array['search', 'fetch', 'search_slice', 'list_corpora', 'get_trace', 'replay_trace',
  'validate_citations', 'facets', 'count_matches', 'list_documents', 'ask', 'build_pack',
  'resolve_anchor', 'list_traces', 'list_eval_runs', 'eval_report', 'list_promoted',
  'list_synonyms', 'list_edges', 'explain_passage', 'locate_quote', 'document_versions',
  'create_corpus', 'drop_corpus', 'delete_document', 'put_text', 'append_turns', 'add_edges',
  'remove_edges', 'add_synonyms', 'remove_synonyms', 'promote', 'propose', 'decide_proposal',
  'record_feedback', 'list_peers', 'ask_peers', 'list_contract_tools', 'call_contract_tool'];

-- Returns the tools and prompts whose name cannot be served, those without a retrieve,
-- the params that do nothing, and the second retrieves of a tool.
create or replace function ragdb_internal.breaches_of_tools(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  select ragdb_internal.breach('mcp-tool-name-invalid', n, 'name')
  from pg_catalog.unnest(items) n
  where n.node in ('tool', 'prompt') and n.name ~ '\S' and n.name !~ '^[A-Za-z0-9_-]{1,64}$'
  union all
  select ragdb_internal.breach('mcp-tool-name-reserved', n, 'name')
  from pg_catalog.unnest(items) n
  where n.node in ('tool', 'prompt') and n.name = any (ragdb_internal.builtin_tools())
  union all
  select ragdb_internal.breach('mcp-tool-unbound', n)
  from pg_catalog.unnest(items) n
  where n.node in ('tool', 'prompt') and not exists (
    select from pg_catalog.unnest(items) r
    where r.node = 'retrieve' and r.parent_no = n.node_no)
  union all
  select ragdb_internal.breach('mcp-param-unused', n)
  from pg_catalog.unnest(items) n
    join pg_catalog.unnest(items) r on r.node = 'retrieve' and r.parent_no = n.parent_no
  where n.node = 'param' and n.name ~ '\S' and n.name is distinct from r.keys ->> 'queryParam'
  union all
  select ragdb_internal.breach('mcp-retrieve-duplicate', r.item)
  from (
    select n as item,
      pg_catalog.row_number() over (partition by n.parent_no order by n.node_no) as nth
    from pg_catalog.unnest(items) n where n.node = 'retrieve' and n.parent_no is not null) r
  where r.nth > 1;
end;

-- Returns the retrieves without one target and one query, and those whose target or query is
-- unknown.
create or replace function ragdb_internal.breaches_of_retrieves(
  items ragdb_internal.contract_item[], declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with retrieves as materialized (
    select n as item, n.rag, n.parent_no, n.keys, n.keys ->> 'retriever' as retriever,
      n.keys ->> 'queryParam' as query_param
    from pg_catalog.unnest(items) n where n.node = 'retrieve'
  ), params as materialized (
    select n.parent_no, pg_catalog.array_agg(n.name) as names
    from pg_catalog.unnest(items) n where n.node = 'param' group by n.parent_no
  )
  select ragdb_internal.breach('mcp-retrieve-target-required', r.item)
  from retrieves r where not r.keys ?| '{rag,retriever}'
  union all
  select ragdb_internal.breach('mcp-retrieve-target-exclusive', r.item, 'retriever')
  from retrieves r where r.keys ?& '{rag,retriever}'
  union all
  select ragdb_internal.breach('mcp-retrieve-unknown-retriever', r.item, 'retriever',
    array[ragdb_internal.quote(r.retriever)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (r.item).node_no),
      r.retriever, (declared).retrievers))
  from retrieves r where r.keys ? 'retriever' and r.retriever <> all ((declared).retrievers)
  union all
  select ragdb_internal.breach('mcp-retrieve-unknown-rag', r.item, 'rag',
    array[ragdb_internal.quote(r.rag)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (r.item).node_no),
      r.rag, (declared).rags))
  from retrieves r where r.keys ? 'rag' and r.rag <> all ((declared).rags)
  union all
  select ragdb_internal.breach('mcp-retrieve-query-required', r.item)
  from retrieves r where not r.keys ?| '{query,queryParam}'
  union all
  select ragdb_internal.breach('mcp-retrieve-query-exclusive', r.item, 'query')
  from retrieves r where r.keys ?& '{query,queryParam}'
  union all
  select ragdb_internal.breach('mcp-retrieve-query-param-unknown', r.item, 'queryParam',
    array[ragdb_internal.quote(r.query_param)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (r.item).node_no),
      r.query_param, p.names))
  from retrieves r left join params p on p.parent_no = r.parent_no
  where r.keys ? 'queryParam' and r.query_param <> all (coalesce(p.names, '{}'));
end;

-- Returns the retrieves whose output is unknown, or does not carry the citations and sources that
-- it must.
create or replace function ragdb_internal.breaches_of_output(items ragdb_internal.contract_item[],
  declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with retrieves as materialized (
    select n as item, n.rag, n.keys, n.keys ->> 'output' as output,
      n.keys ->> 'requireCitations' as cites, n.rag = any ((declared).rags) as has_rag,
      coalesce(n.rag = any ((declared).citing_rags), false) as rag_cites
    from pg_catalog.unnest(items) n where n.node = 'retrieve'
  )
  select ragdb_internal.breach('mcp-retrieve-citations-require-grounding', r.item,
    'requireCitations')
  from retrieves r where r.cites = 'true' and r.has_rag and not r.rag_cites
  union all
  select ragdb_internal.breach('mcp-retrieve-output-array-required', r.item, 'output')
  from retrieves r where r.output = 'RetrievedChunk'
  union all
  select ragdb_internal.breach('mcp-retrieve-output-unknown', r.item, 'output',
    array[ragdb_internal.quote(r.output)])
  from retrieves r where r.output not in ('RetrievedChunk[]', 'RetrievedChunk')
  union all
  select ragdb_internal.breach('mcp-retrieve-output-required', r.item, 'requireCitations')
  from retrieves r where r.cites = 'true' and not r.keys ? 'output'
  union all
  select ragdb_internal.breach('mcp-retrieve-output-citations-cannot-weaken-rag', r.item,
    'requireCitations')
  from retrieves r where r.cites = 'false' and r.rag_cites
  union all
  select ragdb_internal.breach('mcp-retrieve-output-citation-field-required', r.item,
    'citationField')
  from retrieves r
  where r.keys ? 'output' and not r.keys ? 'citationField'
    and (coalesce(r.cites = 'true', false) or r.rag_cites)
  union all
  select ragdb_internal.breach('mcp-retrieve-output-source-required', r.item, 'sourceField')
  from retrieves r where r.keys ->> 'provenance' = 'source' and not r.keys ? 'sourceField';
end;

-- Returns the fields of retrieves that have no output to stand in, or the name of another field.
create or replace function ragdb_internal.breaches_of_fields(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with retrieves as materialized (
    select n as item, n.keys, coalesce(n.keys ->> 'citationField', 'citation') as citation,
      coalesce(n.keys ->> 'sourceField', 'source') as source,
      coalesce(n.keys ->> 'scoreField', 'score') as score
    from pg_catalog.unnest(items) n where n.node = 'retrieve'
  ), fields as (
    select r.item, f.key, f.field, f.others
    from retrieves r
      cross join lateral (values
        ('citationField', r.citation, array['id', 'text', 'provenance', r.source, r.score]),
        ('sourceField', r.source, array['id', 'text', 'provenance', r.citation, r.score]),
        ('scoreField', r.score, array['id', 'text', 'provenance', r.citation, r.source]),
        ('as', r.keys ->> 'as', array['provenance'])) f (key, field, others)
    where r.keys ? f.key
  )
  select ragdb_internal.breach('mcp-retrieve-output-field-without-output', n, u.key, array[u.key])
  from pg_catalog.unnest(items) n
    cross join (values ('citationField'), ('sourceField'), ('scoreField'), ('provenance')) u (key)
  where n.node = 'retrieve' and n.keys ? u.key and not n.keys ? 'output'
  union all
  select ragdb_internal.breach('mcp-retrieve-output-field-conflict', f.item, f.key,
    array[f.key, ragdb_internal.quote(f.field)])
  from fields f where f.field = any (f.others) or f.field !~ '\S';
end;
