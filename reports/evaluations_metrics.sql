-- Metrics: values for whole runs.
--   psql -f reports/evaluations_metrics.sql
\ir arguments.psql
select created_at as "time", rag || '/' || eval || ' ' || metric as metric, value
from bi.fact_eval_metric
where is_run and created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
order by created_at, metric;
