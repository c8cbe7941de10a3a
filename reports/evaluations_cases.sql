-- Weak cases: those that failed most often.
--   psql -f reports/evaluations_cases.sql
-- Written from tools/panels/evaluations_cases.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Weak cases: Those that failed most often.'
with r as (
  select rag || '/' || eval as eval, case_name, count(*) as runs, count(*) filter (where not is_passed) as failed_runs,
    avg(elapsed_ms) as mean_elapsed_ms, max(created_at) as last_at, max(query_text) as query
  from bi.fact_case_result
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by rag, eval, case_name order by failed_runs desc, runs desc, case_name limit 50)
select r."eval" as "eval",
  r."case_name" as "case name",
  r."runs" as "runs",
  r."failed_runs" as "failed runs",
  round(r."mean_elapsed_ms"::numeric, 1) as "mean elapsed ms",
  to_char(r."last_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "last",
  r."query" as "query",
  bi.bar(r."failed_runs"::float8, max(r."failed_runs"::float8) over ()) as "▏failed runs"
from r;
