-- Totals: retrievals, and how many failed, found nothing or were slow.
--   psql -f reports/operations_totals.sql
-- Written from tools/panels/operations_totals.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Totals: Retrievals, and how many failed, found nothing or were slow.'
with r as (
  with counted as (
    select sum(retrievals) as retrievals, sum(errors)::float8 / nullif(sum(retrievals), 0) as error_ratio,
      sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio,
      sum(within_100ms)::float8 / nullif(sum(retrievals), 0) as within_100ms_ratio,
      sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms, max(refreshed_at) as as_of_at
    from :counts
    where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
      and corpus in (:corpora))
  select coalesce(retrievals, 0) as retrievals, error_ratio, zero_result_ratio, within_100ms_ratio, mean_elapsed_ms, as_of_at
  from counted)
select r."retrievals" as "retrievals",
  round((100 * r."error_ratio")::numeric, 1) as "error %",
  round((100 * r."zero_result_ratio")::numeric, 1) as "zero result %",
  round((100 * r."within_100ms_ratio")::numeric, 1) as "within 100ms %",
  round(r."mean_elapsed_ms"::numeric, 1) as "mean elapsed ms",
  to_char(r."as_of_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "as of"
from r;
