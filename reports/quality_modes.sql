-- Modes: figures by mode of retrieval.
--   psql -f reports/quality_modes.sql
-- Written from tools/panels/quality_modes.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Modes: Figures by mode of retrieval.'
with r as (
  select retrieval_mode, rank_mode, sum(retrievals) as retrievals,
    sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio,
    sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
    sum(top_scores) / nullif(sum(scored), 0) as mean_top_score,
    sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by retrieval_mode, rank_mode order by retrievals desc, retrieval_mode, rank_mode)
select r."retrieval_mode" as "retrieval mode",
  r."rank_mode" as "rank mode",
  r."retrievals" as "retrievals",
  round((100 * r."zero_result_ratio")::numeric, 1) as "zero result %",
  round((100 * r."fill_ratio")::numeric, 1) as "fill %",
  round(r."mean_top_score"::numeric, 3) as "mean top score",
  round(r."mean_elapsed_ms"::numeric, 1) as "mean elapsed ms",
  bi.bar(r."retrievals"::float8, max(r."retrievals"::float8) over ()) as "▏retrievals"
from r;
