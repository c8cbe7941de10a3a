-- What BI tools read: facts, dimensions and rollups as plain views. They run as their owner, since
-- nobody may touch the tables, and are security barriers: no condition of a query sees a row that
-- its role may not. Personal corpora are left out for everybody.

-- The one gate, once a query. bi_reader is no ragdb_reader, who may read documents: it sees what
-- was asked and found in the corpora that every reader may read, and in those that it was granted.
create or replace function bi.readable_corpora()
returns table (corpus_id integer, corpus text, shows_queries boolean)
language sql stable parallel safe security definer rows 20
begin atomic
  select c.corpus_id, c.name, c.record_query_text = 'full'
  from ragdb.corpora c
  where c.personal_of is null
    and (ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      or pg_catalog.pg_has_role(ragdb._caller(), 'bi_reader', 'usage')
        and not exists (select from ragdb.corpus_grants g where g.corpus_id = c.corpus_id));
end;
comment on function bi.readable_corpora() is
  'Returns the corpora whose retrievals the caller sees in the views of schema bi, and whether the '
  'text of queries may be shown.';

-- Facts

create or replace view bi.retrieval_traces with (security_barrier = true) as
select t.id::text as id, t.created_at, t.corpus, t.retriever, t.rag, t.retrieval_mode, t.rank_mode,
  case when c.shows_queries then t.query_text end as query_text, t.query_hash,
    t.query_embedding_hash,
  t.embedding_model, t.slice_id, t.anchor_chunk_id, t.slice_chunk_count, t.slice_edge_count,
    t.policy_id,
  t.policy_params_hash, t.schema_version, t.graph_snapshot_hash, t.admissibility_token,
    t.is_admissible,
  t.admissibility_shortfall, t.shortfall_reason, t.limit_requested, t.limit_returned, t.min_score,
  t.filters::text as filters, t.result_hash, t.corpus_version, t.is_exact, t.elapsed_ms,
    t.error_code, t.client,
  t.caller, t.otel_trace_id, t.otel_span_id, pg_catalog.encode(t.trace_hash, 'hex') as trace_hash,
  pg_catalog.encode(t.trace_mac, 'hex') as trace_mac
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id;
comment on view bi.retrieval_traces is
  'The table of traces under its own name and with its own columns, for tools that expect it. '
  'bi.fact_retrieval is easier to read.';

create or replace view bi.fact_retrieval with (security_barrier = true) as
select t.id::text as trace_id, t.created_at, t.corpus_id::bigint as corpus_id, c.corpus,
  t.retriever, t.rag,
  t.retrieval_mode, t.rank_mode, case when c.shows_queries then t.query_text end as query_text,
    t.query_hash,
  t.embedding_model, t.slice_id, t.anchor_chunk_id, t.policy_id, t.policy_params_hash,
    t.is_admissible,
  t.admissibility_shortfall as is_shortfall, t.shortfall_reason,
    t.error_code is not null as is_error, t.error_code,
  t.error_code is null and t.limit_returned = 0 as is_zero_result, t.is_exact,
    t.filters is not null as is_filtered,
  t.limit_requested as requested_hits, t.limit_returned as returned_hits,
  t.limit_returned::float8 / nullif(t.limit_requested, 0) as fill_ratio, t.min_score, t.elapsed_ms,
    t.corpus_version,
  t.client, t.caller, t.otel_trace_id, t.otel_span_id
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id;
comment on view bi.fact_retrieval is 'One row per retrieval, failed ones included.';

create or replace view bi.fact_retrieved_chunk with (security_barrier = true) as
select h.trace_id::text as trace_id, h.created_at, h.corpus_id::bigint as corpus_id, c.corpus,
  h.rank, h.chunk_id,
  h.corpus_id || ':' || k.doc_no as source_id, k.source, k.page,
    pg_catalog.encode(h.content_hash, 'hex') as content_hash,
  coalesce(k.content_hash = h.content_hash, false) as is_current, h.score, h.lexical_score,
    h.semantic_score,
  h.lexical_rank, h.semantic_rank, r.model as reranker, r.rank as rerank_rank,
    r.score as rerank_score,
  coalesce(r.is_returned, true) as is_returned
from ragdb.retrieval_hits h join bi.readable_corpora() c on c.corpus_id = h.corpus_id
  left join ragdb.retrieval_reranks r on r.corpus_id = h.corpus_id and r.trace_id = h.trace_id
    and r.created_at = h.created_at and r.chunk_id = h.chunk_id
  left join ragdb.chunks k on k.corpus_id = h.corpus_id and k.chunk_id = h.chunk_id;
comment on view bi.fact_retrieved_chunk is
  'One row per hit of a retrieval, in the order before reranking; where it was reranked, '
  'is_returned says which hits the caller was given.';

create or replace view bi.fact_gate with (security_barrier = true) as
select g.id::text as gate_id, g.created_at, g.corpus_id::bigint as corpus_id, c.corpus,
  g.trace_id::text as trace_id,
  g.query_hash, g.pack_hash, g.is_enough, g.chunks as pack_chunks, g.min_chunks, g.best_score,
    g.min_score, g.terms,
  g.coverage as term_coverage_ratio, g.min_coverage as min_term_coverage_ratio,
  case when c.shows_queries then pg_catalog.array_to_string(g.missing_terms, ', ') end as
    missing_terms, g.client, g.caller
