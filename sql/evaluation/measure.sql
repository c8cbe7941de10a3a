-- Finding nothing where nothing is expected is no hit.
create or replace function ragdb_internal.counts_as_hit(kind text, code text, expected jsonb)
  returns boolean
language sql immutable parallel safe
return code in ('PASS', 'ASSERTION_FAIL')
  and kind in ('expected.minScore', 'expected.chunkCount', 'expected.sources', 'scoreGte',
    'scoreLte', 'contains',
    'sourceEq', 'sourceGlob', 'uniqueSourcesGte', 'chunkCountEq', 'chunkHash')
  and not (kind in ('expected.chunkCount', 'chunkCountEq', 'uniqueSourcesGte')
    and expected #>> '{}' = '0');
comment on function ragdb_internal.counts_as_hit(text, text, jsonb) is
  'Tells whether the outcome of an assertion is part of the hit rate.';

-- Case 0 is the run. The hit rate and the grounding are KERN's; the rank metrics those of
-- trec_eval.
create or replace function ragdb_internal.case_measures(
  cases ragdb_internal.eval_case[], hits ragdb_internal.eval_hit[], items ragdb_internal.eval_item[], grades jsonb,
    results ragdb_internal.eval_assert_result[], depth integer)
returns setof ragdb_internal.eval_measure
language sql stable parallel safe
begin atomic
  with r as materialized (select u.* from pg_catalog.unnest(results) u),
  h as materialized (select u.case_no, u.score, ragdb_internal.is_cited(u.citation) as is_cited
    from pg_catalog.unnest(hits) u),
  ranked as materialized (
    select c.case_no, array(select g.v::integer
      from pg_catalog.jsonb_array_elements_text(grades -> c.case_no::text) with ordinality g (v, n)
      order by g.n) as grades,
      coalesce(i.items, '{}') as items
    from pg_catalog.unnest(cases) c
      left join (select u.case_no, pg_catalog.array_agg(u order by u.rank) as items
        from pg_catalog.unnest(items) u group by u.case_no) i on i.case_no = c.case_no
    where c.error is null and grades ? c.case_no::text
  )
  select r.case_no, 'hit_rate', pg_catalog.avg(r.passed::integer)::float8 from r
    where ragdb_internal.counts_as_hit(r.kind, r.code, r.expected) group by r.case_no
  union all select h.case_no, 'citation_coverage', pg_catalog.avg(h.is_cited::integer)::float8
    from h group by h.case_no
  union all select h.case_no, 'min_relevance', pg_catalog.min(h.score) from h group by h.case_no
  union all select r.case_no, 'grounding', pg_catalog.bool_and(r.passed)::integer::float8 from r
    where r.kind = 'citesRequired' group by r.case_no
  union all
  select k.case_no, m.metric || case when m.k < 1000000 then '@' || m.k else '' end,
    ragdb_internal.rank_metric(m.metric, m.k, k.items, k.grades)
  from ranked k cross join (
    select x.metric, d.k
      from pg_catalog.unnest(array['recall', 'precision', 'ndcg', 'judged']) x (metric)
      cross join (select distinct v.k
        from (values (5), (10), (coalesce(case_measures.depth, 10))) v (k)) d
    union all select x.metric, 1000000 from pg_catalog.unnest(array['mrr', 'map']) x (metric)) m
  where pg_catalog.jsonb_path_exists(pg_catalog.to_jsonb(k.grades), '$[*] ? (@ > 0)');
end;
comment on function ragdb_internal.case_measures(ragdb_internal.eval_case[], ragdb_internal.eval_hit[], ragdb_internal.eval_item[],
  jsonb, ragdb_internal.eval_assert_result[], integer) is
  'Returns the metrics of some cases; the rank metrics at 5, 10 and depth where a case has a '
  'label.';

create or replace function ragdb_internal.documents_hash(corpus_id integer) returns text
language sql stable parallel safe
return (select pg_catalog.encode(
  pg_catalog.sha256(ragdb_internal.utf8(coalesce(pg_catalog.string_agg(d.doc_cid, E'\n' order by d.doc_cid),
    ''))), 'hex')
  from ragdb.documents d where d.corpus_id = documents_hash.corpus_id);
comment on function ragdb_internal.documents_hash(integer) is
  'Returns the sha256 (hex) of the cids of a corpus''s documents, in order.';

-- The run as a whole: sums and means of what its cases have, and the gate.
create or replace function ragdb_internal.close_run(run ragdb.eval_runs, started timestamptz)
  returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_failed integer;
begin
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, 0, 'hit_rate', avg(r.passed::integer)
      from ragdb.eval_assert_results r
      where r.corpus_id = run.corpus_id and r.run_id = run.run_id
        and ragdb_internal.counts_as_hit(r.kind, r.code, r.expected)
      having count(*) > 0
    union all
    select run.corpus_id, run.run_id, 0, 'citation_coverage',
      coalesce(sum(m.value * c.hits) / nullif(sum(c.hits), 0), 0)
      from ragdb.eval_case_results c left join ragdb.eval_metrics m on m.corpus_id = c.corpus_id
        and m.run_id = c.run_id and m.case_no = c.case_no and m.metric = 'citation_coverage'
      where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case'
    union all
    select run.corpus_id, run.run_id, 0, m.metric,
      case m.metric when 'min_relevance' then min(m.value) else avg(m.value order by m.case_no) end
      from ragdb.eval_metrics m where m.corpus_id = run.corpus_id and m.run_id = run.run_id
        and m.case_no > 0
        and m.metric not in ('hit_rate', 'citation_coverage')
      group by m.metric;
  select count(*), count(*) filter (where c.status = 'passed'), coalesce(sum(c.stale_labels), 0)
    into run.cases, run.passed_cases, run.stale_labels
    from ragdb.eval_case_results c where c.corpus_id = run.corpus_id and c.run_id = run.run_id;
  select count(*), count(*) filter (where r.passed) into run.assertions, run.passed_assertions
    from ragdb.eval_assert_results r where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  select m.value into run.metric_value from ragdb.eval_metrics m
    where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no = 0
      and m.metric = run.metric;
  if run.cases = 0 or not exists (select from ragdb.eval_case_results c
    where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case') then
    run.reasons := run.reasons || case when run.tags is null then 'the eval has no case'
      else 'no case has the tag ' || array_to_string(run.tags, ' or ') end;
    run.status := 'empty';
  else
    if run.threshold is not null and run.threshold <= 0 then
      run.reasons := run.reasons || 'threshold 0 cannot be missed'::text;
    elsif run.threshold is not null and run.metric_value is null then
      run.reasons := run.reasons || format('%s could not be measured', run.metric);
    elsif run.metric_value < run.threshold then
      run.reasons := run.reasons || format('%s is %s, below %s', run.metric,
        round(run.metric_value::numeric, 4), ragdb_internal.shown(run.threshold));
    end if;
    if run.assertions = 0 and run.threshold is null then
      run.reasons := run.reasons
        || 'nothing is asserted: no case has an assertion, and no metric a threshold'::text;
    elsif run.threshold is null and not exists (select from ragdb.eval_assert_results r
        where r.corpus_id = run.corpus_id and r.run_id = run.run_id and r.required) then
      run.reasons := run.reasons
        || 'nothing is required: every assertion is advisory, and no metric has a threshold'::text;
    end if;
    if exists (select from ragdb.corpora c where c.corpus_id = run.corpus_id
      and c.version <> run.corpus_version)
      and ragdb_internal.documents_hash(run.corpus_id) <> run.documents_hash
    then
      run.reasons := run.reasons || 'the documents changed while it ran'::text;
    end if;
    if run.stale_labels > 0 and not exists (select from ragdb.eval_case_results c
        where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.labels > c.stale_labels)
          then
      run.reasons := run.reasons || 'all labels are stale'::text;
    end if;
    run.status := case when run.passed_cases = run.cases and run.reasons = '{}' then 'passed'
      else 'failed' end;
  end if;
  run.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - started)::float8;
  update ragdb.eval_runs r
    set (metric_value, cases, passed_cases, assertions, passed_assertions, stale_labels, status,
      reasons, elapsed_ms)
    = (run.metric_value, run.cases, run.passed_cases, run.assertions, run.passed_assertions,
      run.stale_labels, run.status, run.reasons, run.elapsed_ms)
    where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  return run;
end $$;
comment on function ragdb_internal.close_run(ragdb.eval_runs, timestamptz) is
  'Writes the metrics and the verdict of a run whose cases are written: what is vacuous fails.';

create or replace function ragdb_internal.new_run(setting ragdb_internal.eval_setting, tags text[], label text)
  returns ragdb.eval_runs
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
comment on function ragdb_internal.new_run(ragdb_internal.eval_setting, text[], text) is
  'Returns a run that begins now and has nothing yet.';
