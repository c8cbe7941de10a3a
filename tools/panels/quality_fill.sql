-- Completeness: returned hits per requested hit, and retrievals that skipped nothing.
select bucket_at as "time", sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
  sum(exact_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as exact_ratio
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by bucket_at order by bucket_at
