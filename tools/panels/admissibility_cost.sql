-- Cost: how long answers took, and the tokens that models read and wrote for them.
select coalesce(model, 'none: the evidence itself') as model, count(*) as answers,
  avg(elapsed_ms) as mean_answer_ms, percentile_cont(0.95) within group (order by elapsed_ms) as p95_ms,
  sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
from bi.fact_answer
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by 1 order by answers desc, 1
