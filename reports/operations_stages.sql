-- Stages: how long each stage of a question took, by what was recorded of it.
--   psql -f reports/operations_stages.sql
-- Written from tools/panels/operations_stages.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Stages: How long each stage of a question took, by what was recorded of it.'
with r as (
  select concat(part_of || ': ', stage) as stage, count(*) as times, percentile_cont(0.5) within group (order by elapsed_ms) as p50_ms,
    percentile_cont(0.95) within group (order by elapsed_ms) as p95_ms, max(elapsed_ms) as longest_ms
  from bi.fact_stage
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by p50_ms desc)
select r."stage" as "stage",
  r."times" as "times",
  round(r."p50_ms"::numeric, 1) as "p50 ms",
  round(r."p95_ms"::numeric, 1) as "p95 ms",
  round(r."longest_ms"::numeric, 1) as "longest ms",
  bi.bar(r."p95_ms"::float8, max(r."p95_ms"::float8) over ()) as "▏p95 ms"
from r;
