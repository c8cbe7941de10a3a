-- Assertions: share passed, by kind.
select assertion_kind, count(*) as assertions, avg(case when is_passed then 1 else 0 end)::float8 as passed_assertions_ratio,
  count(*) filter (where not is_passed and is_required) as required_failures
from bi.fact_assertion
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by assertion_kind order by passed_assertions_ratio, assertions desc, assertion_kind
