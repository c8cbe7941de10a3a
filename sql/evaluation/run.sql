-- Runs of evals: every case, and the answer contracts of the rag, through the contract's retriever.

-- Writes what became of some cases of a run.
create or replace function ragdb_internal.insert_case_results(run ragdb.eval_runs,
  cases ragdb_internal.run_case[], labels ragdb_internal.eval_label[],
  results ragdb_internal.eval_assert_result[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status,
    trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
    select run.corpus_id, run.run_id, c.case_no, 'case', c.name, ((c.retrieved).outcome).query,
      c.tags, case when o.is_error then 'error' when o.fails then 'failed' else 'passed' end,
      ((c.retrieved).outcome).trace_id, ((c.retrieved).outcome).elapsed_ms,
      ((c.retrieved).outcome).error_code, cardinality((c.retrieved).hits),
      coalesce(l.n, 0), coalesce(l.stale, 0)
    from unnest(cases) c
      left join (
        select r.case_no, bool_or(r.code not in ('PASS', 'ASSERTION_FAIL')) as is_error,
          bool_or(ragdb_internal.fails_case(r)) as fails
        from unnest(results) r group by 1) o on o.case_no = c.case_no
      left join (
        select x.case_no, count(*) as n, count(*) filter (where x.is_stale) as stale
        from unnest(insert_case_results.labels) x group by 1) l on l.case_no = c.case_no;
end $$;

-- Evaluates some retrieved cases of a run and writes their outcomes, items and metrics. Its plans
-- are kept: to make them takes longer than to evaluate a few cases.
create or replace function ragdb_internal.write_cases(run ragdb.eval_runs,
  eval ragdb.contract_nodes, cases ragdb_internal.run_case[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_cases ragdb_internal.eval_case[] := array(select (c.retrieved).outcome from unnest(cases) c);
  v_hits ragdb_internal.eval_hit[] := array(
    select h from unnest(cases) c cross join lateral unnest((c.retrieved).hits) h);
  v_assertions ragdb_internal.eval_assertion[] := array(
    select a from unnest(cases) c
      cross join lateral ragdb_internal.typed_assertions(c.case_no, c.expected, c.asserts) a);
  v_labels ragdb_internal.eval_label[] := ragdb_internal.resolved_labels(run.corpus_id, array(
    select l from unnest(cases) c
      cross join lateral ragdb_internal.case_labels(write_cases.eval, run.corpus_id, c.case_no,
        c.name) l));
  v_items ragdb_internal.eval_item[] := array(
    select i from ragdb_internal.label_items(run.corpus_id, v_hits, v_labels) i);
  v_grades jsonb := ragdb_internal.label_grades(v_labels);
  v_results ragdb_internal.eval_assert_result[] := array(
    select r
    from ragdb_internal.assert_results(v_cases, v_hits, v_items, v_grades, v_assertions) r)
    || array(select r from ragdb_internal.label_results(v_labels) r);
begin
  perform ragdb_internal.insert_case_results(run, cases, v_labels, v_results);
  insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
    passed, code, message, expected, actual)
    select run.corpus_id, run.run_id, r.case_no,
      row_number() over (partition by r.case_no order by r.ordinality), r.kind, r.required,
      r.passed, r.code, r.message, r.expected, r.actual
    from unnest(v_results) with ordinality r;
  insert into ragdb.eval_items (corpus_id, run_id, case_no, rank, item, grade)
    select run.corpus_id, run.run_id, i.case_no, i.rank, i.item, i.grade from unnest(v_items) i;
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, m.case_no, m.metric, m.value
    from (
      select c.* from ragdb_internal.case_measures(v_cases, v_hits, v_items, v_grades, v_results,
        run.metric) c
      offset 0) m -- a measure is made once
    where m.value is not null;
end $$;

-- Writes what an answer contract of a run came to.
create or replace function ragdb_internal.insert_answer_results(run ragdb.eval_runs,
  case_no integer, declared ragdb.contract_nodes, result jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
    passed, code, message, expected, actual)
    select run.corpus_id, run.run_id, insert_answer_results.case_no, d.n, d.kind, true,
      d.code = 'PASS', d.code, d.message, declared.keys -> 'minGroundingCoverage',
      result -> 'groundingCoverage'
    from (
      select 1 as n, 'answer' as kind, 'PASS' as code,
        format('answer is %s', result ->> 'status') as message
      where (result ->> 'passed')::boolean
      union all
      select x.n, x.d ->> 'code',
        case x.d ->> 'code' when 'RETRIEVER_ERROR' then 'RETRIEVER_ERROR'
          else 'ASSERTION_FAIL' end,
        (x.d ->> 'message') || coalesce(' (span ' || (x.d ->> 'spanIndex') || ')', '')
      from jsonb_array_elements(result -> 'diagnostics') with ordinality x (d, n)) d;
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    values (run.corpus_id, run.run_id, insert_answer_results.case_no, 'faithfulness',
      (result ->> 'groundingCoverage')::float8);
end $$;

-- Retrieves for an answer contract, evaluates it, writes the outcome and returns it.
create or replace function ragdb_internal.run_answer(run ragdb.eval_runs,
  setting ragdb_internal.eval_setting, case_no integer, declared ragdb.contract_nodes)
  returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_query constant text := declared.keys ->> 'query';
  v_retrieved constant ragdb_internal.eval_retrieval := ragdb_internal.retrieve_case(setting,
    case_no, declared.name, v_query, null, null, null, null);
  v_error constant text := (v_retrieved.outcome).error;
  v_result jsonb;
begin
  v_result := ragdb.evaluate_answer(ragdb_internal.answer_contract(declared),
    case when v_error is null
      then ragdb_internal.rag_context(v_query, v_retrieved.hits, setting.max_context)
      else jsonb_build_object('error', v_error) end);
  insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status,
    trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
    values (run.corpus_id, run.run_id, run_answer.case_no, 'answer', declared.name, v_query, '{}',
      case when (v_result ->> 'passed')::boolean then 'passed'
        when v_error is not null then 'error' else 'failed' end,
      (v_retrieved.outcome).trace_id, (v_retrieved.outcome).elapsed_ms,
      (v_retrieved.outcome).error_code, cardinality(v_retrieved.hits), 0, 0);
  perform ragdb_internal.insert_answer_results(run, case_no, declared, v_result);
  return v_result;
end $$;

-- Runs the answer contracts of the rag of a run, as its first cases, and returns their outcomes by
-- query, and how many there are.
create or replace function ragdb_internal.run_answers(run ragdb.eval_runs,
  setting ragdb_internal.eval_setting, out answers jsonb, out count integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_declared ragdb.contract_nodes;
begin
  answers := '{}';
  count := 0;
  for v_declared in
    select n.* from ragdb.contract_nodes n
    where n.contract = run.contract and n.version = run.contract_version
      and n.node = 'ragAnswerContract' and n.rag = run.rag
    order by n.node_no
  loop
    count := count + 1;
    answers := answers || jsonb_build_object(v_declared.keys ->> 'query',
      ragdb_internal.run_answer(run, setting, count, v_declared));
  end loop;
end $$;

-- Answers first: cases of the same query may assert something of them. Cases are written in batches
-- of a hundred, because appending to an array copies it.
create or replace function ragdb.run_eval(
  rag text, eval text default null, tags text[] default null, label text default null,
  rerank_scores jsonb default null)
returns ragdb.eval_runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_setting constant ragdb_internal.eval_setting :=
    ragdb_internal.locked_setting(rag, eval, rerank_scores);
  v_run constant ragdb.eval_runs := ragdb_internal.new_run(v_setting, tags, label);
  v_answered record;
  v_case record;
  v_case_no integer;
  v_retrieved ragdb_internal.eval_retrieval;
  v_batch ragdb_internal.run_case[] := '{}';
begin
  perform ragdb_internal.check_rerank_scores(v_setting);
  insert into ragdb.eval_runs select v_run.*;
  v_answered := ragdb_internal.run_answers(v_run, v_setting);
  for v_case in
    select c.*, count(*) over () as total
    from ragdb_internal.eval_cases(v_setting.eval, v_run.corpus_id, tags) c order by c.case_no
  loop
    v_case_no := v_answered.count + v_case.case_no;
    v_retrieved := ragdb_internal.retrieve_case(v_setting, v_case_no, v_case.name, v_case.query,
      v_case.k, v_case.min_score, v_case.anchor, v_case.policy);
    v_retrieved.outcome.answer := v_answered.answers -> v_case.query;
    v_batch := v_batch || row(v_case_no, v_case.name, v_case.tags, v_case.expected, v_case.asserts,
      v_retrieved)::ragdb_internal.run_case;
    if cardinality(v_batch) = 100 or v_case.case_no = v_case.total then
      perform ragdb_internal.write_cases(v_run, v_setting.eval, v_batch);
      v_batch := '{}';
    end if;
  end loop;
  return ragdb_internal.close_run(v_run, v_started);
end $$;
comment on function ragdb.run_eval is
  'Runs the cases of an eval (the only one of the rag unless named; those with one of the tags, '
  'all when null) and the answer contracts of its rag through the rag''s retriever, each retrieval '
  'recorded, and returns the run with its verdict. A case whose retriever raises has '
  'RETRIEVER_ERROR and the others go on. Where the retriever declares a reranker, rerank_scores is '
  'what that gave to the rows of ragdb.eval_candidates: {"query": {"chunk_id": score}}. Raises '
  'RG404, RG415, RG417, RG441, RG442.';
