-- Retrieves for a case as the contract's retriever does, each retrieval recorded, and reranks.

-- Records the reranking of a case's retrieval and returns the k best hits. A score for each hit, or
-- an error; then the k best. Raises RG423.
create or replace function ragdb_internal.rerank_case(setting ragdb_internal.eval_setting,
  trace_id uuid, query text, hits ragdb_internal.eval_hit[], k integer)
returns ragdb_internal.eval_hit[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scores jsonb := setting.rerank_scores -> query;
  v_ids text[] := array(select h.chunk_id from unnest(hits) h order by h.rank);
  v_reranks ragdb.retrieval_reranks[] := ragdb_internal.insert_rerank(
    ragdb_internal.open_trace(trace_id), (setting.settings).reranker, v_ids,
    ragdb_internal.scores(coalesce(v_scores, '{}'), v_ids), k);
begin
  return array(
    select row(h.case_no, r.rank, h.chunk_id, h.source, h.text, h.citation, h.score, h.content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset)::ragdb_internal.eval_hit
    from unnest(v_reranks) r join unnest(hits) h on h.chunk_id = r.chunk_id
    where r.is_returned order by r.rank);
end $$;

-- Retrieves for a case from the whole corpus, best first, leaving a trace.
create or replace function ragdb_internal.global_hits(setting ragdb_internal.eval_setting,
  case_no integer, query text, k integer, min_score float8) returns ragdb_internal.eval_hit[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(global_hits.case_no, h.rank, h.chunk_id, h.source, h.text,
      h.citation, h.score, h.content_hash, c.token_count, h.doc_cid, h.start_offset,
      h.end_offset)::ragdb_internal.eval_hit
    from ragdb_internal.retrieve_traced((setting.settings).corpus, query, k,
        (setting.settings).mode, min_score,
        asker => ragdb_internal.call_context('ragdb eval',
          retriever => (setting.retriever).name, rag => (setting.rag).name)) h
      left join lateral ragdb_internal.chunk_of(
        (setting.corpus).corpus_id, h.chunk_id) c on true
    order by h.rank);
end $$;

-- Retrieves for a case from the slice around its anchor, best first, leaving a trace.
create or replace function ragdb_internal.slice_hits(setting ragdb_internal.eval_setting,
  case_no integer, query text, k integer, min_score float8, anchor text, policy text)
  returns ragdb_internal.eval_hit[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(slice_hits.case_no, h.rank, h.chunk_id, h.source, h.text,
      h.citation, h.score, h.content_hash, c.token_count, d.doc_cid, c.start_offset,
      c.end_offset)::ragdb_internal.eval_hit
    from ragdb.retrieve_slice((setting.settings).corpus, query, anchor => slice_hits.anchor,
        policy => ragdb_internal.policy_reference(slice_hits.policy), k => slice_hits.k,
        mode => (setting.settings).mode, min_score => slice_hits.min_score,
        client => 'ragdb eval') h
      left join lateral ragdb_internal.chunk_of(
        (setting.corpus).corpus_id, h.chunk_id) c on true
      left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
    order by h.rank);
end $$;

-- Retrieves for a case through the retriever of a run, and reranks, leaving a trace; a retriever
-- that raises is noted, not raised. Named conditions only: a deadlock or a full disk is not a
-- verdict on a retriever.
create or replace function ragdb_internal.retrieve_case(
  setting ragdb_internal.eval_setting, case_no integer, name text, query text, k integer,
  min_score float8, anchor text, policy text)
returns ragdb_internal.eval_retrieval
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome ragdb_internal.eval_case;
  v_hits ragdb_internal.eval_hit[];
  v_k constant integer := coalesce(k, (setting.settings).k);
  v_depth constant integer := case when (setting.settings).reranker is null then v_k
    else ragdb.rerank_depth(v_k) end;
  v_min_score constant float8 := coalesce(min_score, (setting.settings).min_score);
begin
  v_outcome.case_no := case_no;
  v_outcome.query := query;
  v_outcome.fact_id := concat_ws(':', (setting.rag).name, (setting.eval).name, name);
  begin
    if anchor is null then
      v_hits := ragdb_internal.global_hits(setting, case_no, query, v_depth, v_min_score);
    else
      v_hits := ragdb_internal.slice_hits(setting, case_no, query, v_depth, v_min_score, anchor,
        policy);
    end if;
    v_outcome.trace_id := ragdb.last_trace_id();
    v_outcome.elapsed_ms := (ragdb_internal.open_trace(v_outcome.trace_id)).elapsed_ms;
    if (setting.settings).reranker is not null then
      v_hits := ragdb_internal.rerank_case(setting, v_outcome.trace_id, query, v_hits, v_k);
    end if;
  exception when sqlstate 'RG000' or data_exception then
    v_hits := '{}';
    v_outcome.trace_id := null;
    v_outcome.error_code := sqlstate;
    v_outcome.error := format('RAG eval case ''%s'' retriever failed: %s.', name, sqlerrm);
  end;
  return row(v_outcome, v_hits)::ragdb_internal.eval_retrieval;
end $$;
