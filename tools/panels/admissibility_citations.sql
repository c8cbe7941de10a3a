-- Citations: results of their checks.
select coalesce(code, 'sound') as outcome, is_advisory, count(*) as citations, count(distinct answer_id) as answers,
  avg(similarity) as mean_similarity, max(created_at) as last_at
from bi.fact_citation
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by code, is_advisory order by citations desc, outcome
