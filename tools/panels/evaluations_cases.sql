-- Weak cases: those that failed most often.
select rag || '/' || eval as eval, case_name, count(*) as runs, count(*) filter (where not is_passed) as failed_runs,
  avg(elapsed_ms) as mean_elapsed_ms, max(created_at) as last_at, max(query_text) as query
from bi.fact_case_result
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by rag, eval, case_name order by failed_runs desc, runs desc, case_name limit 50