from ragdb.evidence_gates g join bi.readable_corpora() c on c.corpus_id = g.corpus_id;
comment on view bi.fact_gate is 'One row per decision whether evidence is enough for a question.';

create or replace view bi.fact_answer with (security_barrier = true) as
select a.id::text as answer_id, a.created_at, a.corpus_id::bigint as corpus_id, c.corpus,
  a.trace_id::text as trace_id,
  a.pack_hash, a.answer_hash, a.is_insufficient, a.is_verified, a.citations, a.problems, a.task,
    a.model, a.attempt,
  a.client, a.caller
from ragdb.evidence_answers a join bi.readable_corpora() c on c.corpus_id = a.corpus_id;
comment on view bi.fact_answer is 'One row per recorded answer, or attempt at one.';

create or replace view bi.fact_citation with (security_barrier = true) as
select x.answer_id::text as answer_id, x.created_at, x.corpus_id::bigint as corpus_id, c.corpus,
  x.row_no,
  x.citation as citation_no, x.code, x.code is null as is_sound, x.is_advisory,
    x.source_id as source,
  x.corpus_id || ':' || k.doc_no as source_id, x.chunk_id, x.method, x.similarity, x.start_offset,
    x.end_offset,
  x.unit as offset_unit
from ragdb.answer_citations x join bi.readable_corpora() c on c.corpus_id = x.corpus_id
  left join ragdb.chunks k on k.corpus_id = x.corpus_id and k.chunk_id = x.chunk_id;
comment on view bi.fact_citation is
  'One row per citation of an answer that is sound, and one per thing that is wrong with a '
  'citation or with the answer as a whole.';

create or replace view bi.fact_case_result with (security_barrier = true) as
select x.run_id::text as run_id, r.created_at, x.corpus_id::bigint as corpus_id, c.corpus, r.rag,
  r.eval,
  x.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    x.case_no, x.kind,
  x.name as case_name, case when c.shows_queries then x.query end as query_text,
  pg_catalog.array_to_string(x.tags, ',') as tags, x.status, x.status = 'passed' as is_passed,
  x.trace_id::text as trace_id, x.elapsed_ms, x.error_code, x.hits as returned_hits, x.labels,
    x.stale_labels
from ragdb.eval_case_results x
  join ragdb.eval_runs r on r.corpus_id = x.corpus_id and r.run_id = x.run_id
  join bi.readable_corpora() c on c.corpus_id = x.corpus_id;
comment on view bi.fact_case_result is 'One row per case of an evaluation run.';

create or replace view bi.fact_assertion with (security_barrier = true) as
select a.run_id::text as run_id, r.created_at, a.corpus_id::bigint as corpus_id, c.corpus, r.rag,
  r.eval,
  a.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    a.case_no,
  x.name as case_name, a.assert_no, a.kind as assertion_kind, a.required as is_required,
    a.passed as is_passed, a.code,
  a.message, a.expected #>> '{}' as expected, a.actual #>> '{}' as actual
from ragdb.eval_assert_results a
  join ragdb.eval_case_results x on x.corpus_id = a.corpus_id and x.run_id = a.run_id
    and x.case_no = a.case_no
  join ragdb.eval_runs r on r.corpus_id = a.corpus_id and r.run_id = a.run_id
  join bi.readable_corpora() c on c.corpus_id = a.corpus_id;
comment on view bi.fact_assertion is 'One row per assertion that was evaluated.';

create or replace view bi.fact_eval_metric with (security_barrier = true) as
select m.run_id::text as run_id, r.created_at, m.corpus_id::bigint as corpus_id, c.corpus, r.rag,
  r.eval,
  m.corpus_id || ':' || r.rag || '/' || r.eval || '/' || x.kind || '/' || x.name as case_id,
    m.case_no,
  m.case_no = 0 as is_run, m.metric, m.value
from ragdb.eval_metrics m
  join ragdb.eval_runs r on r.corpus_id = m.corpus_id and r.run_id = m.run_id
  join bi.readable_corpora() c on c.corpus_id = m.corpus_id
  left join ragdb.eval_case_results x on x.corpus_id = m.corpus_id and x.run_id = m.run_id
    and x.case_no = m.case_no;
comment on view bi.fact_eval_metric is
  'One row per metric of a case, and, with is_run, of a whole run.';

create or replace view bi.fact_incident with (security_barrier = true) as
select i.incident_id::text as incident_id, i.created_at, i.corpus_id::bigint as corpus_id, c.corpus,
  i.kind, i.severity,
  i.trace_id::text as trace_id, i.caller, i.reason
from ragdb.admissibility_incidents i join bi.readable_corpora() c on c.corpus_id = i.corpus_id;
comment on view bi.fact_incident is 'One row per refused promotion of evidence.';

-- Dimensions

create or replace view bi.dim_corpus with (security_barrier = true) as
select k.corpus_id::bigint as corpus_id, k.name as corpus, k.title, k.text_config, k.documents,
  k.chunks,
  k.token_count as tokens, k.size_bytes, k.version as corpus_version, k.record_query_text,
    e.name as embedding_model,
  k.created_at, k.updated_at
from ragdb.corpora k join bi.readable_corpora() c on c.corpus_id = k.corpus_id
  left join ragdb.embedding_spaces s on s.corpus_id = k.corpus_id and s.state = 'current'
  left join ragdb.embedders e on e.embedder_id = s.embedder_id;
