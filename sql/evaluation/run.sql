-- Evaluation: cases and labels, runs through the contract's retriever, metrics.

-- Writes what a batch of cases amounts to: outcomes, items, metrics.
create or replace function ragdb_internal.write_cases(
  run ragdb.eval_runs, retrieved ragdb_internal.eval_retrieval[], assertions ragdb_internal.eval_assertion[],
    labels ragdb_internal.eval_label[], names text[], tags jsonb, depth integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cases ragdb_internal.eval_case[] := array(select (r).outcome from unnest(retrieved) r);
  v_hits ragdb_internal.eval_hit[] := array(select h from unnest(retrieved) r
    cross join lateral unnest((r).hits) h);
  v_labels ragdb_internal.eval_label[] := ragdb_internal.resolved_labels(run.corpus_id, labels);
  v_items ragdb_internal.eval_item[] := array(select i
    from ragdb_internal.label_items(run.corpus_id, v_hits, v_labels) i);
  v_grades jsonb := ragdb_internal.label_grades(v_labels);
  v_results ragdb_internal.eval_assert_result[] := array(select r
    from ragdb_internal.assert_results(v_cases, v_hits, v_items, v_grades, assertions) r)
    || array(select r from ragdb_internal.label_results(v_labels) r);
begin
  insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status,
    trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
    select run.corpus_id, run.run_id, c.case_no, 'case', names[c.n], c.query,
      array(select t from jsonb_array_elements_text(tags -> c.n::integer - 1) t),
      case when o.is_error then 'error' when o.fails then 'failed' else 'passed' end, c.trace_id,
        c.elapsed_ms, c.error_code,
      coalesce(h.n, 0), coalesce(l.n, 0), coalesce(l.stale, 0)
    from unnest(v_cases)
      with ordinality c (case_no, fact_id, query, elapsed_ms, trace_id, error_code, error, answer,
        n)
      left join (select r.case_no, bool_or(r.code not in ('PASS', 'ASSERTION_FAIL')) as is_error,
        bool_or(ragdb_internal.fails_case(r)) as fails
        from unnest(v_results) r group by 1) o on o.case_no = c.case_no
      left join (select x.case_no, count(*) as n from unnest(v_hits) x group by 1) h
        on h.case_no = c.case_no
      left join (select x.case_no, count(*) as n, count(*) filter (where x.is_stale) as stale
        from unnest(v_labels) x group by 1) l on l.case_no = c.case_no;
  insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
    passed, code, message, expected, actual)
    select run.corpus_id, run.run_id, r.case_no,
      row_number() over (partition by r.case_no order by r.n), r.kind, r.required, r.passed, r.code,
      r.message, r.expected, r.actual
    from unnest(v_results)
      with ordinality r (case_no, assert_no, kind, required, passed, code, message, expected,
        actual, n);
  insert into ragdb.eval_items (corpus_id, run_id, case_no, rank, item, grade)
    select run.corpus_id, run.run_id, i.case_no, i.rank, i.item, i.grade from unnest(v_items) i;
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, m.case_no, m.metric, m.value
    from ragdb_internal.case_measures(v_cases, v_hits, v_items, v_grades, v_results, depth) m
      where m.value is not null;
end $$;
comment on function ragdb_internal.write_cases(ragdb.eval_runs, ragdb_internal.eval_retrieval[],
  ragdb_internal.eval_assertion[], ragdb_internal.eval_label[], text[], jsonb, integer) is
  'Evaluates some retrieved cases of a run and writes their outcomes.';

create or replace function ragdb.run_eval(
  rag text, eval text default null, tags text[] default null, label text default null,
    rerank_scores jsonb default null)
returns ragdb.eval_runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_setting ragdb_internal.eval_setting := ragdb_internal.eval_setting(rag, eval, rerank_scores);
  v_run ragdb.eval_runs := ragdb_internal.new_run(v_setting, tags, label);
  v_depth integer := nullif(split_part(v_setting.metric, '@', 2), '')::integer;
  v_case record;
  v_answer ragdb.contract_nodes;
  v_answers jsonb := '{}';
  v_retrieved ragdb_internal.eval_retrieval;
  v_batch ragdb_internal.eval_retrieval[] := '{}';
  v_nos integer[] := '{}';
  v_expected jsonb[] := '{}';
  v_asserts jsonb[] := '{}';
  v_imported boolean[] := '{}';
  v_names text[] := '{}';
  v_tags jsonb := '[]';
  v_case_no integer := 0;
  v_result jsonb;
