-- Latency: percentiles of successful retrievals, interpolated within bins 19 % wide. The reference ranking reads every chunk, and is left out.
--   psql -f reports/operations_latency.sql
-- Written from tools/panels/operations_latency.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Latency: Percentiles of successful retrievals, interpolated within bins 19 % wide. The reference ranking reads every chunk, and is left out.'
with m as (
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
  from bins group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."p50_ms", m."p95_ms", m."p99_ms"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  round(r."p50_ms"::numeric, 1) as "p50 ms",
  round(r."p95_ms"::numeric, 1) as "p95 ms",
  round(r."p99_ms"::numeric, 1) as "p99 ms",
  bi.bar(r."p95_ms"::float8, max(r."p95_ms"::float8) over ()) as "▏p95 ms"
from r order by r."time";
\pset title
with m as (
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
  from bins group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."p50_ms", m."p95_ms", m."p99_ms"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."p50_ms"::float8 order by r."time")) as "p50 ms", bi.sparkline(array_agg(r."p95_ms"::float8 order by r."time")) as "p95 ms", bi.sparkline(array_agg(r."p99_ms"::float8 order by r."time")) as "p99 ms" from r;