comment on view bi.dim_corpus is 'One row per corpus.';

create or replace view bi.dim_source with (security_barrier = true) as
select d.corpus_id || ':' || d.doc_no as source_id, d.corpus_id::bigint as corpus_id, c.corpus,
  d.source, d.doc_cid,
  d.title, d.language, d.media_type, d.pages, d.chunks, d.tokens, d.size_bytes, d.created_at,
    d.updated_at
from ragdb.documents d join bi.readable_corpora() c on c.corpus_id = d.corpus_id;
comment on view bi.dim_source is 'One row per document of a corpus.';

create or replace view bi.dim_policy with (security_barrier = true) as
select p.policy_id, p.params_hash as policy_params_hash,
  (p.policy ->> 'max_nodes')::integer as max_nodes,
  (p.policy ->> 'max_radius')::integer as max_radius,
    (p.policy ->> 'salience_weight')::float8 as salience_weight,
  (p.policy ->> 'distance_decay')::float8 as distance_decay,
    (p.policy ->> 'include_siblings')::boolean as is_with_siblings,
  (p.policy ->> 'max_siblings_per_node')::integer as max_siblings_per_node, p.created_at,
    p.created_by
from ragdb.slice_policies p;
comment on view bi.dim_policy is
  'One row per slice policy; its key is policy_id with policy_params_hash.';

create or replace view bi.dim_embedding_model with (security_barrier = true) as
select e.name as embedding_model, e.model, e.revision, e.dims, e.metric, e.max_tokens, e.provider,
  e.created_at
from ragdb.embedders e;
comment on view bi.dim_embedding_model is 'One row per embedding model.';

create or replace view bi.dim_eval_run with (security_barrier = true) as
select r.run_id::text as run_id, r.created_at, r.corpus_id::bigint as corpus_id, c.corpus,
  r.contract, r.contract_version,
  r.rag, r.eval, r.retriever, r.rank_mode, r.top_k, r.min_score, r.embedding_model, r.label,
  pg_catalog.array_to_string(r.tags, ',') as tags, r.status, r.status = 'passed' as is_passed,
  pg_catalog.row_number() over (partition by r.corpus_id, r.rag, r.eval order by r.run_id desc) = 1
    as is_latest,
  r.metric, r.metric_value, r.threshold, r.cases, r.passed_cases,
  r.passed_cases::float8 / nullif(r.cases, 0) as passed_cases_ratio, r.assertions,
    r.passed_assertions,
  r.passed_assertions::float8 / nullif(r.assertions, 0) as passed_assertions_ratio, r.stale_labels,
  pg_catalog.array_to_string(r.reasons, '; ') as reasons, r.corpus_version, r.elapsed_ms, r.caller,
    r.reranker
from ragdb.eval_runs r join bi.readable_corpora() c on c.corpus_id = r.corpus_id;
comment on view bi.dim_eval_run is 'One row per evaluation run.';

create or replace view bi.dim_case with (security_barrier = true) as
select x.case_id, x.corpus_id, x.corpus, x.rag, x.eval, x.kind, x.case_name, x.query_text, x.tags,
  x.first_run_at,
  x.last_run_at, x.runs
from (
  select f.case_id, f.corpus_id, f.corpus, f.rag, f.eval, f.kind, f.case_name, f.query_text, f.tags,
    pg_catalog.min(f.created_at) over every as first_run_at,
      pg_catalog.max(f.created_at) over every as last_run_at,
    pg_catalog.count(*) over every as runs,
    pg_catalog.row_number() over (partition by f.case_id order by f.run_id desc, f.case_no) as n
  from bi.fact_case_result f
  window every as (partition by f.case_id)) x
where x.n = 1;
comment on view bi.dim_case is 'One row per case that was ever run, as it last was.';

create or replace view bi.dim_date with (security_barrier = true) as
select d.day_at, (d.day_at at time zone 'UTC')::date as day,
  extract(year from d.day_at at time zone 'UTC')::integer as year,
  extract(quarter from d.day_at at time zone 'UTC')::integer as quarter,
  extract(month from d.day_at at time zone 'UTC')::integer as month,
  extract(day from d.day_at at time zone 'UTC')::integer as day_of_month,
  extract(isoyear from d.day_at at time zone 'UTC')::integer as iso_year,
  extract(week from d.day_at at time zone 'UTC')::integer as iso_week,
  extract(isodow from d.day_at at time zone 'UTC')::integer as iso_weekday,
  extract(isodow from d.day_at at time zone 'UTC') >= 6 as is_weekend
from pg_catalog.generate_series(
    coalesce((select pg_catalog.date_trunc('year', pg_catalog.min(r.bucket_at), 'UTC')
      from ragdb.retrieval_rollups r where r.grain = 'day'),
      pg_catalog.date_trunc('year', pg_catalog.now(), 'UTC')),
    pg_catalog.date_trunc('year', pg_catalog.now(), 'UTC') + interval '24 months'
      - interval '1 day', interval '1 day', 'UTC') d (day_at);
comment on view bi.dim_date is
  'One row per day (UTC) from the year of the first retrieval to the end of next year.';

-- Rollups

