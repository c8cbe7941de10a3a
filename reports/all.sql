-- All reports, one after the other:
--   psql -f reports/all.sql
-- Written by `make dashboards`.
\ir arguments.psql

\echo '════ Operations. Traffic of ragdb: its volume, latency and failures, and what waits.'
\echo
\ir operations_totals.sql
\ir operations_traffic.sql
\ir operations_latency.sql
\ir operations_errors.sql
\ir operations_failures.sql
\ir operations_corpora.sql
\ir operations_stages.sql
\ir operations_backlog.sql
\ir operations_ingest.sql

\echo '════ Retrieval quality. Whether retrievals find something, how well it matches, and what people say of it.'
\echo
\ir quality_zero_results.sql
\ir quality_unanswered.sql
\ir quality_top_score.sql
\ir quality_scores.sql
\ir quality_fill.sql
\ir quality_modes.sql
\ir quality_sources.sql
\ir quality_feedback.sql

\echo '════ Evaluations. Results of the evaluations of contracts, run by run.'
\echo
\ir evaluations_latest.sql
\ir evaluations_passed.sql
\ir evaluations_metrics.sql
\ir evaluations_failures.sql
\ir evaluations_kinds.sql
\ir evaluations_cases.sql

\echo '════ Admissibility. How many retrievals are admissible as evidence, and why the others are not.'
\echo
\ir admissibility_totals.sql
\ir admissibility_traffic.sql
\ir admissibility_policies.sql
\ir admissibility_shortfalls.sql
\ir admissibility_answers.sql
\ir admissibility_citations.sql
\ir admissibility_cost.sql
\ir admissibility_incidents.sql
