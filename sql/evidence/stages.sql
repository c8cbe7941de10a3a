-- What came of a recorded retrieval, in the order of time.

-- Answers and gates are found by their time, because nothing else of them is in an index: who
-- answers does so within the hour.
create or replace function ragdb.trace_stages(trace_id uuid)
returns table (stage text, at timestamptz, elapsed_ms float8, detail text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace constant ragdb.retrieval_traces :=
    ragdb_internal.open_trace(trace_stages.trace_id, is_audit => true);
  v_until constant timestamptz := v_trace.created_at + interval '1 hour';
begin
  return query
    select e.stage, v_trace.created_at, (v_trace.stages ->> e.stage)::float8, e.detail
      from unnest(array['embed', 'semantic', 'lexical', 'fuse'], array['the question',
        'the leg by meaning', 'the leg by words', 'both legs into one order'])
        with ordinality e (stage, detail, n)
      where v_trace.stages ? e.stage order by e.n;
  return query
    select s.stage, s.at, case when s.stage = 'search' then v_trace.elapsed_ms
        else 1000 * extract(epoch from s.at - v_trace.created_at)::float8 end, s.detail
      from (
        select 'search' as stage, v_trace.created_at as at, coalesce(v_trace.error_code,
          ragdb_internal.counted(v_trace.limit_returned, 'hit')) as detail
        union all
        select 'rerank', r.recorded_at, r.model from ragdb.trace_reranks(v_trace.id) r
          where r.rank = 1
        union all
        select 'gate', g.created_at, case when g.is_enough then 'enough' else 'not enough' end
          from ragdb.evidence_gates g
          where g.corpus_id = v_trace.corpus_id and g.trace_id = v_trace.id
            and g.created_at >= v_trace.created_at and g.created_at < v_until
        union all
        select 'answer', a.created_at, case when a.is_insufficient then 'not enough evidence'
            when a.is_verified then ragdb_internal.counted(a.citations, 'valid citation')
            else ragdb_internal.counted(a.problems, 'problem') end
          from ragdb.evidence_answers a
          where a.corpus_id = v_trace.corpus_id and a.trace_id = v_trace.id
            and a.created_at >= v_trace.created_at and a.created_at < v_until) s
      order by s.at, array_position(array['search', 'rerank', 'gate', 'answer'], s.stage);
end $$;
comment on function ragdb.trace_stages is
  'Returns what came of a recorded retrieval within an hour, in order: the stages of the search '
  'that ran in the database, embed, semantic, lexical and fuse, then the whole search (elapsed_ms '
  'is how long each took), then rerank, gate and answer (elapsed_ms counts from the end of the '
  'search), these with what they said in detail. Raises RG400, RG407.';
