-- Nothing found: share of successful retrievals without a hit.
select bucket_at as "time", sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by bucket_at order by bucket_at
