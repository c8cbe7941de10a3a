-- The kinds of assertion that need a trace.

-- Whether a trace has an admissibility token that verifies.
create or replace function ragdb_internal.has_valid_token(trace ragdb.retrieval_traces)
  returns boolean
language sql stable
return (trace).admissibility_token is not null and (
  select v.valid
  from ragdb.verify_token((trace).corpus, (trace).admissibility_token, (trace).slice_id,
    (trace).anchor_chunk_id, (trace).policy_id, (trace).policy_params_hash,
    (trace).graph_snapshot_hash, (trace).schema_version) v);

-- Whether there are chunks, and all are in that stored slice of the corpus of a trace.
create or replace function ragdb_internal.are_in_slice(trace ragdb.retrieval_traces, slice_id text,
  chunk_ids text[]) returns boolean
language sql stable parallel safe
return are_in_slice.chunk_ids <> '{}' and exists (
  select from ragdb.slices s
  where s.corpus_id = (trace).corpus_id and s.slice_id = are_in_slice.slice_id
    and are_in_slice.chunk_ids <@ s.chunk_ids);

-- Tests an assertion that needs a trace.
create or replace function ragdb_internal.assert_trace(kind text, value text, query text,
  trace_id uuid, chunk_ids text[]) returns ragdb_internal.assertion_outcome
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id);
  v_holds boolean;
  v_actual text;
  v_gate jsonb;
begin
  case kind
    when 'withinSlice' then
      v_holds := ragdb_internal.are_in_slice(v_trace, value, chunk_ids);
      v_actual := v_trace.slice_id;
    when 'admissible' then
      return row(coalesce(v_trace.is_admissible, false), to_jsonb(v_trace.is_admissible));
    when 'tokenValid' then
      v_holds := ragdb_internal.has_valid_token(v_trace);
      v_actual := case when v_trace.admissibility_token is null then 'no token' else 'a token' end;
    when 'policyEq' then
      v_holds := v_trace.policy_id = value;
      v_actual := v_trace.policy_id;
    when 'noShortfall' then
      v_holds := not v_trace.admissibility_shortfall;
      v_actual := coalesce(v_trace.shortfall_reason, 'none');
    when 'embeddingModelEq' then
      v_holds := v_trace.embedding_model = value;
      v_actual := v_trace.embedding_model;
    when 'resultHashEq' then
      v_holds := v_trace.result_hash = value;
      v_actual := v_trace.result_hash;
    when 'replayMatches' then
      select r.verdict = 'exact', r.verdict into v_holds, v_actual from ragdb.replay(trace_id) r;
    when 'enoughContext' then
      v_gate := ragdb.rag_enough_context_gate(query, ragdb.build_evidence_pack(trace_id));
      return row((v_gate ->> 'enough')::boolean, v_gate);
  end case;
  return row(coalesce(v_holds, false), to_jsonb(v_actual));
end $$;
