-- Unanswered: queries of the last 1,000 retrievals without a hit, most frequent first.
with days as (
  select bucket_at, sum(sum(zero_results)) over (order by bucket_at desc) - sum(zero_results) as later
  from bi.agg_retrieval_day
  where bucket_at >= date_trunc('day', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora) and zero_results > 0
  group by bucket_at),
latest as (
  select created_at, corpus, query_hash, query_text, rank_mode
  from bi.fact_retrieval
  where is_zero_result and corpus in (:corpora) and created_at < :'until'
    -- from the day on that makes them as many
    and created_at >= greatest(:'since', (select min(bucket_at) from days where later < 1000))
  order by created_at desc limit 1000)
select coalesce(max(query_text), query_hash, 'not recorded') as query, corpus, count(*) as retrievals,
  string_agg(distinct rank_mode, ', ') as rank_modes, max(created_at) as last_at
from latest group by query_hash, corpus order by retrievals desc, last_at desc limit 50
