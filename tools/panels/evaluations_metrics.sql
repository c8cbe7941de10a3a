-- Metrics: values for whole runs.
select created_at as "time", rag || '/' || eval || ' ' || metric as metric, value
from bi.fact_run_metric
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
order by created_at, metric
