-- Cost: how long answers took, and the tokens that models read and wrote for them.
--   psql -f reports/admissibility_cost.sql
-- Written from tools/panels/admissibility_cost.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Cost: How long answers took, and the tokens that models read and wrote for them.'
with r as (
  select coalesce(model, 'none: the evidence itself') as model, count(*) as answers,
    avg(elapsed_ms) as mean_answer_ms, percentile_cont(0.95) within group (order by elapsed_ms) as p95_ms,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
  from bi.fact_answer
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  group by 1 order by answers desc, 1)
select r."model" as "model",
  r."answers" as "answers",
  round(r."mean_answer_ms"::numeric, 1) as "mean answer ms",
  round(r."p95_ms"::numeric, 1) as "p95 ms",
  r."input_tokens" as "input tokens",
  r."output_tokens" as "output tokens",
  bi.bar(r."answers"::float8, max(r."answers"::float8) over ()) as "▏answers"
from r;
