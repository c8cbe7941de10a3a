-- Answers: share with valid citations, and share that report insufficient evidence.
--   psql -f reports/admissibility_answers.sql
-- Written from tools/panels/admissibility_answers.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Answers: Share with valid citations, and share that report insufficient evidence.'
with m as (
  select date_trunc(:'grain', created_at, 'UTC') as "time", avg(case when is_verified then 1 else 0 end)::float8 as verified_ratio,
    avg(case when is_insufficient then 1 else 0 end)::float8 as abstained_ratio
  from bi.fact_answer
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by 1),
r as (
  select t.at as "time", m."verified_ratio", m."abstained_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  round((100 * r."verified_ratio")::numeric, 1) as "verified %",
  round((100 * r."abstained_ratio")::numeric, 1) as "abstained %",
  bi.bar(r."verified_ratio"::float8, 1) as "▏verified ratio"
from r order by r."time";
\pset title
with m as (
  select date_trunc(:'grain', created_at, 'UTC') as "time", avg(case when is_verified then 1 else 0 end)::float8 as verified_ratio,
    avg(case when is_insufficient then 1 else 0 end)::float8 as abstained_ratio
  from bi.fact_answer
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by 1),
r as (
  select t.at as "time", m."verified_ratio", m."abstained_ratio"
  from generate_series(date_trunc(:'grain', :'since'::timestamptz, 'UTC'),
      :'until'::timestamptz - interval '1 microsecond', ('1 ' || :'grain')::interval, 'UTC') t (at)
    left join m on m."time" = t.at)
select bi.sparkline(array_agg(r."verified_ratio"::float8 order by r."time")) as "verified ratio", bi.sparkline(array_agg(r."abstained_ratio"::float8 order by r."time")) as "abstained ratio" from r;
