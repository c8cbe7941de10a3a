-- The beginning and the end of a run: what it is a run of, and the verdict over all its cases. What
-- is vacuous fails.

-- Returns the sha256 (hex) of the cids of the documents of a corpus and its parts, in order.
create or replace function ragdb_internal.documents_hash(corpus_id integer) returns text
language sql stable parallel safe
return (
  select pg_catalog.encode(pg_catalog.sha256(ragdb_internal.utf8(
    coalesce(pg_catalog.string_agg(d.doc_cid, E'\n' order by d.doc_cid), ''))), 'hex')
  from ragdb.documents d where d.corpus_id = any (
    ragdb_internal.with_parts(documents_hash.corpus_id)));

-- Returns the sha256 (hex) of the labels of the cases of an eval that have one of the tags (null:
-- all). The number of a label is not part of it. Labels are hashed, as those of
-- ragdb_internal.eval_cases are.
create or replace function ragdb_internal.labels_hash(corpus_id integer,
  declared ragdb.contract_nodes, tags text[]) returns text
language sql stable parallel safe
set enable_nestloop = off
return (
  select pg_catalog.encode(pg_catalog.sha256(ragdb_internal.utf8(
    coalesce(pg_catalog.string_agg(t.label, E'\n' order by t.label collate "C"), ''))), 'hex')
  from ragdb.eval_labels l
    join ragdb.eval_cases c on c.corpus_id = l.corpus_id and c.rag = l.rag and c.eval = l.eval
      and c.name = l.name
    cross join lateral (select row(l.name, l.source, l.start_offset, l.end_offset, l.grade,
      pg_catalog.encode(l.span_hash, 'hex'))::text) t (label)
  where l.corpus_id = labels_hash.corpus_id and l.rag = (declared).rag
    and l.eval = (declared).name and (labels_hash.tags is null or c.tags && labels_hash.tags));

-- Returns a run that begins now and has nothing yet.
create or replace function ragdb_internal.new_run(setting ragdb_internal.eval_setting, tags text[],
  label text) returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  v_run.corpus_id := (setting.corpus).corpus_id;
  v_run.run_id := ragdb_internal.uuid7(ragdb_internal.now());
  v_run.created_at := ragdb_internal.uuid_time(v_run.run_id);
  v_run.corpus := (setting.corpus).name;
  v_run.corpus_version := (setting.corpus).version;
  v_run.documents_hash := ragdb_internal.documents_hash(v_run.corpus_id);
  v_run.labels_hash := ragdb_internal.labels_hash(v_run.corpus_id, setting.eval, tags);
  v_run.contract := (setting.rag).contract;
  v_run.contract_version := (setting.rag).version;
  v_run.rag := (setting.rag).name;
  v_run.eval := (setting.eval).name;
  v_run.retriever := (setting.retriever).name;
  v_run.rank_mode := (setting.settings).mode;
  v_run.top_k := (setting.settings).k;
  v_run.min_score := (setting.settings).min_score;
  v_run.embedding_model := case when ragdb_internal.uses_embeddings(v_run.rank_mode)
    then (setting.settings).embedding_model end;
  v_run.ranking_hash := ragdb_internal.ranking_hash(setting.corpus);
  v_run.reranker := (setting.settings).reranker;
  v_run.semantics_version := 1;
  v_run.label := label;
  v_run.tags := tags;
  v_run.metric := setting.metric;
  v_run.threshold := setting.threshold;
  v_run.cases := 0;
  v_run.passed_cases := 0;
  v_run.assertions := 0;
  v_run.passed_assertions := 0;
  v_run.stale_labels := 0;
  v_run.status := 'empty';
  v_run.reasons := '{}';
  v_run.elapsed_ms := 0;
  v_run.caller := ragdb_internal.caller();
  return v_run;
end $$;

-- Writes the metrics of a run, case 0: sums and means of what its cases have. All is hashed: the
-- statistics know nothing of this run, and the planner would read its metrics again for each case.
create or replace function ragdb_internal.insert_run_metrics(run ragdb.eval_runs) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
begin
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, 0, 'hit_rate', avg(r.passed::integer)
    from ragdb.eval_assert_results r
    where r.corpus_id = run.corpus_id and r.run_id = run.run_id
      and ragdb_internal.counts_as_hit(r.kind, r.code, r.expected)
    having count(*) > 0
    union all
    select run.corpus_id, run.run_id, 0, 'citation_coverage',
      coalesce(sum(round(m.value * c.hits)) / nullif(sum(c.hits), 0), 0)
    from ragdb.eval_case_results c
      left join ragdb.eval_metrics m on m.corpus_id = c.corpus_id and m.run_id = c.run_id
        and m.case_no = c.case_no and m.metric = 'citation_coverage'
    where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case'
    union all
    select run.corpus_id, run.run_id, 0, m.metric,
      case m.metric when 'min_relevance' then min(m.value)
        else ragdb_internal.mean(array_agg(m.value)) end
    from ragdb.eval_metrics m
    where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no > 0
      and m.metric not in ('hit_rate', 'citation_coverage')
    group by m.metric;
