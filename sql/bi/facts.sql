-- Facts of evidence, answers, feedback, evaluations and promotions: a row per thing that happened.

create or replace view bi.fact_gate with (security_barrier = true) as
select g.id::text as gate_id, g.created_at, (g.created_at at time zone 'UTC')::date as day,
    g.corpus_id::bigint as corpus_id, c.corpus,
    g.trace_id::text as trace_id,
    case when c.sees_all then g.query_hash end as query_hash,
    case when c.sees_all then g.pack_hash end as pack_hash, g.is_enough, g.chunks as pack_chunks,
    g.min_chunks, g.best_score, g.min_score, g.min_score_by, g.rank_mode,
    g.terms,
    g.coverage as term_coverage_ratio,
    g.min_coverage as min_term_coverage_ratio,
    case when c.shows_queries and c.sees_all
      then pg_catalog.array_to_string(g.missing_terms, ', ') end as missing_terms,
    g.client, g.caller
from ragdb.evidence_gates g join bi.readable_corpora() c on c.corpus_id = g.corpus_id;
comment on view bi.fact_gate is 'One row per decision whether evidence is enough for a question.';

create or replace view bi.fact_answer with (security_barrier = true) as
select a.id::text as answer_id, a.created_at, (a.created_at at time zone 'UTC')::date as day,
    a.corpus_id::bigint as corpus_id, c.corpus,
    a.trace_id::text as trace_id, case when c.sees_all then a.pack_hash end as pack_hash,
    case when c.sees_all then a.answer_hash end as answer_hash, a.is_insufficient, a.is_verified,
    a.citations, a.problems, a.task, a.model, a.attempt, a.elapsed_ms, a.input_tokens,
    a.output_tokens, a.client, a.caller
from ragdb.evidence_answers a join bi.readable_corpora() c on c.corpus_id = a.corpus_id;
comment on view bi.fact_answer is 'One row per recorded answer, or attempt at one.';

-- A comment may quote the question, so it is shown to whom the question is.
create or replace view bi.fact_feedback with (security_barrier = true) as
select f.id::text as feedback_id, f.created_at, (f.created_at at time zone 'UTC')::date as day,
    f.corpus_id::bigint as corpus_id, c.corpus, f.trace_id::text as trace_id,
    f.answer_id::text as answer_id, f.chunk_id, f.corpus_id || ':' || k.doc_no as source_id,
    f.verdict, f.verdict = 'good' as is_good,
    pg_catalog.row_number() over (
      partition by f.corpus_id, f.caller, f.trace_id, f.answer_id, f.chunk_id
      order by f.created_at desc, f.id desc) = 1 as is_latest,
    case when c.sees_all or f.caller = c.role and f.caller_oid = c.role_oid then f.comment end
      as comment, f.client, f.caller
from ragdb.evidence_feedback f join bi.readable_corpora() c on c.corpus_id = f.corpus_id
  left join ragdb.chunks k on k.corpus_id = f.corpus_id and k.chunk_id = f.chunk_id;
comment on view bi.fact_feedback is
  'One row per verdict of a person on a retrieval, a hit or an answer; is_latest is that which '
  'counts.';

create or replace view bi.fact_citation with (security_barrier = true) as
select x.answer_id::text as answer_id, x.created_at, (x.created_at at time zone 'UTC')::date as day,
    x.corpus_id::bigint as corpus_id, c.corpus,
    x.row_no, x.citation as citation_no, x.code, x.code is null as is_sound, x.is_advisory,
    x.source_id as source, x.corpus_id || ':' || k.doc_no as source_id, x.chunk_id, x.method,
    x.similarity, case when c.sees_all then x.start_offset end as start_offset,
    case when c.sees_all then x.end_offset end as end_offset, x.unit as offset_unit
from ragdb.answer_citations x join bi.readable_corpora() c on c.corpus_id = x.corpus_id
  left join ragdb.chunks k on k.corpus_id = x.corpus_id and k.chunk_id = x.chunk_id;
