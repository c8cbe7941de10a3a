-- The tools of contracts as clients see them: what they take and what they return.

-- Returns the JSON schema of the arguments of a tool.
create or replace function ragdb_internal.tool_input_schema(tool ragdb_internal.tool_binding)
  returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object('type', 'object', 'additionalProperties', false,
    'properties', coalesce(
      pg_catalog.jsonb_object_agg(p.name, pg_catalog.jsonb_strip_nulls(
        pg_catalog.jsonb_build_object('type', 'string', 'description', p.keys ->> 'description')))
      filter (where p.name is not null), '{}'),
    'required', coalesce(pg_catalog.jsonb_agg(p.name order by p.node_no)
      filter (where ragdb_internal.is_required_param(tool, p)), '[]'))
  from ragdb_internal.tool_params(tool) p);

-- Returns the JSON schema of a chunk that a tool returns.
create or replace function ragdb_internal.tool_chunk_schema(tool ragdb_internal.tool_binding)
  returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('type', 'object',
  'required', pg_catalog.jsonb_build_array('id', 'text', (tool).source_field, (tool).score_field,
    (tool).citation_field, 'provenance'),
  'properties', pg_catalog.jsonb_build_object(
    'id', '{"type": "string"}'::jsonb,
    'text', '{"type": "string"}'::jsonb,
    (tool).source_field, '{"type": "string"}'::jsonb,
    (tool).score_field, '{"type": "number", "minimum": 0, "maximum": 1}'::jsonb,
    (tool).citation_field, '{"type": "object"}'::jsonb,
    'provenance', '{"type": "object"}'::jsonb));

-- Returns the JSON schema of what a tool returns.
create or replace function ragdb_internal.tool_output_schema(tool ragdb_internal.tool_binding)
  returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('type', 'object',
  'required', pg_catalog.jsonb_build_array((tool).result_field, 'provenance'),
  'properties', pg_catalog.jsonb_build_object(
    (tool).result_field, pg_catalog.jsonb_build_object('type', 'array',
      'items', ragdb_internal.tool_chunk_schema(tool)),
    'provenance', '{"type": "object"}'::jsonb));

-- Definer: contracts are granted to nobody; a tool is listed for whoever may read its corpus.
create or replace function ragdb.list_tools()
returns table (name text, kind text, title text, description text, input_schema jsonb,
  output_schema jsonb, query text, query_param text, corpus text, mode text, contract text,
  contract_version integer, reranker text)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.kind, t.title, t.description, ragdb_internal.tool_input_schema(t),
    ragdb_internal.tool_output_schema(t), t.query, t.query_param, t.corpus, t.mode, t.contract,
    t.contract_version, (ragdb_internal.retriever_settings(t.retriever)).reranker
  from ragdb_internal.tool_bindings() t order by t.name;
end;
comment on function ragdb.list_tools is
  'Lists the tools and prompts (kind) of the contracts in force that have a retrieve and whose '
  'corpus the caller may read: JSON schemas of arguments and output, the fixed query or the '
  'argument that is the query, corpus and mode searched, and the reranker (null for none).';
