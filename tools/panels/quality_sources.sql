-- Sources: sources found by the last 1,000 retrievals, most frequent first.
with days as (
  select bucket_at, sum(sum(retrievals)) over (order by bucket_at desc) - sum(retrievals) as later
  from bi.agg_retrieval_day
  where bucket_at >= date_trunc('day', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at),
latest as (
  select created_at
  from bi.fact_retrieval
  where corpus in (:corpora) and created_at < :'until'
    -- from the day on that makes them as many
    and created_at >= greatest(:'since', (select min(bucket_at) from days where later < 1000))
  order by created_at desc limit 1000)
select coalesce(source, 'gone from the corpus') as source, corpus, count(*) as hits,
  count(*) filter (where rank = 1) as first_hits, avg(score) as mean_score
from bi.fact_retrieved_chunk
where created_at >= (select min(created_at) from latest) and created_at < :'until' and corpus in (:corpora)
group by 1, corpus order by hits desc, source limit 50
