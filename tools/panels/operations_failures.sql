-- Latest failures: the last 50 failed retrievals.
with days as (
  select bucket_at, sum(sum(errors)) over (order by bucket_at desc) - sum(errors) as later
  from bi.agg_retrieval_day
  where bucket_at >= date_trunc('day', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora) and error_code is not null
  group by bucket_at)
select created_at, corpus, error_code, rank_mode, requested_hits, elapsed_ms, client, caller, query_text, trace_id
from bi.fact_retrieval
where is_error and corpus in (:corpora) and created_at < :'until'
  -- from the day on that makes them as many
  and created_at >= greatest(:'since', (select min(bucket_at) from days where later < 50))
order by created_at desc, trace_id limit 50
