-- Assertions: share passed, by kind.
--   psql -f reports/evaluations_kinds.sql
-- Written from tools/panels/evaluations_kinds.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Assertions: Share passed, by kind.'
with r as (
  select assertion_kind, count(*) as assertions, avg(case when is_passed then 1 else 0 end)::float8 as passed_assertions_ratio,
    count(*) filter (where not is_passed and is_required) as required_failures
  from bi.fact_assertion
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by assertion_kind order by passed_assertions_ratio, assertions desc, assertion_kind)
select r."assertion_kind" as "assertion kind",
  r."assertions" as "assertions",
  round((100 * r."passed_assertions_ratio")::numeric, 1) as "passed assertions %",
  r."required_failures" as "required failures",
  bi.bar(r."passed_assertions_ratio"::float8, 1) as "▏passed assertions ratio"
from r;
