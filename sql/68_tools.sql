-- Tools of contracts: each `retrieve` node as a function from arguments to JSON, with the fields
-- that it names. `ragdb mcp` serves them; psql can call them too.

do $$ begin
  if pg_catalog.to_regtype('ragdb.tool_binding') is null then
    create type ragdb.tool_binding as (
      name text, kind text, title text, description text, contract text, contract_version integer,
        node_no integer,
      retriever ragdb.contract_nodes, rag text, corpus text, mode text, k integer, min_score float8,
        query text, query_param text,
      result_field text, citation_field text, source_field text, score_field text,
        require_citations boolean,
      require_grounding boolean, max_context integer);
  end if;
end $$;
comment on type ragdb.tool_binding is
  'A tool or prompt of a contract with the retrieval that it is bound to.';

create or replace function ragdb._tool_bindings() returns setof ragdb.tool_binding
language sql stable parallel safe
begin atomic
  select t.name, t.node, t.keys ->> 'title', t.keys ->> 'description', k.contract, k.version,
    t.node_no,
    s, r.name, s.corpus, d.mode, coalesce((c.keys ->> 'topK')::integer, d.k),
      coalesce((c.keys ->> 'minScore')::float8, d.min_score),
    c.keys ->> 'query', c.keys ->> 'queryParam', coalesce(c.keys ->> 'as', 'chunks'),
    coalesce(c.keys ->> 'citationField', 'citation'), coalesce(c.keys ->> 'sourceField', 'source'),
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
    join ragdb.corpora o on o.name = s.corpus
      and o.personal_of is not distinct from case when o.name = 'personal' then ragdb._caller() end
      and ragdb._privilege(o.corpus_id, o.personal_of, o.name) > 0
    cross join lateral ragdb._retriever_settings(s) d
  where k.is_current and not ragdb._is_others_contract(k.contract, k.version);
end;
comment on function ragdb._tool_bindings() is
  'Returns the tools and prompts of the contracts in force whose corpus the caller may read.';

create or replace function ragdb._tool_params(tool ragdb.tool_binding)
  returns setof ragdb.contract_nodes
language sql stable parallel safe
begin atomic
  select p.* from ragdb.contract_nodes p
  where p.contract = (tool).contract and p.version = (tool).contract_version
    and p.parent_no = (tool).node_no and p.node = 'param'
  order by p.node_no;
end;
comment on function ragdb._tool_params(ragdb.tool_binding) is
  'Returns the param nodes of a tool in their order.';

-- The query cannot be left out, whatever its param says.
create or replace function ragdb._is_required_param(tool ragdb.tool_binding,
  param ragdb.contract_nodes) returns boolean
language sql immutable parallel safe
return (param).name is not distinct from (tool).query_param
  or coalesce(((param).keys ->> 'required')::boolean, true);
comment on function ragdb._is_required_param(ragdb.tool_binding, ragdb.contract_nodes) is
  'Whether a call of a tool must give this argument.';

create or replace function ragdb._tool_input_schema(tool ragdb.tool_binding) returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object('type', 'object', 'additionalProperties', false,
    'properties', coalesce(pg_catalog.jsonb_object_agg(p.name,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'type', 'string', 'description', p.keys ->> 'description')))
        filter (where p.name is not null), '{}'),
    'required', coalesce(pg_catalog.jsonb_agg(p.name order by p.node_no)
      filter (where ragdb._is_required_param(tool, p)), '[]'))
  from ragdb._tool_params(tool) p);
comment on function ragdb._tool_input_schema(ragdb.tool_binding) is
  'Returns the JSON schema of the arguments of a tool.';

create or replace function ragdb._tool_output_schema(tool ragdb.tool_binding) returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('type', 'object', 'required',
  pg_catalog.jsonb_build_array((tool).result_field, 'provenance'),
  'properties', pg_catalog.jsonb_build_object(
    (tool).result_field,
      pg_catalog.jsonb_build_object('type', 'array', 'items',
        pg_catalog.jsonb_build_object('type', 'object',
      'required', pg_catalog.jsonb_build_array('id', 'text', (tool).source_field,
        (tool).score_field, (tool).citation_field, 'provenance'),
      'properties', pg_catalog.jsonb_build_object(
        'id', '{"type": "string"}'::jsonb, 'text', '{"type": "string"}'::jsonb, (tool).source_field,
          '{"type": "string"}'::jsonb,
        (tool).score_field, '{"type": "number", "minimum": 0, "maximum": 1}'::jsonb,
          (tool).citation_field, '{"type": "object"}'::jsonb,
        'provenance', '{"type": "object"}'::jsonb))),
    'provenance', '{"type": "object"}'::jsonb));
