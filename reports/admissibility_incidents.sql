-- Incidents: refused promotions of evidence.
--   psql -f reports/admissibility_incidents.sql
-- Written from tools/panels/admissibility_incidents.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Incidents: Refused promotions of evidence.'
with r as (
  select created_at, corpus, kind, severity, reason, caller, trace_id
  from bi.fact_incident
  where created_at >= :'since' and created_at < :'until' and corpus in (:corpora)
  order by created_at desc limit 50)
select to_char(r."created_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "created",
  r."corpus" as "corpus",
  r."kind" as "kind",
  r."severity" as "severity",
  r."reason" as "reason",
  r."caller" as "caller",
  r."trace_id" as "trace id"
from r;
