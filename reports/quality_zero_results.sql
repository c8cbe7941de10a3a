-- Nothing found: share of successful retrievals without a hit.
--   psql -f reports/quality_zero_results.sql
-- Written from tools/panels/quality_zero_results.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Nothing found: Share of successful retrievals without a hit.'
with m as (
  select bucket_at as "time", sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."zero_result_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  round((100 * r."zero_result_ratio")::numeric, 1) as "zero result %",
  bi.bar(r."zero_result_ratio"::float8, 1) as "▏zero result ratio"
from r order by r."time";
\pset title
with m as (
  select bucket_at as "time", sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by bucket_at order by bucket_at),
r as (
  select t.at as "time", m."zero_result_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."zero_result_ratio"::float8 order by r."time")) as "zero result ratio" from r;
