-- Latest failures: the last 50 failed retrievals.
--   psql -f reports/operations_failures.sql
-- Written from tools/panels/operations_failures.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Latest failures: The last 50 failed retrievals.'
with r as (
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
  order by created_at desc, trace_id limit 50)
select to_char(r."created_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "created",
  r."corpus" as "corpus",
  r."error_code" as "error code",
  r."rank_mode" as "rank mode",
  r."requested_hits" as "requested hits",
  round(r."elapsed_ms"::numeric, 1) as "elapsed ms",
  r."client" as "client",
  r."caller" as "caller",
  r."query_text" as "query text",
  r."trace_id" as "trace id"
from r;
