-- Failures: failed assertions in the last run of each evaluation.
--   psql -f reports/evaluations_failures.sql
-- Written from tools/panels/evaluations_failures.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Failures: Failed assertions in the last run of each evaluation.'
with r as (
  select a.created_at, a.rag || '/' || a.eval as eval, a.case_name, a.assertion_kind, a.is_required, a.code, a.message,
    a.expected, a.actual
  from bi.fact_assertion a join bi.dim_eval_run r using (run_id)
  where r.is_latest and not a.is_passed and a.corpus in (:corpora)
  order by a.is_required desc, a.created_at desc, a.case_no, a.assert_no limit 200)
select to_char(r."created_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "created",
  r."eval" as "eval",
  r."case_name" as "case name",
  r."assertion_kind" as "assertion kind",
  r."is_required" as "is required",
  r."code" as "code",
  r."message" as "message",
  r."expected" as "expected",
  r."actual" as "actual"
from r;