create or replace view bi.agg_retrieval with (security_barrier = true) as
select r.grain, r.bucket_at, r.corpus_id::bigint as corpus_id, c.corpus, r.retrieval_mode,
  r.rank_mode, r.policy_id,
  r.error_code, r.retrievals, r.errors, r.zero_results, r.admissible, r.shortfalls, r.exact_results,
    r.requested_hits,
  r.returned_hits, r.elapsed_us / 1000::float8 as total_elapsed_ms, r.within_10ms, r.within_30ms,
    r.within_100ms,
  r.within_300ms, r.within_1000ms, r.within_3000ms, r.scored,
    r.top_scores_ppm / 1000000::float8 as top_scores,
  r.refreshed_at
from ragdb.retrieval_rollups r join bi.readable_corpora() c on c.corpus_id = r.corpus_id;
comment on view bi.agg_retrieval is
  'Retrievals counted by hour and by day (UTC), corpus, modes, policy and error. Choose one grain. '
  'As of refreshed_at, and kept when traces are dropped.';

create or replace view bi.agg_retrieval_hour with (security_barrier = true) as
select a.bucket_at as hour_at, a.corpus_id, a.corpus, a.retrieval_mode, a.rank_mode, a.policy_id,
  a.error_code, a.retrievals,
  a.errors, a.zero_results, a.admissible, a.shortfalls, a.exact_results, a.requested_hits,
    a.returned_hits,
  a.total_elapsed_ms, a.within_10ms, a.within_30ms, a.within_100ms, a.within_300ms, a.within_1000ms,
    a.within_3000ms,
  a.scored, a.top_scores, a.refreshed_at
from bi.agg_retrieval a where a.grain = 'hour';
comment on view bi.agg_retrieval_hour is
  'Retrievals counted by hour (UTC), corpus, modes, policy and error.';

create or replace view bi.agg_retrieval_day with (security_barrier = true) as
select a.bucket_at as day_at, (a.bucket_at at time zone 'UTC')::date as day, a.corpus_id, a.corpus,
  a.retrieval_mode,
  a.rank_mode, a.policy_id, a.error_code, a.retrievals, a.errors, a.zero_results, a.admissible,
    a.shortfalls,
  a.exact_results, a.requested_hits, a.returned_hits, a.total_elapsed_ms, a.within_10ms,
    a.within_30ms, a.within_100ms,
  a.within_300ms, a.within_1000ms, a.within_3000ms, a.scored, a.top_scores, a.refreshed_at
from bi.agg_retrieval a where a.grain = 'day';
comment on view bi.agg_retrieval_day is
  'Retrievals counted by day (UTC), corpus, modes, policy and error.';

create or replace view bi.agg_latency with (security_barrier = true) as
select r.grain, r.bucket_at, r.corpus_id::bigint as corpus_id, c.corpus, r.rank_mode,
  case when r.bin = -20 then 0 else pg_catalog.power(2, r.bin / 4::float8) end as lower_ms,
  pg_catalog.power(2, (r.bin + 1) / 4::float8) as upper_ms, r.retrievals
from ragdb.histogram_rollups r join bi.readable_corpora() c on c.corpus_id = r.corpus_id
where r.measure = 'latency';
comment on view bi.agg_latency is
  'How long retrievals that returned took, as a histogram by hour and by day (UTC) from which '
  'percentiles are computed. Choose one grain.';

create or replace view bi.agg_top_score with (security_barrier = true) as
select r.grain, r.bucket_at, r.corpus_id::bigint as corpus_id, c.corpus, r.rank_mode,
  r.bin / 20::float8 as lower_score, (r.bin + 1) / 20::float8 as upper_score, r.retrievals
from ragdb.histogram_rollups r join bi.readable_corpora() c on c.corpus_id = r.corpus_id
where r.measure = 'top_score';
comment on view bi.agg_top_score is
  'The scores of first hits as a histogram by hour and by day (UTC). Choose one grain.';

