-- Latest shortfalls: the last 50 retrievals that could not search every admitted chunk.
--   psql -f reports/admissibility_shortfalls.sql
-- Written from tools/panels/admissibility_shortfalls.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Latest shortfalls: The last 50 retrievals that could not search every admitted chunk.'
with r as (
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
  order by created_at desc, trace_id limit 50)
select to_char(r."created_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "created",
  r."corpus" as "corpus",
  r."shortfall_reason" as "shortfall reason",
  r."rank_mode" as "rank mode",
  r."policy_key" as "policy key",
  r."slice_id" as "slice id",
  r."client" as "client",
  r."query_text" as "query text",
  r."trace_id" as "trace id"
from r;
