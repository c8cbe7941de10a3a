create or replace function ragdb_internal.tool_input_schema(tool ragdb_internal.tool_binding) returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object('type', 'object', 'additionalProperties', false,
    'properties', coalesce(pg_catalog.jsonb_object_agg(p.name,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'type', 'string', 'description', p.keys ->> 'description')))
        filter (where p.name is not null), '{}'),
    'required', coalesce(pg_catalog.jsonb_agg(p.name order by p.node_no)
      filter (where ragdb_internal.is_required_param(tool, p)), '[]'))
  from ragdb_internal.tool_params(tool) p);
comment on function ragdb_internal.tool_input_schema(ragdb_internal.tool_binding) is
  'Returns the JSON schema of the arguments of a tool.';

create or replace function ragdb_internal.tool_output_schema(tool ragdb_internal.tool_binding) returns jsonb
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
comment on function ragdb_internal.tool_output_schema(ragdb_internal.tool_binding) is
  'Returns the JSON schema of what a tool returns.';

create or replace function ragdb.list_tools()
returns table (name text, kind text, title text, description text, input_schema jsonb,
  output_schema jsonb, query text, query_param text,
  corpus text, mode text, contract text, contract_version integer, reranker text)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.kind, t.title, t.description, ragdb_internal.tool_input_schema(t),
    ragdb_internal.tool_output_schema(t), t.query, t.query_param,
    t.corpus, t.mode, t.contract, t.contract_version,
      (ragdb_internal.retriever_settings(t.retriever)).reranker
  from ragdb_internal.tool_bindings() t order by t.name;
end;
comment on function ragdb.list_tools() is
  'Lists the tools and prompts (kind) of the contracts in force that have a retrieve and whose '
  'corpus the caller may read: JSON schemas of arguments and output, the fixed query or the '
  'argument that is the query, corpus and mode searched, and the reranker (null for none).';

-- What was retrieved, under the names that the contract gives: as much as the rag's maxContext lets
-- in, cited where citations are required, and each chunk with what it can be checked by.
create or replace function ragdb_internal.tool_output(tool ragdb_internal.tool_binding, corpus ragdb.corpora,
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
    raise exception 'tool % found nothing', ragdb_internal.quote(tool.name)
      using errcode = 'RG445', detail = 'requireGrounding is true, and no chunk of corpus '
        || ragdb_internal.quote(tool.corpus) || ' answers the query',
            hint = 'ask in other words, or lower minScore in contract ' || tool.contract;
  end if;
  select h.chunk_id into v_uncited from unnest(v_given) h
    where tool.require_citations
      and not ragdb_internal.is_cited(coalesce(h.citation, jsonb_build_object('uri', h.source)))
      order by h.rank limit 1;
  if found then
    raise exception 'chunk % has no citation', ragdb_internal.quote(v_uncited)
      using errcode = 'RG445', detail = 'tool ' || ragdb_internal.quote(tool.name)
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
    'ranking_hash', ragdb_internal.ranking_hash(corpus),
    'result_hash', ragdb_internal.result_hash(array(
      select row(corpus.corpus_id, null, null, h.rank, h.chunk_id, decode(h.content_hash, 'hex'),
        h.score, h.lexical_score,
        h.semantic_score, h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
          from unnest(hits) h)),
    'trace_id', trace_id)));
end $$;
comment on function ragdb_internal.tool_output(ragdb_internal.tool_binding, ragdb.corpora, ragdb.hit[], uuid,
  ragdb.retrieval_reranks[]) is
  'Returns retrieved chunks as a tool does, in the order of their reranking where there is one, '
  'with their provenance. Raises RG445.';
