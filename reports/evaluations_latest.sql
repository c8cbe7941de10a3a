-- Latest runs: the last run of each evaluation.
--   psql -f reports/evaluations_latest.sql
-- Written from tools/panels/evaluations_latest.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Latest runs: The last run of each evaluation.'
with r as (
  select corpus, rag, eval, status, created_at, cases, passed_cases_ratio, passed_assertions_ratio, metric, metric_value,
    threshold, stale_labels, reasons, label
  from bi.dim_eval_run
  where is_latest and corpus in (:corpora)
  order by is_passed, created_at desc)
select r."corpus" as "corpus",
  r."rag" as "rag",
  r."eval" as "eval",
  r."status" as "status",
  to_char(r."created_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "created",
  r."cases" as "cases",
  round((100 * r."passed_cases_ratio")::numeric, 1) as "passed cases %",
  round((100 * r."passed_assertions_ratio")::numeric, 1) as "passed assertions %",
  r."metric" as "metric",
  round(r."metric_value"::numeric, 3) as "metric value",
  round(r."threshold"::numeric, 3) as "threshold",
  r."stale_labels" as "stale labels",
  r."reasons" as "reasons",
  r."label" as "label",
  bi.bar(r."passed_cases_ratio"::float8, 1) as "▏passed cases ratio"
from r;
