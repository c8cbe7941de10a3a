-- Evidence: retrievals within a slice that are admissible, and those with a shortfall.
--   psql -f reports/admissibility_traffic.sql
-- Written from tools/panels/admissibility_traffic.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Evidence: Retrievals within a slice that are admissible, and those with a shortfall.'
with m as (
  select bucket_at as "time", sum(admissible) as admissible, sum(shortfalls) as shortfalls,
    sum(retrievals) filter (where retrieval_mode = 'global') as not_under_a_slice
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."admissible", m."shortfalls", m."not_under_a_slice"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."admissible" as "admissible",
  r."shortfalls" as "shortfalls",
  r."not_under_a_slice" as "not under a slice",
  bi.bar(r."admissible"::float8, max(r."admissible"::float8) over ()) as "▏admissible"
from r order by r."time";
\pset title
with m as (
  select bucket_at as "time", sum(admissible) as admissible, sum(shortfalls) as shortfalls,
    sum(retrievals) filter (where retrieval_mode = 'global') as not_under_a_slice
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."admissible", m."shortfalls", m."not_under_a_slice"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."admissible"::float8 order by r."time")) as "admissible", bi.sparkline(array_agg(r."shortfalls"::float8 order by r."time")) as "shortfalls", bi.sparkline(array_agg(r."not_under_a_slice"::float8 order by r."time")) as "not under a slice" from r;
