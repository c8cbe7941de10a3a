-- What a tool returns: the retrieved chunks under the names that its contract gives, as much of
-- them as the rag's maxContext lets in, and what each can be checked by.

-- A hit as a tool returns it, with its rank and score after a reranking where there is one.
create type ragdb_internal.returned_hit as (
  rank integer, hit ragdb.hit, rerank_score float8);

-- Returns the hits that a tool returns, in their order.
create or replace function ragdb_internal.returned_hits(hits ragdb.hit[],
  reranks ragdb.retrieval_reranks[])
returns ragdb_internal.returned_hit[]
language sql immutable parallel safe
return array(
  select row(coalesce(r.rank, h.rank), h, r.score)::ragdb_internal.returned_hit
  from pg_catalog.unnest(hits) h
    left join pg_catalog.unnest(reranks) r on r.chunk_id = h.chunk_id
  where reranks = '{}' or r.is_returned order by coalesce(r.rank, h.rank));

-- Refuses what a tool found where its contract requires a chunk, or a citation of every chunk.
-- Raises RG445.
create or replace function ragdb_internal.check_tool_evidence(tool ragdb_internal.tool_binding,
  returned ragdb_internal.returned_hit[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_uncited text;
begin
  if tool.require_grounding and returned = '{}' then
    raise exception 'tool % found nothing', ragdb_internal.quote(tool.name)
      using errcode = 'RG445',
        detail = 'requireGrounding is true, and no chunk of corpus '
          || ragdb_internal.quote(tool.corpus) || ' answers the query',
        hint = 'ask in other words, or lower minScore in contract ' || tool.contract;
  end if;
  select (u.hit).chunk_id into v_uncited from unnest(returned) u
    where tool.require_citations and not ragdb_internal.is_cited((u.hit).citation)
    order by u.rank limit 1;
  if found then
    raise exception 'chunk % has no citation', ragdb_internal.quote(v_uncited)
      using errcode = 'RG445',
        detail = 'tool ' || ragdb_internal.quote(tool.name)
          || ' requires one of every chunk that it returns',
        hint = 'a citation has a uri or a locator that is not blank: correct it in the chunk''s '
          'source';
  end if;
end $$;

-- Returns the chunks of a call of a tool as JSON, each with its provenance, cut to maxContext.
create or replace function ragdb_internal.tool_chunks(tool ragdb_internal.tool_binding,
  returned ragdb_internal.returned_hit[])
returns jsonb
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
    'id', (u.hit).chunk_id, 'text', t.text, (tool).source_field, (u.hit).source,
    (tool).score_field, (u.hit).score, (tool).citation_field, (u.hit).citation,
    'provenance', pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'rank', u.rank, 'doc_cid', (u.hit).doc_cid, 'title', (u.hit).title, 'page', (u.hit).page,
      'start_offset', (u.hit).start_offset, 'end_offset', (u.hit).end_offset,
      'content_hash', (u.hit).content_hash, 'lexical_score', (u.hit).lexical_score,
      'semantic_score', (u.hit).semantic_score, 'rerank_score', u.rerank_score,
      'is_cut', case when t.is_cut then true end))) order by t.n), '[]')
  from pg_catalog.unnest(returned) with ordinality
      u (rank, hit, rerank_score, n)
    join ragdb_internal.within_context(
      array(select (o.hit).text from pg_catalog.unnest(returned) with ordinality
        o (rank, hit, rerank_score, n) order by o.n),
      (tool).max_context) t on t.n = u.n);

-- Returns by what contract, corpus and ranking a call of a tool was answered, on record or not
-- (null). The corpus may have been written to since it was searched: its trace knows what it was
-- then.
create or replace function ragdb_internal.tool_provenance(tool ragdb_internal.tool_binding,
  corpus ragdb.corpora, hits ragdb.hit[], retrieved integer, reranks ragdb.retrieval_reranks[],
  trace ragdb.retrieval_traces)
returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'tool', (tool).name, 'contract', (tool).contract, 'contract_version', (tool).contract_version,
  'rag', (tool).rag, 'retriever', ((tool).retriever).name, 'corpus', (corpus).name,
  'corpus_version', coalesce((trace).corpus_version, (corpus).version),
  'mode', (tool).mode, 'top_k', (tool).k, 'min_score', (tool).min_score,
  'max_context', (tool).max_context, 'retrieved', retrieved,
  'reranker', reranks[1].model, 'reranked', nullif(pg_catalog.cardinality(reranks), 0),
  'ranking_hash', coalesce((trace).ranking_hash, ragdb_internal.ranking_hash(corpus)),
  'result_hash', ragdb_internal.result_hash(ragdb_internal.hit_rows(null, hits)),
  'trace_id', (trace).id));

-- Returns what a call of a tool returns: the chunks found, in the order of their reranking where
-- there is one, and their provenance. Raises RG445.
create or replace function ragdb_internal.tool_output(tool ragdb_internal.tool_binding,
  corpus ragdb.corpora, hits ragdb.hit[], trace ragdb.retrieval_traces,
  reranks ragdb.retrieval_reranks[])
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_returned ragdb_internal.returned_hit[] := ragdb_internal.returned_hits(hits, reranks);
begin
  perform ragdb_internal.check_tool_evidence(tool, v_returned);
  return jsonb_build_object(tool.result_field, ragdb_internal.tool_chunks(tool, v_returned),
    'provenance', ragdb_internal.tool_provenance(tool, corpus, hits, cardinality(v_returned),
      reranks, trace));
end $$;