comment on function ragdb._tool_output_schema(ragdb.tool_binding) is
  'Returns the JSON schema of what a tool returns.';

create or replace function ragdb.list_tools()
returns table (name text, kind text, title text, description text, input_schema jsonb,
  output_schema jsonb, query text, query_param text,
  corpus text, mode text, contract text, contract_version integer, reranker text)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.kind, t.title, t.description, ragdb._tool_input_schema(t),
    ragdb._tool_output_schema(t), t.query, t.query_param,
    t.corpus, t.mode, t.contract, t.contract_version,
      (ragdb._retriever_settings(t.retriever)).reranker
  from ragdb._tool_bindings() t order by t.name;
end;
comment on function ragdb.list_tools() is
  'Lists the tools and prompts (kind) of the contracts in force that have a retrieve and whose '
  'corpus the caller may read: JSON schemas of arguments and output, the fixed query or the '
  'argument that is the query, corpus and mode searched, and the reranker (null for none).';

create or replace function ragdb._open_tool(tool text) returns ragdb.tool_binding
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding;
begin
  select b.* into v_tool from ragdb._tool_bindings() b where b.name = _open_tool.tool;
  if not found then
    raise exception 'tool % does not exist', ragdb._quote(tool)
      using errcode = 'RG441', detail = 'no contract in force that is visible to role '
        || ragdb._quote(ragdb._caller())
              || ' binds it to a retrieval',
            hint = coalesce('did you mean '
              || ragdb._nearest_name(tool, array(select b.name from ragdb._tool_bindings() b))
              || '?',
              'ragdb apply FILE puts a contract in force');
  end if;
  return v_tool;
end $$;
comment on function ragdb._open_tool(text) is
  'Returns a tool or prompt that the caller may use. Raises RG441.';

create or replace function ragdb._tool_query(tool ragdb.tool_binding, arguments jsonb) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_params ragdb.contract_nodes[] := array(select p from ragdb._tool_params(tool) p);
  v_wrong text;
begin
  if jsonb_typeof(arguments) is distinct from 'object' then
    raise exception 'arguments is no object'
      using errcode = 'RG400', detail = 'it is ' || coalesce(jsonb_typeof(arguments), 'null'),
            hint = 'pass {"name": "text"}, as ragdb.list_tools() describes';
  end if;
  select 'has no argument ' || ragdb._quote(a.key) into v_wrong
    from jsonb_object_keys(arguments) a (key)
    where not exists (select from unnest(v_params) p where p.name = a.key)
      order by a.key collate "C" limit 1;
  if v_wrong is null then
    select 'needs ' || p.name || ', a text' into v_wrong from unnest(v_params) p
      where case when arguments ? p.name then jsonb_typeof(arguments -> p.name) <> 'string'
        else ragdb._is_required_param(tool, p) end
        or p.name = tool.query_param and (arguments ->> p.name) !~ '\S'
      order by p.node_no limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'tool % %', ragdb._quote(tool.name), v_wrong
      using errcode = 'RG400',
        detail = 'its arguments are '
        || coalesce(nullif(array_to_string(array(select p.name from unnest(v_params) p), ', '),
            ''), 'none'),
            hint = 'ragdb.list_tools() describes them';
  end if;
  return coalesce(tool.query, arguments ->> tool.query_param);
end $$;
comment on function ragdb._tool_query(ragdb.tool_binding, jsonb) is
  'Returns the query of a call of a tool. Raises RG400.';

-- What was retrieved, under the names that the contract gives: as much as the rag's maxContext lets
-- in, cited where citations are required, and each chunk with what it can be checked by.
create or replace function ragdb._tool_output(tool ragdb.tool_binding, corpus ragdb.corpora,
  hits ragdb.hit[], trace_id uuid, reranks ragdb.retrieval_reranks[])
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_given ragdb.hit[] := hits;
  v_uncited text;
  v_chunks jsonb;
