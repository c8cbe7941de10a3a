-- Traffic: retrievals that found something, found nothing or failed.
--   psql -f reports/operations_traffic.sql
-- Written from tools/panels/operations_traffic.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Traffic: Retrievals that found something, found nothing or failed.'
with m as (
  select bucket_at as "time", sum(retrievals - errors - zero_results) as found, sum(zero_results) as nothing_found,
    sum(errors) as failed
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."found", m."nothing_found", m."failed"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."found" as "found",
  r."nothing_found" as "nothing found",
  r."failed" as "failed",
  bi.bar(r."found"::float8, max(r."found"::float8) over ()) as "▏found"
from r order by r."time";
\pset title
with m as (
  select bucket_at as "time", sum(retrievals - errors - zero_results) as found, sum(zero_results) as nothing_found,
    sum(errors) as failed
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."found", m."nothing_found", m."failed"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."found"::float8 order by r."time")) as "found", bi.sparkline(array_agg(r."nothing_found"::float8 order by r."time")) as "nothing found", bi.sparkline(array_agg(r."failed"::float8 order by r."time")) as "failed" from r;