comment on view bi.fact_citation is
  'One row per citation of an answer that is sound, and one per thing that is wrong with a '
  'citation or with the answer as a whole.';

create or replace view bi.fact_case_result with (security_barrier = true) as
select x.run_id::text as run_id, r.created_at, (r.created_at at time zone 'UTC')::date as day,
    x.corpus_id::bigint as corpus_id, c.corpus, r.rag,
    r.eval,
    x.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    x.case_no, x.kind, x.name as case_name,
    case when c.shows_queries then x.query end as query_text,
    pg_catalog.array_to_string(x.tags, ',') as tags, x.status, x.status = 'passed' as is_passed,
    x.trace_id::text as trace_id, x.elapsed_ms, x.error_code, x.hits as returned_hits, x.labels,
    x.stale_labels
from ragdb.eval_case_results x
  join ragdb.eval_runs r on r.corpus_id = x.corpus_id and r.run_id = x.run_id
  join bi.readable_corpora() c on c.corpus_id = x.corpus_id;
comment on view bi.fact_case_result is 'One row per case of an evaluation run.';

create or replace view bi.fact_assertion with (security_barrier = true) as
select a.run_id::text as run_id, r.created_at, (r.created_at at time zone 'UTC')::date as day,
    a.corpus_id::bigint as corpus_id, c.corpus, r.rag,
    r.eval,
    a.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    a.case_no, x.name as case_name, a.assert_no, a.kind as assertion_kind,
    a.required as is_required, a.passed as is_passed, a.code, a.message,
    a.expected #>> '{}' as expected, a.actual #>> '{}' as actual
from ragdb.eval_assert_results a
  join ragdb.eval_case_results x on x.corpus_id = a.corpus_id and x.run_id = a.run_id
    and x.case_no = a.case_no
  join ragdb.eval_runs r on r.corpus_id = a.corpus_id and r.run_id = a.run_id
  join bi.readable_corpora() c on c.corpus_id = a.corpus_id;
comment on view bi.fact_assertion is 'One row per assertion that was evaluated.';

create or replace view bi.fact_eval_metric with (security_barrier = true) as
select m.run_id::text as run_id, r.created_at, (r.created_at at time zone 'UTC')::date as day,
    m.corpus_id::bigint as corpus_id, c.corpus, r.rag, r.eval,
    m.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    m.case_no, m.metric, m.value
from ragdb.eval_metrics m
  join ragdb.eval_runs r on r.corpus_id = m.corpus_id and r.run_id = m.run_id
  join ragdb.eval_case_results x on x.corpus_id = m.corpus_id and x.run_id = m.run_id
    and x.case_no = m.case_no
  join bi.readable_corpora() c on c.corpus_id = m.corpus_id;
comment on view bi.fact_eval_metric is 'One row per metric of a case of an evaluation run.';

create or replace view bi.fact_run_metric with (security_barrier = true) as
select m.run_id::text as run_id, r.created_at, (r.created_at at time zone 'UTC')::date as day,
    m.corpus_id::bigint as corpus_id, c.corpus, r.rag, r.eval, m.metric, m.value
from ragdb.eval_metrics m
  join ragdb.eval_runs r on r.corpus_id = m.corpus_id and r.run_id = m.run_id
  join bi.readable_corpora() c on c.corpus_id = m.corpus_id
where m.case_no = 0;
comment on view bi.fact_run_metric is 'One row per metric of a whole evaluation run.';

create or replace view bi.fact_incident with (security_barrier = true) as
select i.incident_id::text as incident_id, i.created_at,
    (i.created_at at time zone 'UTC')::date as day, i.corpus_id::bigint as corpus_id, c.corpus,
    i.kind, i.severity, i.trace_id::text as trace_id, i.caller, i.reason
from ragdb.admissibility_incidents i join bi.readable_corpora() c on c.corpus_id = i.corpus_id;
comment on view bi.fact_incident is 'One row per refused promotion of evidence.';
