-- Runs an eval and prints its report. Exits with 3 if the run failed:
--   psql -v rag=AnswerDocs -f reports/eval_report.sql
-- Options: -v eval=NAME, if the rag has several; -v format=table|tap|junit|md|csv|json; -v label=TEXT
\set QUIET on
\set ON_ERROR_STOP on
\set SHOW_CONTEXT never
\pset pager off
\pset format unaligned
\pset tuples_only on
\if :{?rag} \else
do $$ begin
  raise exception 'no rag is named'
    using hint = 'psql -v rag=NAME -f reports/eval_report.sql; ragdb.list_evals() lists them';
end $$;
\endif
\if :{?eval} \else \set eval '' \endif
\if :{?label} \else \set label '' \endif
\if :{?format} \else \set format table \endif
select run_id from ragdb.run_eval(:'rag', nullif(:'eval', ''), label => nullif(:'label', '')) \gset
select rtrim(ragdb.eval_report(:'run_id', :'format'), E'\n');
\o /dev/null
select ragdb.assert_run_passed(:'run_id');
