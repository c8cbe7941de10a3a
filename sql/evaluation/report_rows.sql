-- What a report of a run is made of, in any format.

-- Returns what was there in place of what was expected, or the SQLSTATE of a retrieval that failed;
-- null where the message says all.
create or replace function ragdb_internal.was(code text, expected jsonb, actual jsonb) returns text
language sql immutable parallel safe
return case
  when code = 'ASSERTION_FAIL' and (expected is not null or actual is not null)
    then coalesce(actual::text, 'nothing')
  when code = 'RETRIEVER_ERROR' then actual #>> '{}' end;

-- Returns everything that a run tested, in order: assertions, cases without any, the gate, and why
-- it failed beyond those. One row a thing that was tested: every assertion, a case without any, the
-- gate. The assertions of a case are found by its key: the planner takes a run that is newer than
-- the statistics for one row, and would read all of its assertions for each case.
create or replace function ragdb_internal.report_rows(run ragdb.eval_runs)
returns table (n bigint, case_no integer, name text, kind text, required boolean, passed boolean,
  code text, message text, expected jsonb, actual jsonb, was text, elapsed_ms float8,
  outcome text)
language sql stable parallel safe
begin atomic
  select pg_catalog.row_number() over (order by x.section, x.case_no, x.assert_no), x.case_no,
    x.name, x.kind, x.required, x.passed, x.code, x.message,
    x.expected, x.actual, ragdb_internal.was(x.code, x.expected, x.actual), x.elapsed_ms,
    case when x.passed then 'ok' when x.code not in ('PASS', 'ASSERTION_FAIL') then 'error'
      when x.required then 'failed' else 'advisory' end
  from (
    select 1 as section, c.case_no, coalesce(a.assert_no, 0) as assert_no, c.name,
      coalesce(a.kind, 'retrieved') as kind, coalesce(a.required, true) as required,
      coalesce(a.passed, true) as passed, coalesce(a.code, 'PASS') as code,
      coalesce(a.message, 'nothing is asserted') as message, a.expected, a.actual,
      case when coalesce(a.assert_no, 1) = 1 then coalesce(c.elapsed_ms, 0)
        else 0 end as elapsed_ms
    from ragdb.eval_case_results c
      left join lateral (
        select o.* from ragdb.eval_assert_results o
        where o.corpus_id = c.corpus_id and o.run_id = c.run_id and o.case_no = c.case_no
        offset 0) a on true
    where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
    union all
    select 2, 0, 0, (run).eval, 'gate', true, (run).metric_value >= (run).threshold,
      case when (run).metric_value >= (run).threshold then 'PASS' else 'ASSERTION_FAIL' end,
      (run).metric || ' >= ' || ragdb_internal.shown((run).threshold),
      pg_catalog.to_jsonb((run).threshold), pg_catalog.to_jsonb((run).metric_value), 0
    where (run).threshold > 0 and (run).status <> 'empty' and (run).metric_value is not null
    union all
    select 3, 0, r.n::integer, (run).eval, 'run', true, false, 'ASSERTION_FAIL', r.reason, null,
      null, 0
    from pg_catalog.unnest((run).reasons) with ordinality r (reason, n)
    where not ((run).metric_value is not null and r.reason like (run).metric || ' is %')
  ) x;
end;

-- Returns the name of a run for people.
create or replace function ragdb_internal.run_title(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (run).rag || ' / ' || (run).eval || coalesce(' (' || (run).label || ')', '');

-- Returns a text without line ends and control characters.
create or replace function ragdb_internal.one_line(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(one_line.text, U&'[\0001-\001F\007F-\009F\2028\2029]+', ' ', 'g');
