-- Tools and prompts of the contracts in force, each bound to its retrieval.

-- A tool or prompt of a contract with the retrieval that it is bound to.
create type ragdb_internal.tool_binding as (
  name text, kind text, title text, description text, contract text, contract_version integer,
  node_no integer, retriever ragdb.contract_nodes, rag text, corpus text, mode text, k integer,
  min_score float8, query text, query_param text, result_field text, citation_field text,
  source_field text, score_field text, require_citations boolean, require_grounding boolean,
  max_context integer);

-- Returns the tools and prompts of the contracts in force whose corpus the caller may read.
create or replace function ragdb_internal.tool_bindings() returns setof ragdb_internal.tool_binding
language sql stable parallel safe
begin atomic
  select t.name, t.node, t.keys ->> 'title', t.keys ->> 'description', k.contract, k.version,
    t.node_no, s, r.name, s.corpus, d.mode, coalesce((c.keys ->> 'topK')::integer, d.k),
    coalesce((c.keys ->> 'minScore')::float8, d.min_score),
    c.keys ->> 'query', c.keys ->> 'queryParam', coalesce(c.keys ->> 'as', 'chunks'),
    coalesce(c.keys ->> 'citationField', 'citation'),
    coalesce(c.keys ->> 'sourceField', 'source'),
    coalesce(c.keys ->> 'scoreField', 'score'),
    -- a retrieve may ask for more than its rag, never for less
    'true' in (c.keys ->> 'requireCitations', r.keys ->> 'citations',
      g.keys ->> 'requireCitations'),
    coalesce((c.keys ->> 'requireGrounding')::boolean, false), (g.keys ->> 'maxContext')::integer
  from ragdb.contracts k
    join ragdb.contract_nodes c on c.contract = k.contract and c.version = k.version
      and c.node = 'retrieve'
    join ragdb.contract_nodes t on t.contract = k.contract and t.version = k.version
      and t.node_no = c.parent_no
    left join ragdb.contract_nodes r on r.contract = k.contract and r.version = k.version
      and r.node = 'rag' and r.name = c.keys ->> 'rag'
    left join ragdb.contract_nodes g on g.contract = k.contract and g.version = k.version
      and g.node = 'grounding' and g.rag = r.name
    join ragdb.contract_nodes s on s.contract = k.contract and s.version = k.version
      and s.node = 'retriever'
      and s.name = coalesce(c.keys ->> 'retriever', r.keys ->> 'retriever')
    join ragdb.corpora o on o.corpus_id = ragdb_internal.corpus_number(s.corpus)
      and ragdb_internal.privilege(o) > 0
    cross join lateral ragdb_internal.retriever_settings(s) d
  where k.is_current and not ragdb_internal.is_others_contract(k.contract, k.version);
end;

-- Returns the param nodes of a tool in their order.
create or replace function ragdb_internal.tool_params(tool ragdb_internal.tool_binding)
  returns setof ragdb.contract_nodes
language sql stable parallel safe
begin atomic
  select p.* from ragdb.contract_nodes p
  where p.contract = (tool).contract and p.version = (tool).contract_version
    and p.parent_no = (tool).node_no and p.node = 'param'
  order by p.node_no;
end;

-- Whether a call of a tool must give this argument. The query cannot be left out, whatever its
-- param says.
create or replace function ragdb_internal.is_required_param(tool ragdb_internal.tool_binding,
  param ragdb.contract_nodes) returns boolean
language sql immutable parallel safe
return (param).name is not distinct from (tool).query_param
  or coalesce(((param).keys ->> 'required')::boolean, true);

-- Returns a tool or prompt that the caller may use. Raises RG441.
create or replace function ragdb_internal.open_tool(tool text) returns ragdb_internal.tool_binding
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb_internal.tool_binding;
begin
  select b.* into v_tool from ragdb_internal.tool_bindings() b where b.name = open_tool.tool;
  if not found then
    raise exception 'tool % does not exist', ragdb_internal.quote(tool)
      using errcode = 'RG441',
        detail = 'no contract in force that is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()) || ' binds it to a retrieval',
        hint = coalesce('did you mean ' || ragdb_internal.nearest_name(tool,
            array(select b.name from ragdb_internal.tool_bindings() b)) || '?',
          'ragdb.apply_contract() puts a contract in force');
  end if;
  return v_tool;
end $$;

-- Returns the query of a call of a tool. Raises RG400.
create or replace function ragdb_internal.tool_query(tool ragdb_internal.tool_binding,
  arguments jsonb)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_params ragdb.contract_nodes[] := array(select p from ragdb_internal.tool_params(tool) p);
  v_wrong text;
begin
  if jsonb_typeof(arguments) is distinct from 'object' then
    raise exception 'arguments is not an object'
      using errcode = 'RG400', detail = 'it is ' || coalesce(jsonb_typeof(arguments), 'null'),
        hint = 'pass {"name": "text"}, as ragdb.list_tools() describes';
  end if;
  select 'has no argument ' || ragdb_internal.quote(a.key) into v_wrong
    from jsonb_object_keys(arguments) a (key)
    where not exists (select from unnest(v_params) p where p.name = a.key)
    order by a.key collate "C" limit 1;
  if v_wrong is null then
    select 'needs ' || p.name || ', a text' into v_wrong from unnest(v_params) p
      where case coalesce(jsonb_typeof(arguments -> p.name), 'null') when 'string' then false
          when 'null' then ragdb_internal.is_required_param(tool, p) else true end
        or p.name = tool.query_param and (arguments ->> p.name) !~ E'\\S'
      order by p.node_no limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'tool % %', ragdb_internal.quote(tool.name), v_wrong
      using errcode = 'RG400',
        detail = 'its arguments are ' || coalesce(
          nullif(array_to_string(array(select p.name from unnest(v_params) p), ', '), ''), 'none'),
        hint = 'ragdb.list_tools() describes them';
  end if;
  return coalesce(tool.query, arguments ->> tool.query_param);
end $$;

-- Returns how many hits a call of a tool retrieves: more than topK where a reranker chooses among
-- them. Raises RG415 where its reranker was not asked.
create or replace function ragdb_internal.tool_depth(tool ragdb_internal.tool_binding,
  settings ragdb.retriever_settings, rerank_scores jsonb)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rerank_scores is null then
    perform ragdb_internal.check_rerank((tool.retriever).name, settings.reranker, null);
  end if;
  return case when settings.reranker is null then tool.k else ragdb.rerank_depth(tool.k) end;
end $$;
