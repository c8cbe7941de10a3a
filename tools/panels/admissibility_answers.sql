-- Answers: share with valid citations, and share that report insufficient evidence.
select date_trunc(:'grain', created_at, 'UTC') as "time", avg(case when is_verified then 1 else 0 end)::float8 as verified_ratio,
  avg(case when is_insufficient then 1 else 0 end)::float8 as abstained_ratio
from bi.fact_answer
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by 1 order by 1
