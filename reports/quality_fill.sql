-- Completeness: returned hits per requested hit, and retrievals that skipped nothing.
--   psql -f reports/quality_fill.sql
-- Written from tools/panels/quality_fill.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Completeness: Returned hits per requested hit, and retrievals that skipped nothing.'
with m as (
  select bucket_at as "time", sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
    sum(exact_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as exact_ratio
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."fill_ratio", m."exact_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  round((100 * r."fill_ratio")::numeric, 1) as "fill %",
  round((100 * r."exact_ratio")::numeric, 1) as "exact %",
  bi.bar(r."fill_ratio"::float8, 1) as "▏fill ratio"
from r order by r."time";
\pset title
with m as (
  select bucket_at as "time", sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
    sum(exact_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as exact_ratio
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."fill_ratio", m."exact_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."fill_ratio"::float8 order by r."time")) as "fill ratio", bi.sparkline(array_agg(r."exact_ratio"::float8 order by r."time")) as "exact ratio" from r;
