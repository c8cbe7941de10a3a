-- Latency: percentiles of successful retrievals, interpolated within bins 19 % wide. The reference ranking reads every chunk, and is left out.
with bins as (
  select bucket_at, lower_ms, upper_ms, sum(retrievals) as n,
    sum(sum(retrievals)) over (partition by bucket_at order by upper_ms) as upto,
    sum(sum(retrievals)) over (partition by bucket_at) as total
  from :latencies
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora) and rank_mode <> 'reference'
  group by bucket_at, lower_ms, upper_ms)
select bucket_at as "time",
  max(lower_ms + (upper_ms - lower_ms) * least(1, (0.50 * total - upto + n) / n)) filter (where upto - n < 0.50 * total) as p50_ms,
  max(lower_ms + (upper_ms - lower_ms) * least(1, (0.95 * total - upto + n) / n)) filter (where upto - n < 0.95 * total) as p95_ms,
  max(lower_ms + (upper_ms - lower_ms) * least(1, (0.99 * total - upto + n) / n)) filter (where upto - n < 0.99 * total) as p99_ms
from bins group by bucket_at order by bucket_at
