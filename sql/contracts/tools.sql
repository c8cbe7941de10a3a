-- Calls of the tools of contracts: each retrieve node is a function from arguments to JSON, with
-- the fields that it names. `ragdb mcp` serves them; psql can call them too.

-- Definer: contracts are granted to nobody; the right to the corpus is checked.
create or replace function ragdb.search_tool(
  tool text, arguments jsonb default '{}', query_embedding float8[] default null,
  rerank_scores jsonb default null)
returns jsonb
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_tool ragdb_internal.tool_binding := ragdb_internal.open_tool(tool);
  v_query text := ragdb_internal.tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb_internal.open_retriever(v_tool.retriever);
  v_depth integer := ragdb_internal.tool_depth(v_tool, v_settings, rerank_scores);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_settings.corpus, 'read', true);
  v_hits ragdb.hit[] := array(
    select h from ragdb.search(v_settings.corpus, v_query, v_depth, v_settings.mode,
      v_tool.min_score, query_embedding => search_tool.query_embedding) h);
  v_ids text[] := array(select h.chunk_id from unnest(v_hits) h order by h.rank);
  v_reranks ragdb.retrieval_reranks[] := '{}';
begin
  if v_settings.reranker is not null then
    v_reranks := ragdb_internal.reranked(null,
      ragdb_internal.hit_rows(null, v_hits), v_settings.reranker, v_ids,
      ragdb_internal.scores(rerank_scores, v_ids), v_tool.k);
  end if;
  return ragdb_internal.tool_output(v_tool, v_corpus, v_hits, null, v_reranks);
end $$;
comment on function ragdb.search_tool is
  'Calls a tool of a contract: {"<as>": [{"id", "text", "<sourceField>", "<scoreField>", '
  '"<citationField>", "provenance"}], "provenance"}, under the names that its retrieve node gives '
  '(chunks, source, score and citation unless it gives others), cut to its rag''s maxContext in '
  'code points, and records nothing. Where its retriever declares a reranker, rerank_scores is '
  'what that gave to the rows of ragdb.tool_candidates, {"chunk_id": score}. Raises what '
  'ragdb.search raises, RG400, RG415, RG417, RG423, RG441, and RG445 where required citations or '
  'evidence are missing.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve_tool(
  tool text, arguments jsonb default '{}', query_embedding float8[] default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  rerank_scores jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_tool ragdb_internal.tool_binding := ragdb_internal.open_tool(tool);
  v_query text := ragdb_internal.tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb_internal.open_retriever(v_tool.retriever);
  v_depth integer := ragdb_internal.tool_depth(v_tool, v_settings, rerank_scores);
  v_hits ragdb.hit[];
  v_ids text[];
  v_reranks ragdb.retrieval_reranks[] := '{}';
  v_trace ragdb.retrieval_traces;
begin
  v_hits := array(
    select ragdb_internal.plain_hit(h)
    from ragdb_internal.retrieve_traced(v_settings.corpus, v_query, v_depth, v_settings.mode,
      v_tool.min_score, query_embedding => query_embedding,
      asker => ragdb_internal.call_context(client, otel_trace_id, otel_span_id,
        (v_tool.retriever).name, v_tool.rag)) h);
  v_trace := ragdb_internal.open_trace(ragdb.last_trace_id());
  if v_settings.reranker is not null then
    v_ids := array(select h.chunk_id from unnest(v_hits) h order by h.rank);
    v_reranks := ragdb_internal.insert_rerank(v_trace, v_settings.reranker, v_ids,
      ragdb_internal.scores(rerank_scores, v_ids), v_tool.k);
  end if;
  return ragdb_internal.tool_output(v_tool,
    ragdb_internal.open_corpus(v_settings.corpus, 'read', true), v_hits, v_trace, v_reranks);
end $$;
comment on function ragdb.retrieve_tool is
  'Calls a tool of a contract as ragdb.search_tool does and records the trace, with the reranking; '
  'the id of the trace is in the provenance. client, otel_trace_id and otel_span_id are those of '
  'ragdb.retrieve. Raises what ragdb.search_tool and ragdb.retrieve raise.';

-- Definer: contracts are granted to nobody; the right to the corpus is checked.
create or replace function ragdb.tool_candidates(tool text, arguments jsonb default '{}',
  query_embedding float8[] default null)
returns table (reranker text, query text, chunk_id text, passage text)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb_internal.tool_binding := ragdb_internal.open_tool(tool);
  v_query text := ragdb_internal.tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb_internal.open_retriever(v_tool.retriever);
begin
  if v_settings.reranker is null then
    return;
  end if;
  return query
    select v_settings.reranker, v_query, h.chunk_id,
      ragdb_internal.searched_text(h.title, h.heading, h.text)
    from ragdb.search(v_settings.corpus, v_query,
      ragdb_internal.tool_depth(v_tool, v_settings, '{}'), v_settings.mode, v_tool.min_score,
      query_embedding => tool_candidates.query_embedding) h;
end $$;
comment on function ragdb.tool_candidates is
  'Returns what a reranker has to score for a call of a tool: its name, the query, and the chunks '
  'found (four times topK, at most 1000) with the passages to give it; nothing when the retriever '
  'does not declare one. Raises what ragdb.search_tool raises.';
