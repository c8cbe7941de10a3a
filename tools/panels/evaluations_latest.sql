-- Latest runs: the last run of each evaluation.
select corpus, rag, eval, status, created_at, cases, passed_cases_ratio, passed_assertions_ratio, metric, metric_value,
  threshold, stale_labels, reasons, label
from bi.dim_eval_run
where is_latest and corpus in (:corpora)
order by is_passed, created_at desc
