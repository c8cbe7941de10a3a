-- Policies: figures by policy.
select policy_key, sum(retrievals) as retrievals, sum(admissible)::float8 / nullif(sum(retrievals), 0) as admissible_ratio,
  sum(shortfalls)::float8 / nullif(sum(retrievals), 0) as shortfall_ratio,
  sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
  sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
  and policy_key is not null
group by policy_key order by retrievals desc, policy_key
