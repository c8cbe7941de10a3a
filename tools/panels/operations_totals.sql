-- Totals: retrievals, and how many failed, found nothing or were slow.
with counted as (
  select sum(retrievals) as retrievals, sum(errors)::float8 / nullif(sum(retrievals), 0) as error_ratio,
    sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio,
    sum(within_100ms)::float8 / nullif(sum(retrievals), 0) as within_100ms_ratio,
    sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms, max(refreshed_at) as as_of_at
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora))
select coalesce(retrievals, 0) as retrievals, error_ratio, zero_result_ratio, within_100ms_ratio, mean_elapsed_ms, as_of_at
from counted
