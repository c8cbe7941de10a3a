-- Traffic: retrievals that found something, found nothing or failed.
select bucket_at as "time", sum(retrievals - errors - zero_results) as found, sum(zero_results) as nothing_found,
  sum(errors) as failed
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by bucket_at order by bucket_at
