-- A retrieval that raised leaves a trace too: the caller's client records it after the rollback.

-- Refuses to record a failure without the SQLSTATE and the time of one, or under what cannot name a
-- slice. Raises RG400, RG413.
create or replace function ragdb_internal.check_failure(
  error_code text, elapsed_ms float8, slice_id text, anchor text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if error_code is null or error_code !~ '^[0-9A-Z]{5}$' or error_code = '00000' then
    raise exception 'error_code is %', ragdb_internal.quote(error_code)
      using errcode = 'RG400',
        detail = 'it is the SQLSTATE that the retrieval raised',
        hint = 'five digits and capital letters, such as RG410 or 57014';
  end if;
  if elapsed_ms is null or not (elapsed_ms >= 0 and elapsed_ms < 'infinity') then
    raise exception 'elapsed_ms is %', coalesce(elapsed_ms::text, 'null')
      using errcode = 'RG400',
        detail = 'it is the time until the retrieval failed',
        hint = 'give milliseconds, 0 or more';
  end if;
  if length(slice_id) > 200 or length(anchor) > 2000 then
    raise exception 'slice_id or anchor is too long'
      using errcode = 'RG413',
        detail = 'neither can be one',
        hint = 'give at most 200 characters of slice_id, 2000 of anchor';
  end if;
end $$;

create or replace function ragdb.record_failure(
  corpus text, query text, error_code text, elapsed_ms float8,
  k integer default null, mode text default null, min_score float8 default null,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  slice_id text default null, anchor text default null, policy jsonb default null)
returns uuid
language plpgsql security definer -- it writes tables that are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read', true);
  v_trace ragdb.retrieval_traces;
begin
  perform ragdb_internal.check_failure(error_code, elapsed_ms, slice_id, anchor);
  perform ragdb_internal.check_failure_quota();
  v_trace.retrieval_mode :=
    case when coalesce(slice_id, anchor) is null then 'global' else 'slice' end;
  v_trace.slice_id := slice_id;
  v_trace.anchor_chunk_id := anchor;
  if policy is not null then
    begin
      select p.policy_id, p.params_hash into v_trace.policy_id, v_trace.policy_params_hash
        from ragdb_internal.resolve_policy(policy) p;
    exception when sqlstate 'RG430' or sqlstate 'RG431' then
      null; -- what is not a policy cannot be recorded as one
    end;
  end if;
  -- what is not a mode cannot be recorded as one
  v_trace.rank_mode := case when mode = any (ragdb_internal.search_modes()) then mode end;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := false;
  v_trace.error_code := error_code;
  v_trace.elapsed_ms := elapsed_ms;
  return ragdb_internal.record_trace(v_corpus, query, v_trace, '{}',
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id));
end $$;
comment on function ragdb.record_failure is
  'Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms '
  'milliseconds, with the arguments it had (slice_id or anchor and policy for one under a slice), '
  'and returns its id; the caller''s client calls it after the rollback. Raises RG400, RG404, '
  'RG413, RG470.';