-- Metrics are defined once, here; the reports and the dashboards have these expressions.
create or replace view bi.metric_definitions with (security_barrier = true) as
select m.metric, m.title, m.unit, m.better, m.relation, m.expression, m.definition
from (values
  ('retrievals', 'Retrievals', 'count', null, 'agg_retrieval', 'sum(retrievals)',
    'Retrievals that were recorded, failed ones included.'),
  ('error_ratio', 'Error ratio', 'ratio', 'lower', 'agg_retrieval',
    'sum(errors)::float8 / nullif(sum(retrievals), 0)',
    'Share of retrievals that failed.'),
  ('zero_result_ratio', 'Zero-result ratio', 'ratio', 'lower', 'agg_retrieval',
    'sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0)',
    'Share of the retrievals that returned which had no hit.'),
  ('fill_ratio', 'Fill ratio', 'ratio', 'higher', 'agg_retrieval',
    'sum(returned_hits)::float8 / nullif(sum(requested_hits), 0)',
      'Hits returned of the hits asked for.'),
  ('exact_ratio', 'Exact ratio', 'ratio', 'higher', 'agg_retrieval',
    'sum(exact_results)::float8 / nullif(sum(retrievals) - sum(errors), 0)',
    'Share of the retrievals that returned in which no approximate index skipped a chunk.'),
  ('mean_top_score', 'Mean top score', 'score', 'higher', 'agg_retrieval',
    'sum(top_scores) / nullif(sum(scored), 0)',
    'Mean score of first hits, 0 to 1. Scores of one rank mode compare; those of two do not.'),
  ('mean_elapsed_ms', 'Mean latency', 'ms', 'lower', 'agg_retrieval',
    'sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0)',
      'Mean time of the retrievals that returned.'),
  ('within_100ms_ratio', 'Within 100 ms', 'ratio', 'higher', 'agg_retrieval',
    'sum(within_100ms)::float8 / nullif(sum(retrievals), 0)',
      'Share of retrievals that returned within 100 ms.'),
  ('slice_ratio', 'Slice ratio', 'ratio', null, 'agg_retrieval',
    'coalesce(sum(retrievals) filter (where retrieval_mode = ''slice''), 0)::float8 / '
    'nullif(sum(retrievals), 0)',
    'Share of retrievals under a slice.'),
  ('admissible_ratio', 'Admissible ratio', 'ratio', 'higher', 'agg_retrieval',
    'sum(admissible)::float8 / nullif(sum(retrievals) filter (where retrieval_mode = ''slice''), '
    '0)',
    'Share of the retrievals under a slice whose hits may serve as evidence.'),
  ('shortfall_ratio', 'Shortfall ratio', 'ratio', 'lower', 'agg_retrieval',
    'sum(shortfalls)::float8 / nullif(sum(retrievals) filter (where retrieval_mode = ''slice''), '
    '0)',
    'Share of the retrievals under a slice that could not look at every admitted chunk.'),
  ('verified_ratio', 'Verified answers', 'ratio', 'higher', 'fact_answer',
    'avg(case when is_verified then 1 else 0 end)::float8',
      'Share of answers whose citations hold.'),
  ('abstained_ratio', 'Abstentions', 'ratio', null, 'fact_answer',
    'avg(case when is_insufficient then 1 else 0 end)::float8',
      'Share of answers that say the evidence is not enough.'),
  ('passed_cases_ratio', 'Passed cases', 'ratio', 'higher', 'dim_eval_run',
    'sum(passed_cases)::float8 / nullif(sum(cases), 0)',
      'Share of the cases of evaluation runs that passed.'),
  ('passed_assertions_ratio', 'Passed assertions', 'ratio', 'higher', 'dim_eval_run',
    'sum(passed_assertions)::float8 / nullif(sum(assertions), 0)',
    'Share of the assertions of evaluation runs that passed.'),
  ('passed_runs_ratio', 'Passed runs', 'ratio', 'higher', 'dim_eval_run',
    'avg(case when is_passed then 1 else 0 end)::float8', 'Share of evaluation runs that passed.')
) as m (metric, title, unit, better, relation, expression, definition);
comment on view bi.metric_definitions is
  'The metrics of the dashboards and reports: how each is computed from which view, its unit, and '
  'whether more of it is better.';

