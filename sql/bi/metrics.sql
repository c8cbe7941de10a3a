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
    'coalesce(sum(retrievals) filter (where retrieval_mode = ''slice''), 0)::float8'
    ' / nullif(sum(retrievals), 0)',
    'Share of retrievals under a slice.'),
  ('admissible_ratio', 'Admissible ratio', 'ratio', 'higher', 'agg_retrieval',
    'sum(admissible)::float8'
    ' / nullif(sum(retrievals) filter (where retrieval_mode = ''slice''), 0)',
    'Share of the retrievals under a slice whose hits may serve as evidence.'),
  ('shortfall_ratio', 'Shortfall ratio', 'ratio', 'lower', 'agg_retrieval',
    'sum(shortfalls)::float8'
    ' / nullif(sum(retrievals) filter (where retrieval_mode = ''slice''), 0)',
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
