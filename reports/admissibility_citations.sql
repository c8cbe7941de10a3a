-- Citations: results of their checks.
--   psql -f reports/admissibility_citations.sql
-- Written from tools/panels/admissibility_citations.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Citations: Results of their checks.'
with r as (
  select coalesce(code, 'sound') as outcome, is_advisory, count(*) as citations, count(distinct answer_id) as answers,
    avg(similarity) as mean_similarity, max(created_at) as last_at
  from bi.fact_citation
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by code, is_advisory order by citations desc, outcome)
select r."outcome" as "outcome",
  r."is_advisory" as "is advisory",
  r."citations" as "citations",
  r."answers" as "answers",
  round(r."mean_similarity"::numeric, 3) as "mean similarity",
  to_char(r."last_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "last",
  bi.bar(r."citations"::float8, max(r."citations"::float8) over ()) as "▏citations"
from r;
