-- The report of a new run of an eval, and an exit status of 3 when it did not pass:
--   psql -v rag=AnswerDocs -f reports/eval_report.sql
-- Also: -v eval=NAME, where the rag has several; -v format=table|tap|junit|md|csv|json; -v label=TEXT
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset format unaligned
\pset tuples_only on
\if :{?rag} \else \set rag '' \endif
\if :{?eval} \else \set eval '' \endif
\if :{?label} \else \set label '' \endif
\if :{?format} \else \set format table \endif
select run_id from ragdb.run_eval(:'rag', nullif(:'eval', ''), label => nullif(:'label', '')) \gset
select rtrim(ragdb.eval_report(:'run_id', :'format'), E'\n');
\o /dev/null
select ragdb.assert_run_passed(:'run_id');
