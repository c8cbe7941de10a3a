-- Totals: retrievals within a slice, and how many of them are admissible as evidence.
--   psql -f reports/admissibility_totals.sql
-- Written from tools/panels/admissibility_totals.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Totals: Retrievals within a slice, and how many of them are admissible as evidence.'
with r as (
  with counted as (
    select sum(retrievals) filter (where retrieval_mode = 'slice') as slice_retrievals,
      coalesce(sum(retrievals) filter (where retrieval_mode = 'slice'), 0)::float8 / nullif(sum(retrievals), 0) as slice_ratio,
      sum(admissible)::float8 / nullif(sum(retrievals) filter (where retrieval_mode = 'slice'), 0) as admissible_ratio,
      sum(shortfalls)::float8 / nullif(sum(retrievals) filter (where retrieval_mode = 'slice'), 0) as shortfall_ratio
    from :counts
    where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
      and corpus in (:corpora)),
  refused as (
    select count(*) as incidents from bi.fact_incident
    where created_at >= :'since' and created_at < :'until' and corpus in (:corpora))
  select coalesce(slice_retrievals, 0) as slice_retrievals, slice_ratio, admissible_ratio, shortfall_ratio, incidents
  from counted, refused)
select r."slice_retrievals" as "slice retrievals",
  round((100 * r."slice_ratio")::numeric, 1) as "slice %",
  round((100 * r."admissible_ratio")::numeric, 1) as "admissible %",
  round((100 * r."shortfall_ratio")::numeric, 1) as "shortfall %",
  r."incidents" as "incidents"
from r;
