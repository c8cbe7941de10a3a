-- Incidents: refused promotions of evidence.
select created_at, corpus, kind, severity, reason, caller, trace_id
from bi.fact_incident
where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
order by created_at desc limit 50
