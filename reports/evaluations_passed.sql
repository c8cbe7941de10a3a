-- Cases: share of passed cases in each run.
--   psql -f reports/evaluations_passed.sql
-- Written from tools/panels/evaluations_passed.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Cases: Share of passed cases in each run.'
with r as (
  select created_at as "time", rag || '/' || eval as metric, passed_cases_ratio
  from bi.dim_eval_run
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  order by created_at, metric)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."metric" as "metric",
  round((100 * r."passed_cases_ratio")::numeric, 1) as "passed cases %",
  bi.bar(r."passed_cases_ratio"::float8, 1) as "▏passed cases ratio"
from r;
\pset title
with r as (
  select created_at as "time", rag || '/' || eval as metric, passed_cases_ratio
  from bi.dim_eval_run
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  order by created_at, metric)
select r.metric, bi.sparkline(array_agg(r."passed_cases_ratio"::float8 order by r."time")) as "passed cases ratio" from r group by r.metric order by r.metric;