begin
  if reranks <> '{}' then
    v_given := array(
      select row(r.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page,
        h.start_offset, h.end_offset, h.text,
        h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank, h.semantic_rank,
          h.bm25, h.coverage, h.content_hash,
        h.metadata, h.mode, h.is_exact)::ragdb.hit
      from unnest(reranks) r join unnest(hits) h on h.chunk_id = r.chunk_id where r.is_returned
        order by r.rank);
  end if;
  if tool.require_grounding and hits = '{}' then
    raise exception 'tool % found nothing', ragdb._quote(tool.name)
      using errcode = 'RG445', detail = 'requireGrounding is true, and no chunk of corpus '
        || ragdb._quote(tool.corpus) || ' answers the query',
            hint = 'ask in other words, or lower minScore in contract ' || tool.contract;
  end if;
  select h.chunk_id into v_uncited from unnest(v_given) h
    where tool.require_citations
      and not ragdb._is_cited(coalesce(h.citation, jsonb_build_object('uri', h.source)))
      order by h.rank limit 1;
  if found then
    raise exception 'chunk % has no citation', ragdb._quote(v_uncited)
      using errcode = 'RG445', detail = 'tool ' || ragdb._quote(tool.name)
        || ' requires one of every chunk that it returns',
            hint = 'a citation has a uri or a locator that is not blank: correct it in the '
                   'chunk''s source';
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', h.chunk_id, 'text',
        left(h.text, coalesce(tool.max_context, 2147483647) - h.before::integer),
      tool.source_field, h.source, tool.score_field, h.score, tool.citation_field,
        coalesce(h.citation, jsonb_build_object('uri', h.source)),
      'provenance', jsonb_strip_nulls(jsonb_build_object('rank', h.rank, 'doc_cid', h.doc_cid,
        'title', h.title, 'page', h.page,
        'start_offset', h.start_offset, 'end_offset', h.end_offset, 'content_hash', h.content_hash,
          'lexical_score', h.lexical_score,
        'semantic_score', h.semantic_score, 'rerank_score', r.score,
        'is_cut', case when h.before + length(h.text) > tool.max_context then true end)))
          order by h.rank), '[]')
    into v_chunks
    from (select u.*, coalesce(sum(length(u.text)) over
      (order by u.rank rows between unbounded preceding and 1 preceding), 0) as before
      from unnest(v_given) u) h
      left join unnest(reranks) r on r.chunk_id = h.chunk_id
    where h.before < coalesce(tool.max_context, 2147483647);
  return jsonb_build_object(tool.result_field, v_chunks, 'provenance',
    jsonb_strip_nulls(jsonb_build_object(
    'tool', tool.name, 'contract', tool.contract, 'contract_version', tool.contract_version, 'rag',
      tool.rag,
    'retriever', (tool.retriever).name, 'corpus', corpus.name, 'corpus_version', corpus.version,
      'mode', tool.mode,
    'top_k', tool.k, 'min_score', tool.min_score, 'max_context', tool.max_context, 'retrieved',
      cardinality(v_given),
    'reranker', reranks[1].model, 'reranked', nullif(cardinality(reranks), 0),
    'ranking_hash', ragdb._ranking_hash(corpus),
    'result_hash', ragdb._result_hash(array(
      select row(corpus.corpus_id, null, null, h.rank, h.chunk_id, decode(h.content_hash, 'hex'),
        h.score, h.lexical_score,
        h.semantic_score, h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
          from unnest(hits) h)),
    'trace_id', trace_id)));
end $$;
comment on function ragdb._tool_output(ragdb.tool_binding, ragdb.corpora, ragdb.hit[], uuid,
  ragdb.retrieval_reranks[]) is
  'Returns retrieved chunks as a tool does, in the order of their reranking where there is one, '
  'with their provenance. Raises RG445.';

create or replace function ragdb._tool_depth(tool ragdb.tool_binding,
  settings ragdb.retriever_settings, rerank_scores jsonb)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rerank_scores is null then
    perform ragdb._check_rerank((tool.retriever).name, settings.reranker, null);
  end if;
  return case when settings.reranker is null then tool.k else ragdb.rerank_depth(tool.k) end;
end $$;
comment on function ragdb._tool_depth(ragdb.tool_binding, ragdb.retriever_settings, jsonb) is
  'Returns how many hits a call of a tool retrieves. Raises RG415 where its reranker was not '
  'asked.';

create or replace function ragdb.search_tool(
  tool text, arguments jsonb default '{}', query_embedding float8[] default null,
    rerank_scores jsonb default null)
returns jsonb
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding := ragdb._open_tool(tool);
  v_query text := ragdb._tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb._open_retriever(v_tool.retriever, null);
  v_depth integer := ragdb._tool_depth(v_tool, v_settings, rerank_scores);
  v_hits ragdb.hit[] := array(
    select h from ragdb.search(v_settings.corpus, v_query, v_depth, v_settings.mode,
      v_tool.min_score,
      query_embedding => search_tool.query_embedding) h);
  v_ids text[] := array(select h.chunk_id from unnest(v_hits) h order by h.rank);
  v_reranks ragdb.retrieval_reranks[] := '{}';
begin
  if v_settings.reranker is not null then
    v_reranks := ragdb._reranked(null, array(
      select row(null, null, null, h.rank, h.chunk_id, null, null, null, null, null,
        null)::ragdb.retrieval_hits from unnest(v_hits) h),
      v_settings.reranker, v_ids, ragdb._scores(rerank_scores, v_ids), v_tool.k);
  end if;
  return ragdb._tool_output(v_tool, ragdb._open_corpus(v_settings.corpus, 'read'), v_hits, null,
    v_reranks);
end $$;
comment on function ragdb.search_tool(text, jsonb, float8[], jsonb) is
  'Calls a tool of a contract: {"<as>": [{"id", "text", "<sourceField>", "<scoreField>", '
  '"<citationField>", "provenance"}], "provenance"}, under the names its retrieve node gives (as '
  'chunks, source, score, citation unless given), cut to its rag''s maxContext in code points, and '
  'records nothing. Where its retriever declares a reranker, rerank_scores is what that gave to '
  'the rows of ragdb.tool_candidates, {"chunk_id": score}. Raises what ragdb.search raises, RG400, '
  'RG415, RG417, RG423, RG441, and RG445 where required citations or evidence are missing.';

create or replace function ragdb.retrieve_tool(
  tool text, arguments jsonb default '{}', query_embedding float8[] default null,
    client text default null,
  otel_trace_id text default null, otel_span_id text default null, rerank_scores jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding := ragdb._open_tool(tool);
  v_query text := ragdb._tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb._open_retriever(v_tool.retriever, null);
  v_depth integer := ragdb._tool_depth(v_tool, v_settings, rerank_scores);
  v_hits ragdb.hit[];
  v_ids text[];
  v_reranks ragdb.retrieval_reranks[] := '{}';
begin
  v_hits := array(
    select row(h.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page,
      h.start_offset, h.end_offset, h.text,
      h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank, h.semantic_rank,
        h.bm25, h.coverage, h.content_hash,
      h.metadata, h.mode, h.is_exact)::ragdb.hit
    from ragdb._retrieve(v_settings.corpus, v_query, v_depth, v_settings.mode, v_tool.min_score,
      query_embedding => query_embedding,
      client => client, otel_trace_id => otel_trace_id, otel_span_id => otel_span_id,
      retriever => (v_tool.retriever).name, rag => v_tool.rag) h);
  if v_settings.reranker is not null then
    v_ids := array(select h.chunk_id from unnest(v_hits) h order by h.rank);
    v_reranks := ragdb._record_rerank(ragdb._open_trace(ragdb.last_trace_id()), v_settings.reranker,
      v_ids,
      ragdb._scores(rerank_scores, v_ids), v_tool.k);
  end if;
  return ragdb._tool_output(v_tool, ragdb._open_corpus(v_settings.corpus, 'read'), v_hits,
    ragdb.last_trace_id(), v_reranks);
end $$;
comment on function ragdb.retrieve_tool(text, jsonb, float8[], text, text, text, jsonb) is
  'Calls a tool of a contract as ragdb.search_tool does and records the trace, with the reranking, '
  'whose id is in the provenance; client, otel_trace_id and otel_span_id are those of '
  'ragdb.retrieve. Raises what ragdb.search_tool and ragdb.retrieve raise.';

create or replace function ragdb.tool_candidates(tool text, arguments jsonb default '{}',
  query_embedding float8[] default null)
returns table (reranker text, query text, chunk_id text, passage text)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding := ragdb._open_tool(tool);
  v_query text := ragdb._tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb._open_retriever(v_tool.retriever, null);
begin
  if v_settings.reranker is null then
    return;
  end if;
  return query
    select v_settings.reranker, v_query, h.chunk_id,
      ragdb._searched_text(h.title, h.heading, h.text)
    from ragdb.search(v_settings.corpus, v_query, ragdb._tool_depth(v_tool, v_settings, '{}'),
      v_settings.mode, v_tool.min_score,
      query_embedding => tool_candidates.query_embedding) h;
end $$;
comment on function ragdb.tool_candidates(text, jsonb, float8[]) is
  'Returns what a reranker has to score for a call of a tool: its name, the query, and the chunks '
  'found (four times topK, at most 1000) with the passages to give it; nothing when the retriever '
  'declares none. Raises what ragdb.search_tool raises.';
