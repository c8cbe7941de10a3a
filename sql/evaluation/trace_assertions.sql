create or replace function ragdb_internal.assert_trace(kind text, value text, trace_id uuid,
  chunk_ids text[], out passed boolean, out actual jsonb)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null then
    return;
  end if;
  v_trace := ragdb_internal.open_trace(trace_id);
  case kind
    when 'withinSlice' then
      passed := chunk_ids <> '{}' and exists (select from ragdb.slices s
        where s.corpus_id = v_trace.corpus_id and s.slice_id = assert_trace.value
          and assert_trace.chunk_ids <@ s.chunk_ids);
      actual := to_jsonb(v_trace.slice_id);
    when 'admissible' then
      passed := v_trace.is_admissible;
      actual := to_jsonb(v_trace.is_admissible);
    when 'tokenValid' then
      passed := v_trace.admissibility_token is not null
        and (select v.valid
          from ragdb.verify_token(v_trace.corpus, v_trace.admissibility_token, v_trace.slice_id,
          v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash,
            v_trace.graph_snapshot_hash,
          v_trace.schema_version) v);
      actual := to_jsonb(case when v_trace.admissibility_token is null then 'no token'
        else 'a token' end);
    when 'policyEq' then
      passed := v_trace.policy_id = value;
      actual := to_jsonb(v_trace.policy_id);
    when 'noShortfall' then
      passed := not v_trace.admissibility_shortfall;
      actual := to_jsonb(coalesce(v_trace.shortfall_reason, 'none'));
    when 'embeddingModelEq' then
      passed := v_trace.embedding_model = value;
      actual := to_jsonb(v_trace.embedding_model);
    when 'resultHashEq' then
      passed := v_trace.result_hash = value;
      actual := to_jsonb(v_trace.result_hash);
    when 'replayMatches' then
      select r.verdict = 'exact', to_jsonb(r.verdict) into passed,
        actual from ragdb.replay(trace_id) r;
  end case;
  passed := coalesce(passed, false);
end $$;
comment on function ragdb_internal.assert_trace(text, text, uuid, text[]) is
  'Whether a trace has what an assertion that needs one asks for, and what it has; null without a '
  'trace.';
