-- Cases: share of passed cases in each run.
select created_at as "time", rag || '/' || eval as metric, passed_cases_ratio
from bi.dim_eval_run
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
order by created_at, metric