-- Attributes as OpenTelemetry's conventions for generative AI (in development) and OpenInference
-- name them. The query and the documents are opt-in there: here the corpus decides about the query,
-- and whoever selects the column about both.
create or replace view bi.traces_otel with (security_barrier = true) as
select t.otel_trace_id as trace_id, t.otel_span_id as span_id, 'retrieval ' || c.corpus as name,
  t.created_at - t.elapsed_ms * interval '1 millisecond' as start_at, t.created_at as end_at,
    t.elapsed_ms,
  case when t.error_code is null then 'OK' else 'ERROR' end as status_code,
  'retrieval' as "gen_ai.operation.name", c.corpus as "gen_ai.data_source.id",
    t.limit_requested as "gen_ai.request.top_k",
  t.embedding_model as "gen_ai.request.model",
  case when c.shows_queries then t.query_text end as "gen_ai.retrieval.query.text",
  (select pg_catalog.json_agg(pg_catalog.json_build_object('id', h.chunk_id, 'score', h.score)
    order by h.rank)::text
    from ragdb.retrieval_hits h
    where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "gen_ai.retrieval.documents",
  t.error_code as "error.type", 'postgresql' as "db.system.name",
  'RETRIEVER' as "openinference.span.kind",
    case when c.shows_queries then t.query_text end as "input.value",
  (select pg_catalog.json_agg(pg_catalog.json_build_object('document.id', h.chunk_id,
    'document.score', h.score) order by h.rank)::text
    from ragdb.retrieval_hits h
    where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "retrieval.documents",
  t.embedding_model as "embedding.model_name", t.error_code as "exception.type",
  t.id::text as "ragdb.trace.id", t.retrieval_mode as "ragdb.retrieval.mode",
    t.rank_mode as "ragdb.rank.mode",
  t.slice_id as "ragdb.slice.id", t.policy_id as "ragdb.policy.id",
    t.is_admissible as "ragdb.is_admissible",
  t.result_hash as "ragdb.result.hash", t.client as "ragdb.client"
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id;
comment on view bi.traces_otel is
  'One row per retrieval with the attributes of an OpenTelemetry span for generative AI and of '
  'OpenInference; trace_id and span_id are null for a call that named none.';

-- A column means the same in every view that has it.
do $$
declare
  v_column record;
begin
  for v_column in
    select c.relname, a.attname, coalesce(
      case when c.relname = 'retrieval_traces'
        then pg_catalog.col_description('ragdb.retrieval_traces'::regclass,
        (select b.attnum from pg_catalog.pg_attribute b
          where b.attrelid = 'ragdb.retrieval_traces'::regclass and b.attname = a.attname)) end,
      m.meaning) as meaning
    from pg_catalog.pg_class c
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      left join (values
        ('answer_hash', 'Sha256 (hex) of the answer; null where the corpus keeps nothing of '
                        'queries.'),
        ('answer_id', 'The answer: joins fact_answer.'),
        ('attempt', 'Which attempt at the answer it is, from 1.'),
        ('best_score', 'Best score of a chunk of the evidence, 0 to 1.'),
        ('citation_no', 'Which citation, from 0; null for what is wrong with the answer as a '
                        'whole.'),
        ('citations', 'Citations of the answer.'),
        ('end_offset', 'Where the quote ends in the chunk, behind its last character.'),
        ('fact_citation.code',
          'What is wrong, such as QUOTE_NOT_FOUND; null for a citation that is sound.'),
        ('fact_citation.chunk_id', 'The cited chunk; null where the evidence has no such chunk.'),
        ('fact_citation.source', 'The cited source; null where the evidence has no such chunk.'),
        ('fact_answer.model', 'Model that answered, as it named itself; null for an answer in the '
                              'words of the evidence.'),
        ('gate_id', 'The decision.'),
        ('is_advisory', 'Whether the code is only advice.'),
        ('is_enough', 'Whether chunks, best score and coverage all reach their thresholds.'),
        ('is_insufficient', 'Whether the answer is that the evidence is not enough.'),
        ('is_sound', 'Whether nothing is wrong with the citation.'),
        ('is_verified', 'Whether nothing was found wrong with the citations; advice is nothing '
                        'wrong.'),
        ('method', 'How the quote was found: exact, normalised or approximate; null without a '
                   'quote.'),
        ('min_chunks', 'Threshold of pack_chunks.'),
        ('fact_gate.min_score', 'Threshold of best_score, 0 to 1.'),
        ('min_term_coverage_ratio', 'Threshold of term_coverage_ratio.'),
        ('missing_terms', 'Terms of the question that the evidence lacks; null unless the corpus '
                          'keeps the text of queries.'),
        ('offset_unit', 'What start_offset and end_offset count: codepoint, utf16 or byte.'),
        ('pack_chunks', 'Chunks of the evidence.'),
        ('pack_hash', 'Sha256 (hex) of the evidence.'),
        ('problems', 'What was found wrong, advice left out.'),
        ('row_no', 'Place among the rows of the answer, from 1.'),
        ('similarity', 'Share of the quote''s letters that the chunk has, 0.85 to 1; null without '
                       'a quote.'),
        ('start_offset', 'Where the quote begins in the chunk, from 0.'),
        ('task', 'Task that was run, as it named itself; null for none.'),
        ('term_coverage_ratio', 'Share of the terms of the question that the evidence has.'),
        ('terms', 'Different terms of the question.'),
        ('actual', 'What the assertion found.'),
        ('admissible', 'Retrievals whose hits may serve as evidence.'),
        ('anchor_chunk_id', 'Chunk that the slice was built around.'),
        ('assert_no', 'Number of the assertion in its case, from 1.'),
        ('assertion_kind', 'Kind of the assertion.'),
        ('assertions', 'Assertions evaluated.'),
        ('better', 'higher or lower; null where neither is better.'),
        ('bucket_at', 'Start of the hour or day.'),
        ('caller', 'Database role that asked.'),
        ('case_id', 'The case: joins dim_case.'),
        ('case_name', 'Name of the case.'),
        ('case_no', 'Number of the case in its run, from 1; 0 is the run as a whole.'),
        ('cases', 'Cases evaluated.'),
        ('chunk_id', 'The chunk, which may be gone by now.'),
        ('chunks', 'Chunks now.'),
        ('client', 'Program that asked, as it named itself.'),
        ('code', 'PASS, ASSERTION_FAIL, or what kept the assertion from being evaluated.'),
        ('content_hash', 'Sha256 (hex) of the chunk''s text as it was found.'),
        ('contract', 'Contract that declares the evaluation.'),
        ('contract_version', 'Version of the contract.'),
        ('corpus', 'Name of the corpus.'),
        ('corpus_id', 'Number of the corpus; never given out again.'),
        ('corpus_version', 'Version of the corpus: raised by every transaction that writes to it.'),
        ('created_at', 'When it was recorded.'),
        ('created_by', 'Database role that registered it.'),
        ('day', 'The day (UTC).'),
        ('day_at', 'Start of the day (UTC).'),
        ('day_of_month', '1 to 31.'),
        ('definition', 'What the metric says.'),
        ('dims', 'Width of a vector.'),
        ('distance_decay', 'How fast the weight of a chunk falls with its distance from the '
                           'anchor.'),
        ('doc_cid', 'Sha256 of the document''s bytes.'),
        ('documents', 'Documents now.'),
        ('elapsed_ms', 'How long it took.'),
        ('embedding_model', 'Name of the embedder: joins dim_embedding_model; null without one.'),
        ('end_at', 'End of the span: when the trace was recorded.'),
        ('error_code', 'SQLSTATE of what failed; null for what returned.'),
        ('errors', 'Retrievals that failed.'),
        ('eval', 'Name of the evaluation.'),
        ('exact_results', 'Retrievals in which no approximate index skipped a chunk.'),
        ('expected', 'What the assertion demands.'),
        ('expression', 'SQL expression over the relation.'),
        ('fill_ratio', 'Hits returned of the hits asked for; null where a failed call asked for '
                       'none.'),
        ('first_run_at', 'When the case was run first.'),
        ('grain', 'How long the bucket is: hour or day.'),
        ('hour_at', 'Start of the hour.'),
        ('incident_id', 'The incident.'),
        ('is_admissible', 'Whether the hits may serve as evidence.'),
        ('is_current', 'Whether the corpus still has the chunk with the text that was found.'),
        ('is_error', 'Whether it failed.'),
        ('is_exact', 'Whether no approximate index skipped a chunk.'),
        ('is_filtered', 'Whether a metadata filter was given.'),
        ('is_latest', 'Whether it is the latest run of its evaluation.'),
        ('is_passed', 'Whether it passed.'),
        ('is_returned', 'Whether the caller was given it: false for what a reranker put behind the '
                        'first k.'),
        ('is_required', 'Whether its failure fails the case.'),
        ('is_run', 'Whether the metric is of the run as a whole.'),
        ('is_shortfall', 'Whether the search could not look at every admitted chunk.'),
        ('is_weekend', 'Whether it is a Saturday or Sunday.'),
        ('is_with_siblings', 'Whether a slice takes in siblings.'),
        ('is_zero_result', 'Whether it returned and had no hit.'),
        ('iso_week', 'Week of iso_year, 1 to 53.'),
        ('iso_weekday', '1 for Monday to 7 for Sunday.'),
        ('iso_year', 'Year that the week belongs to.'),
        ('label', 'Label that the run was given.'),
        ('labels', 'Relevance labels of the case.'),
        ('language', 'Language of the document.'),
        ('last_run_at', 'When the case was run last.'),
        ('lexical_rank', 'Place in the lexical leg, from 1; null where it took no part.'),
        ('lexical_score', 'Score of the lexical leg, 0 to 1; null where it took no part.'),
        ('lower_ms', 'Lower end of the bin.'),
        ('lower_score', 'Lower end of the bin.'),
        ('max_nodes', 'Most chunks of a slice.'),
        ('max_radius', 'Farthest that a chunk may be from the anchor, in edges.'),
        ('max_siblings_per_node', 'Most siblings taken in for a chunk.'),
        ('max_tokens', 'Tokens that the model reads at most.'),
        ('media_type', 'Media type of the document.'),
        ('message', 'The outcome in words.'),
        ('metric', 'Name of the metric; of an embedding model, how its vectors are compared.'),
        ('metric_value', 'Value of the metric that gates the run; null without one.'),
        ('min_score', 'Least score asked for, 0 to 1.'),
        ('model', 'What the model is called by those who made it.'),
        ('month', '1 to 12.'),
        ('name', 'Name of the span: retrieval and the corpus.'),
        ('otel_span_id', 'OpenTelemetry span it belongs to, 16 hex digits.'),
        ('otel_trace_id', 'OpenTelemetry trace it belongs to, 32 hex digits.'),
        ('page', 'Page of the chunk; null where there are none.'),
        ('pages', 'Pages of the document; null where there are none.'),
        ('passed_assertions', 'Assertions that passed.'),
        ('passed_assertions_ratio', 'Share of the assertions that passed.'),
        ('passed_cases', 'Cases that passed.'),
        ('passed_cases_ratio', 'Share of the cases that passed.'),
        ('policy_id', 'Policy of the slice; null in global mode.'),
        ('policy_params_hash', 'Hash of the policy''s parameters; null in global mode.'),
        ('provider', 'Who runs the model here; null while nobody does.'),
        ('quarter', '1 to 4.'),
        ('query_hash', 'Sha256 (hex) of the query; null where the corpus keeps none.'),
        ('query_text', 'The query; null unless the corpus keeps the text of queries.'),
        ('rag', 'Rag node of the contract that asked; null without one.'),
        ('rank', 'Place in the result, from 1.'),
        ('rank_mode', 'How hits were ranked: lexical, semantic, hybrid or reference; null where a '
                      'failed call named none.'),
        ('reason', 'Why it was refused.'),
        ('reasons', 'Why the run failed although every case passed.'),
        ('record_query_text', 'What traces keep of a query: full, hash or none.'),
        ('refreshed_at', 'When the bucket was counted.'),
        ('relation', 'View of schema bi that the expression is over.'),
        ('requested_hits', 'Hits asked for.'),
        ('rerank_rank', 'Place after reranking, from 1; null where no reranker took part.'),
        ('rerank_score', 'What the reranker gave it, of no common scale; null where none took '
                         'part.'),
        ('reranker', 'Name of the reranker; null without one.'),
        ('retrieval_mode', 'slice (only the chunks of a slice could be hits) or global.'),
        ('retrievals', 'Retrievals, failed ones included.'),
        ('retriever', 'Retriever of the contract that asked; null without one.'),
        ('returned_hits', 'Hits returned.'),
        ('revision', 'Revision of the model; null for any.'),
        ('run_id', 'The run: joins dim_eval_run.'),
        ('runs', 'How often the case was run.'),
        ('salience_weight', 'How much the salience of a turn counts, 0 to 1.'),
        ('score', 'Score that ranked the hit, 0 to 1.'),
        ('scored', 'Retrievals that had a first hit.'),
        ('semantic_rank', 'Place in the semantic leg, from 1; null where it took no part.'),
        ('semantic_score', 'Score of the semantic leg, 0 to 1; null where it took no part.'),
        ('severity', 'low, medium, high or critical.'),
        ('shortfall_reason',
          'Why the search could not look at every admitted chunk; null without a shortfall.'),
        ('shortfalls', 'Retrievals that could not look at every admitted chunk.'),
        ('size_bytes', 'Bytes of the documents.'),
        ('slice_id', 'Slice that admitted the chunks; null in global mode.'),
        ('source', 'Source of the document: a path or address.'),
        ('source_id', 'The document: joins dim_source; null when the chunk is gone.'),
        ('span_id', 'OpenTelemetry span, 16 hex digits.'),
        ('stale_labels', 'Relevance labels that no longer resolve.'),
        ('start_at', 'Start of the span.'),
        ('status', 'Of a run passed, failed or empty; of a case passed, failed or error.'),
        ('status_code', 'Status of the span: OK or ERROR.'),
        ('tags', 'Tags, joined by commas.'),
        ('text_config', 'Text configuration by which its texts and queries become lexemes.'),
        ('threshold', 'What the metric has to reach; null without a metric.'),
        ('title', 'Title for people.'),
        ('tokens', 'Tokens now, as the chunker counts them.'),
        ('top_k', 'Hits asked for unless a case says otherwise.'),
        ('top_scores', 'Sum of the scores of first hits; divide it by scored.'),
        ('total_elapsed_ms', 'Time of all retrievals that returned.'),
        ('trace_id', 'The retrieval: joins fact_retrieval.'),
        ('unit', 'count, ratio (0 to 1), score (0 to 1) or ms.'),
        ('updated_at', 'When it was written last.'),
        ('upper_ms', 'Upper end of the bin.'),
        ('upper_score', 'Upper end of the bin.'),
        ('value', 'Value of the metric.'),
        ('within_10ms', 'Retrievals that returned within 10 ms.'),
        ('within_30ms', 'Retrievals that returned within 30 ms.'),
        ('within_100ms', 'Retrievals that returned within 100 ms.'),
        ('within_300ms', 'Retrievals that returned within 300 ms.'),
        ('within_1000ms', 'Retrievals that returned within 1,000 ms.'),
        ('within_3000ms', 'Retrievals that returned within 3,000 ms.'),
        ('year', 'Calendar year.'),
        ('zero_results', 'Retrievals that returned and had no hit.'),
        ('agg_latency.retrievals', 'Retrievals that returned and took so long.'),
        ('agg_top_score.retrievals', 'Retrievals whose first hit scored so.'),
        ('fact_case_result.kind', 'case, or answer for an answer contract.'),
        ('dim_case.kind', 'case, or answer for an answer contract.'),
        ('fact_incident.kind', 'Kind of the incident, such as insufficient_evidence.'),
        ('dim_eval_run.caller', 'Database role that ran it.'),
        ('dim_eval_run.metric', 'Metric that gates the run; null without one.'),
        ('traces_otel.trace_id', 'OpenTelemetry trace, 32 hex digits.'),
        ('gen_ai.operation.name', 'Always retrieval.'),
        ('gen_ai.data_source.id', 'Name of the corpus.'),
        ('gen_ai.request.top_k', 'Hits asked for.'),
        ('gen_ai.request.model', 'Embedding model of the query; null without one.'),
        ('gen_ai.retrieval.query.text',
          'The query; null unless the corpus keeps the text of queries.'),
        ('gen_ai.retrieval.documents',
          'The hits as a JSON list of id and score; read only where it is selected.'),
        ('error.type', 'SQLSTATE of a failed retrieval.'),
        ('db.system.name', 'Always postgresql.'),
        ('openinference.span.kind', 'Always RETRIEVER.'),
        ('input.value', 'The query; null unless the corpus keeps the text of queries.'),
        ('retrieval.documents', 'The hits as a JSON list of document.id and document.score; read '
                                'only where it is selected.'),
        ('embedding.model_name', 'Embedding model of the query; null without one.'),
        ('exception.type', 'SQLSTATE of a failed retrieval.'),
        ('ragdb.trace.id', 'The retrieval: joins fact_retrieval on its trace_id.'),
        ('ragdb.retrieval.mode', 'slice or global.'),
        ('ragdb.rank.mode', 'How hits were ranked.'),
        ('ragdb.slice.id', 'Slice that admitted the chunks; null in global mode.'),
        ('ragdb.policy.id', 'Policy of the slice; null in global mode.'),
        ('ragdb.is_admissible', 'Whether the hits may serve as evidence.'),
        ('ragdb.result.hash', 'Sha256 (hex) of what the caller was given.'),
        ('ragdb.client', 'Program that asked, as it named itself.')
      ) m (name, meaning) on m.name in (a.attname, c.relname || '.' || a.attname)
    where c.relnamespace = 'bi'::regnamespace and c.relkind = 'v'
    -- that of one view wins
    order by c.relname, a.attnum, pg_catalog.strpos(m.name, c.relname || '.')
  loop
    execute pg_catalog.format('comment on column bi.%I.%I is %L', v_column.relname,
      v_column.attname, v_column.meaning);
  end loop;
end $$;

revoke all on schema bi from public;
revoke all on all tables in schema bi from public, ragdb_reader, bi_reader;
revoke all on all routines in schema bi from public, ragdb_reader, bi_reader;
grant usage on schema bi to bi_reader, ragdb_reader;
grant select on all tables in schema bi to bi_reader, ragdb_reader;
grant execute on function bi.readable_corpora() to bi_reader, ragdb_reader;
