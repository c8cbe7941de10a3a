-- Feedback: what people said of what was found and answered.
--   psql -f reports/quality_feedback.sql
-- Written from tools/panels/quality_feedback.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Feedback: What people said of what was found and answered.'
with m as (
  select date_trunc(:'grain', created_at, 'UTC') as "time", count(*) filter (where is_good) as good, count(*) filter (where not is_good) as bad
  from bi.fact_feedback
  where is_latest and created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by 1),
r as (
  select t.at as "time", m."good", m."bad"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."good" as "good",
  r."bad" as "bad",
  bi.bar(r."good"::float8, max(r."good"::float8) over ()) as "▏good"
from r order by r."time";
\pset title
with m as (
  select date_trunc(:'grain', created_at, 'UTC') as "time", count(*) filter (where is_good) as good, count(*) filter (where not is_good) as bad
  from bi.fact_feedback
  where is_latest and created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by 1),
r as (
  select t.at as "time", m."good", m."bad"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."good"::float8 order by r."time")) as "good", bi.sparkline(array_agg(r."bad"::float8 order by r."time")) as "bad" from r;
