-- Policies: figures by policy.
--   psql -f reports/admissibility_policies.sql
-- Written from tools/panels/admissibility_policies.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Policies: Figures by policy.'
with r as (
  select policy_key, sum(retrievals) as retrievals, sum(admissible)::float8 / nullif(sum(retrievals), 0) as admissible_ratio,
    sum(shortfalls)::float8 / nullif(sum(retrievals), 0) as shortfall_ratio,
    sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
    sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
    and policy_key is not null
  group by policy_key order by retrievals desc, policy_key)
select r."policy_key" as "policy key",
  r."retrievals" as "retrievals",
  round((100 * r."admissible_ratio")::numeric, 1) as "admissible %",
  round((100 * r."shortfall_ratio")::numeric, 1) as "shortfall %",
  round((100 * r."fill_ratio")::numeric, 1) as "fill %",
  round(r."mean_elapsed_ms"::numeric, 1) as "mean elapsed ms",
  bi.bar(r."retrievals"::float8, max(r."retrievals"::float8) over ()) as "▏retrievals"
from r;
