-- Evidence: retrievals within a slice that are admissible, and those with a shortfall.
select bucket_at as "time", sum(admissible) as admissible, sum(shortfalls) as shortfalls,
  sum(retrievals) filter (where retrieval_mode = 'global') as not_under_a_slice
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by bucket_at order by bucket_at
