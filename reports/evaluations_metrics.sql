-- Metrics: values for whole runs.
--   psql -f reports/evaluations_metrics.sql
-- Written from tools/panels/evaluations_metrics.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Metrics: Values for whole runs.'
with r as (
  select created_at as "time", rag || '/' || eval || ' ' || metric as metric, value
  from bi.fact_run_metric
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  order by created_at, metric)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."metric" as "metric",
  round(r."value"::numeric, 3) as "value"
from r;
\pset title
with r as (
  select created_at as "time", rag || '/' || eval || ' ' || metric as metric, value
  from bi.fact_run_metric
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  order by created_at, metric)
select r.metric, bi.sparkline(array_agg(r."value"::float8 order by r."time")) as "value" from r group by r.metric order by r.metric;