end $$;

-- Returns a run with its counts of cases, assertions and stale labels, and the value of its metric.
create or replace function ragdb_internal.counted_run(run ragdb.eval_runs) returns ragdb.eval_runs
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  select count(*), count(*) filter (where c.status = 'passed'), coalesce(sum(c.stale_labels), 0)
    into run.cases, run.passed_cases, run.stale_labels
    from ragdb.eval_case_results c where c.corpus_id = run.corpus_id and c.run_id = run.run_id;
  select count(*), count(*) filter (where r.passed) into run.assertions, run.passed_assertions
    from ragdb.eval_assert_results r where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  select m.value into run.metric_value from ragdb.eval_metrics m
    where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no = 0
      and m.metric = run.metric;
  return run;
end $$;

-- Says that a metric is below its threshold: to four digits, or to all where these reach it.
create or replace function ragdb_internal.below_threshold(metric text, value float8,
  threshold float8) returns text
language sql stable parallel safe
return (
  select pg_catalog.format('%s is %s, below %s', below_threshold.metric,
    case when r.four < below_threshold.threshold::numeric then r.four::text
      else ragdb_internal.shown(below_threshold.value) end,
    ragdb_internal.shown(below_threshold.threshold))
  from (select pg_catalog.round(below_threshold.value::numeric, 4) as four) r);

-- Returns why a run fails by its metric; null when it does not.
create or replace function ragdb_internal.metric_reason(run ragdb.eval_runs) returns text
language sql stable parallel safe
return case
  when (run).threshold <= 0 then 'threshold 0 cannot be missed'
  when (run).threshold is not null and (run).metric_value is null
    then pg_catalog.format('%s could not be measured', (run).metric)
  when (run).metric_value < (run).threshold
    then ragdb_internal.below_threshold((run).metric, (run).metric_value, (run).threshold)
end;

-- Returns why a run could not fail; null when it could.
create or replace function ragdb_internal.vacuous_reason(run ragdb.eval_runs) returns text
language sql stable parallel safe
return case
  when (run).threshold is not null then null
  when (run).assertions = 0
    then 'nothing is asserted: no case has an assertion, and no metric a threshold'
  when not exists (select from ragdb.eval_assert_results r
      where r.corpus_id = (run).corpus_id and r.run_id = (run).run_id and r.required)
    then 'nothing is required: every assertion is advisory, and no metric has a threshold'
end;

-- Returns why a run with cases fails beyond those of them that fail.
create or replace function ragdb_internal.run_reasons(run ragdb.eval_runs) returns text[]
language sql stable parallel safe
return pg_catalog.array_remove(array[
  ragdb_internal.metric_reason(run),
  ragdb_internal.vacuous_reason(run),
  case when exists (select from ragdb.corpora c
      where c.corpus_id = (run).corpus_id and ragdb_internal.version_of(c) <> (run).corpus_version)
    and ragdb_internal.documents_hash((run).corpus_id) <> (run).documents_hash
    then 'the documents changed while it ran' end,
  case when (run).stale_labels > 0 and not exists (select from ragdb.eval_case_results c
      where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
        and c.labels > c.stale_labels)
    then 'all labels are stale' end], null);

-- Writes the metrics and the verdict of a run whose cases are written: what is vacuous fails.
create or replace function ragdb_internal.close_run(run ragdb.eval_runs, started timestamptz)
  returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.renew_statistics('{ragdb.eval_runs,ragdb.eval_case_results,'
    'ragdb.eval_assert_results,ragdb.eval_items,ragdb.eval_metrics}');
  perform ragdb_internal.insert_run_metrics(run);
  run := ragdb_internal.counted_run(run);
  if exists (select from ragdb.eval_case_results c
    where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case')
  then
    run.reasons := ragdb_internal.run_reasons(run);
    run.status := case when run.passed_cases = run.cases and run.reasons = '{}' then 'passed'
      else 'failed' end;
  else
    run.reasons := array[case when run.tags is null then 'the eval has no case'
      else 'no case has the tag ' || array_to_string(run.tags, ' or ') end];
    run.status := 'empty';
  end if;
  run.elapsed_ms := ragdb_internal.ms_since(started);
  update ragdb.eval_runs r
    set (metric_value, cases, passed_cases, assertions, passed_assertions, stale_labels, status,
        reasons, elapsed_ms)
      = (run.metric_value, run.cases, run.passed_cases, run.assertions, run.passed_assertions,
        run.stale_labels, run.status, run.reasons, run.elapsed_ms)
    where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  perform ragdb_internal.note('run', run.corpus_id || '/' || run.run_id);
  return run;
end $$;