begin
  perform ragdb_internal.check_rerank_scores(v_setting);
  perform ragdb_internal.lock_eval(v_run.corpus_id, v_setting.eval, false);
  insert into ragdb.eval_runs select v_run.*;
  -- answers first: cases of the same query may assert something of them
  for v_answer in
    select n.* from ragdb.contract_nodes n
    where n.contract = v_run.contract and n.version = v_run.contract_version
      and n.node = 'ragAnswerContract' and n.rag = v_run.rag order by n.node_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb_internal.retrieve_case(v_setting, v_case_no, v_answer.name,
      v_answer.keys ->> 'query', null, null, null, null);
    v_result := ragdb.evaluate_answer(ragdb_internal.answer_contract(v_answer, null),
      case when (v_retrieved.outcome).error is null
      then ragdb_internal.rag_context(v_answer.keys ->> 'query', v_retrieved.hits, v_setting.max_context)
        else jsonb_build_object('error', (v_retrieved.outcome).error) end);
    v_answers := v_answers || jsonb_build_object(v_answer.keys ->> 'query', v_result);
    insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags,
      status, trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'answer', v_answer.name,
        v_answer.keys ->> 'query', '{}',
        case when (v_result ->> 'passed')::boolean then 'passed'
          when (v_retrieved.outcome).error is not null then 'error' else 'failed' end,
        (v_retrieved.outcome).trace_id, (v_retrieved.outcome).elapsed_ms,
          (v_retrieved.outcome).error_code, cardinality(v_retrieved.hits), 0, 0);
    insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
      passed, code, message, expected, actual)
      select v_run.corpus_id, v_run.run_id, v_case_no, d.n, d.kind, true, d.code = 'PASS', d.code,
        d.message, v_answer.keys -> 'minGroundingCoverage', v_result -> 'groundingCoverage'
      from (
        select 1 as n, 'answer' as kind, 'PASS' as code,
          format('answer is %s', v_result ->> 'status') as message
          where (v_result ->> 'passed')::boolean
        union all
        select x.n, x.d ->> 'code',
          case x.d ->> 'code' when 'RETRIEVER_ERROR' then 'RETRIEVER_ERROR'
          else 'ASSERTION_FAIL' end,
          (x.d ->> 'message') || coalesce(' (span ' || (x.d ->> 'spanIndex') || ')', '')
        from jsonb_array_elements(v_result -> 'diagnostics') with ordinality x (d, n)) d;
    insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'faithfulness',
        (v_result ->> 'groundingCoverage')::float8);
  end loop;
  for v_case in
    select c.*, count(*) over () as total
      from ragdb_internal.eval_cases(v_setting.eval, v_run.corpus_id, tags) c order by c.case_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb_internal.retrieve_case(v_setting, v_case_no, v_case.name, v_case.query, v_case.k,
      v_case.min_score, v_case.anchor, v_case.policy);
    v_retrieved.outcome.answer := v_answers -> v_case.query;
    v_batch := v_batch || v_retrieved;
    v_nos := v_nos || v_case_no;
    v_expected := v_expected || v_case.expected;
    v_asserts := v_asserts || v_case.asserts;
    v_imported := v_imported || v_case.is_imported;
    v_names := v_names || v_case.name;
    v_tags := v_tags || jsonb_build_array(to_jsonb(v_case.tags));
    -- appending copies the array
    if cardinality(v_batch) = 100 or v_case.case_no = v_case.total then
      perform ragdb_internal.write_cases(v_run, v_batch,
        array(select a from unnest(v_nos, v_expected, v_asserts) c (case_no, expected, asserts)
          cross join lateral ragdb_internal.typed_assertions(c.case_no, c.expected, c.asserts) a),
        array(select l from unnest(v_nos, v_names, v_expected, v_imported) c (case_no, name,
          expected, is_imported)
          cross join lateral ragdb_internal.case_labels(v_setting.eval, v_run.corpus_id, c.case_no, c.name,
            c.expected, c.is_imported) l),
        v_names, v_tags, v_depth);
      v_batch := '{}';
      v_nos := '{}';
      v_expected := '{}';
      v_asserts := '{}';
      v_imported := '{}';
      v_names := '{}';
      v_tags := '[]';
    end if;
  end loop;
  return ragdb_internal.close_run(v_run, v_started);
end $$;
comment on function ragdb.run_eval(text, text, text[], text, jsonb) is
  'Runs the cases of an eval (the only one of the rag unless named; those with one of the tags, '
  'all when null) and the answer contracts of its rag through the rag''s retriever, each retrieval '
  'recorded, and returns the run with its verdict. A case whose retriever raises has '
  'RETRIEVER_ERROR and the others go on. Where the retriever declares a reranker, rerank_scores is '
  'what that gave to the rows of ragdb.eval_candidates: {"query": {"chunk_id": score}}. Raises '
  'RG404, RG415, RG417, RG441, RG442.';
