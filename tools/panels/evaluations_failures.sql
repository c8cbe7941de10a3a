-- Failures: failed assertions in the last run of each evaluation.
select a.created_at, a.rag || '/' || a.eval as eval, a.case_name, a.assertion_kind, a.is_required, a.code, a.message,
  a.expected, a.actual
from bi.fact_assertion a join bi.dim_eval_run r using (run_id)
where r.is_latest and not a.is_passed and a.corpus in (:corpora)
order by a.is_required desc, a.created_at desc, a.case_no, a.assert_no limit 200
