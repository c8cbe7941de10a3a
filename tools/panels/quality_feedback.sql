-- Feedback: what people said of what was found and answered.
select date_trunc(:'grain', created_at, 'UTC') as "time", count(*) filter (where is_good) as good, count(*) filter (where not is_good) as bad
from bi.fact_feedback
where is_latest and created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by 1 order by 1
