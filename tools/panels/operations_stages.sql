-- Stages: how long each stage of a question took, by what was recorded of it.
select concat(part_of || ': ', stage) as stage, count(*) as times, percentile_cont(0.5) within group (order by elapsed_ms) as p50_ms,
  percentile_cont(0.95) within group (order by elapsed_ms) as p95_ms, max(elapsed_ms) as longest_ms
from bi.fact_stage
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
group by 1 order by p50_ms desc
