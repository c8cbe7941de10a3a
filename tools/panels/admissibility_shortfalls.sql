-- Latest shortfalls: the last 50 retrievals that could not search every admitted chunk.
with days as (
  select bucket_at, sum(sum(shortfalls)) over (order by bucket_at desc) - sum(shortfalls) as later
  from bi.agg_retrieval_day
  where bucket_at >= date_trunc('day', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora) and shortfalls > 0
  group by bucket_at)
select created_at, corpus, shortfall_reason, rank_mode, policy_key, slice_id, client, query_text, trace_id
from bi.fact_retrieval
where is_shortfall and corpus in (:corpora) and created_at < :'until'
  -- from the day on that makes them as many
  and created_at >= greatest(:'since', (select min(bucket_at) from days where later < 50))
order by created_at desc, trace_id limit 50
