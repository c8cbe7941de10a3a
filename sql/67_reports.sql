-- Reports of runs, from the same rows in every format.

-- One row a thing that was tested: every assertion, a case without any, the gate.
create or replace function ragdb._report_rows(run ragdb.eval_runs)
returns table (n bigint, case_no integer, name text, kind text, required boolean, passed boolean,
  code text, message text,
  expected jsonb, actual jsonb, elapsed_ms float8)
language sql stable parallel safe
begin atomic
  select pg_catalog.row_number() over (order by x.section, x.case_no, x.assert_no), x.case_no,
    x.name, x.kind, x.required, x.passed, x.code, x.message,
    x.expected, x.actual, x.elapsed_ms
  from (
    select 1 as section, c.case_no, coalesce(a.assert_no, 0) as assert_no, c.name,
      coalesce(a.kind, 'retrieved') as kind, coalesce(a.required, true) as required,
      coalesce(a.passed, true) as passed, coalesce(a.code, 'PASS') as code,
        coalesce(a.message, 'nothing is asserted') as message,
      a.expected, a.actual,
        case when coalesce(a.assert_no, 1) = 1 then coalesce(c.elapsed_ms, 0)
        else 0 end as elapsed_ms
    from ragdb.eval_case_results c
      left join ragdb.eval_assert_results a using (corpus_id, run_id, case_no)
    where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
    union all
    select 2, 0, 0, (run).eval, 'gate', true, (run).metric_value >= (run).threshold
      and (run).threshold > 0,
      case when (run).metric_value >= (run).threshold and (run).threshold > 0 then 'PASS'
        else 'ASSERTION_FAIL' end,
      (run).metric || ' >= ' || ragdb._shown((run).threshold), pg_catalog.to_jsonb((run).threshold),
        pg_catalog.to_jsonb((run).metric_value), 0
    where (run).threshold is not null and (run).status <> 'empty' and (run).metric_value is not null
    union all
    select 3, 0, r.n::integer, (run).eval, 'run', true, false, 'ASSERTION_FAIL', r.reason, null,
      null, 0
    from pg_catalog.unnest((run).reasons) with ordinality r (reason, n)
    where not ((run).metric_value is not null and r.reason like (run).metric || ' is %')
  ) x;
end;
comment on function ragdb._report_rows(ragdb.eval_runs) is
  'Returns everything that a run tested, in order: assertions, cases without any, the gate, and '
  'why it failed beyond those.';

create or replace function ragdb._run_title(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (run).rag || ' / ' || (run).eval || coalesce(' (' || (run).label || ')', '');
comment on function ragdb._run_title(ragdb.eval_runs) is 'Returns the name of a run for people.';

create or replace function ragdb._one_line(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(_one_line.text, U&'[\0001-\001F\007F-\009F\2028\2029]+', ' ', 'g');
comment on function ragdb._one_line(text) is
  'Returns a text without line ends and control characters.';

create or replace function ragdb._report_table(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(
  E'%s: %s\n%s of %s cases and %s of %s assertions passed, on %s (version %s) by %s, contract %s '
  'version %s\n',
    ragdb._run_title(run), (run).status, (run).passed_cases, (run).cases, (run).passed_assertions,
      (run).assertions, (run).corpus, (run).corpus_version,
    (run).rank_mode || coalesce(' and reranker ' || (run).reranker, ''), (run).contract,
      (run).contract_version)
  || coalesce((
    select E'\n' || pg_catalog.string_agg(pg_catalog.rpad(case when r.passed then 'ok'
      when r.code not in ('PASS', 'ASSERTION_FAIL') then 'ERROR'
        when r.required then 'FAIL' else 'advisory' end, 10)
      || ragdb._one_line(r.name || ': ' || r.message
        || case when r.passed then ''
        else ', was ' || coalesce(pg_catalog.left(r.actual::text, 200), 'nothing') end),
        E'\n' order by r.n) || E'\n'
    from ragdb._report_rows(run) r), '')
  || coalesce((
    select E'\n' || pg_catalog.string_agg(pg_catalog.rpad(m.metric, 20)
      || pg_catalog.to_char(m.value, 'FM990.0000'), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id
      and m.case_no = 0), '');
comment on function ragdb._report_table(ragdb.eval_runs) is
  'Returns the report of a run for a terminal.';

create or replace function ragdb._report_tap(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  select E'TAP version 13\n1..' || pg_catalog.count(*) || E'\n' || pg_catalog.string_agg(
    case when r.passed then 'ok ' else 'not ok ' end || r.n || ' - '
    || pg_catalog.replace(pg_catalog.replace(ragdb._one_line(r.name || ': ' || r.message), '\',
      '\\'), '#', '\#')
    || case when not r.passed and not r.required and r.code = 'ASSERTION_FAIL'
      then ' # TODO advisory' else '' end
    || case when r.passed then ''
      else pg_catalog.format(
        E'\n  ---\n  kind: %s\n  code: %s\n  expected: %s\n  actual: %s\n  ...',
      pg_catalog.to_json(r.kind), r.code, coalesce(r.expected, 'null'), coalesce(r.actual, 'null'))
        end, E'\n' order by r.n) || E'\n'
  from ragdb._report_rows(run) r);
comment on function ragdb._report_tap(ragdb.eval_runs) is
  'Returns the report of a run as TAP 14; what is advisory is TODO.';

-- By hand: a server built without libxml has no xmlelement. XML 1.0 has no way to write most
-- control characters.
create or replace function ragdb._xml(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  pg_catalog.replace(
    pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  pg_catalog.regexp_replace(_xml.text, U&'[\0001-\0008\000B\000C\000E-\001F\FFFE\FFFF]', U&'\FFFD',
    'g'),
  '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), E'\n', '&#10;'), E'\r', '&#13;'),
    E'\t', '&#9;');
comment on function ragdb._xml(text) is
  'Returns a text as it is written in XML, U+FFFD for what XML 1.0 does not allow.';

create or replace function ragdb._report_junit(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  with r as materialized (
    select x.*, case when x.passed then 'ok' when x.code not in ('PASS', 'ASSERTION_FAIL')
      then 'error' when x.required then 'failure' else 'skipped' end as outcome
    from ragdb._report_rows(run) x)
  select pg_catalog.format(
    E'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name="%s" tests="%s" '
    'failures="%s" errors="%s" skipped="%s" time="%s" timestamp="%s">\n',
      ragdb._xml(ragdb._run_title(run)), pg_catalog.count(*),
        pg_catalog.count(*) filter (where r.outcome = 'failure'),
      pg_catalog.count(*) filter (where r.outcome = 'error'),
        pg_catalog.count(*) filter (where r.outcome = 'skipped'),
      pg_catalog.to_char((run).elapsed_ms / 1000, 'FM9999990.000'),
        pg_catalog.to_char((run).created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'))
    || coalesce(pg_catalog.string_agg(
      pg_catalog.format('<testcase classname="%s" name="%s" time="%s"',
        ragdb._xml((run).rag || '.' || (run).eval || '.' || r.name),
        ragdb._xml(r.n || ' ' || r.message),
          pg_catalog.to_char(r.elapsed_ms / 1000, 'FM9999990.000'))
      || case r.outcome when 'ok' then '/>'
        when 'skipped' then pg_catalog.format('><skipped message="advisory: %s"/></testcase>',
          ragdb._xml(r.message))
        else pg_catalog.format('><%1$s message="%2$s" type="%3$s">was %4$s</%1$s></testcase>',
          r.outcome, ragdb._xml(r.message), r.code,
          ragdb._xml(coalesce(r.actual::text, 'nothing'))) end, E'\n' order by r.n) || E'\n', '')
    || E'</testsuite>\n</testsuites>\n'
  from r);
comment on function ragdb._report_junit(ragdb.eval_runs) is
  'Returns the report of a run as JUnit XML: a failed assertion is a failure, one that could not '
  'be evaluated an error, an advisory one skipped.';

create or replace function ragdb._md(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(ragdb._one_line(_md.text), '([\\`*_<>|\[\]#])', '\\\1', 'g');
comment on function ragdb._md(text) is 'Returns a text as it is written in a table of Markdown.';

create or replace function ragdb._report_md(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(
  E'## %s: %s\n\n%s of %s cases and %s of %s assertions passed. Corpus %s, %s, contract %s version '
  '%s.\n', ragdb._md(ragdb._run_title(run)), (run).status,
    (run).passed_cases, (run).cases, (run).passed_assertions, (run).assertions,
      ragdb._md((run).corpus),
    (run).rank_mode || coalesce(' and reranker ' || ragdb._md((run).reranker), ''),
      ragdb._md((run).contract), (run).contract_version)
  || coalesce((
    select E'\n| | case | expected | was |\n|---|---|---|---|\n'
      || pg_catalog.string_agg(pg_catalog.format('| %s | %s | %s | %s |',
      case when r.code not in ('PASS', 'ASSERTION_FAIL') then 'error' when r.required then 'failed'
        else 'advisory' end,
      ragdb._md(r.name), ragdb._md(r.message),
        ragdb._md(coalesce(pg_catalog.left(r.actual::text, 200), 'nothing'))), E'\n' order by r.n)
        || E'\n'
    from ragdb._report_rows(run) r where not r.passed), '')
  || coalesce((
    select E'\n| metric | value |\n|---|---:|\n'
      || pg_catalog.string_agg(pg_catalog.format('| %s | %s |', ragdb._md(m.metric),
        pg_catalog.to_char(m.value, 'FM990.0000')), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id
      and m.case_no = 0), '');
comment on function ragdb._report_md(ragdb.eval_runs) is
  'Returns the report of a run in Markdown: what did not pass, and the metrics.';

-- A formula is a text for a spreadsheet only when it does not begin like one.
create or replace function ragdb._csv(text text) returns text
language sql immutable parallel safe
return case when _csv.text is null then '' else '"' || pg_catalog.replace(
  case when _csv.text ~ '^[=+@\t\r-]' and _csv.text !~ '^-?[0-9.]+$' then ''''
    else '' end || ragdb._one_line(_csv.text), '"', '""') || '"' end;
comment on function ragdb._csv(text) is
  'Returns a text as a field of CSV that no spreadsheet runs.';

create or replace function ragdb._report_csv(run ragdb.eval_runs) returns text
language sql stable parallel safe
return E'n,case,kind,required,passed,code,message,expected,actual\n' || coalesce((
  select pg_catalog.string_agg(pg_catalog.concat_ws(',', r.n, ragdb._csv(r.name),
    ragdb._csv(r.kind), r.required::text, r.passed::text, r.code, ragdb._csv(r.message),
    ragdb._csv(r.expected #>> '{}'), ragdb._csv(r.actual #>> '{}')), E'\n' order by r.n) || E'\n'
  from ragdb._report_rows(run) r), '');
comment on function ragdb._report_csv(ragdb.eval_runs) is
  'Returns everything that a run tested as CSV.';

create or replace function ragdb._report_json(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.jsonb_pretty(pg_catalog.to_jsonb(run) || pg_catalog.jsonb_build_object(
  'results', coalesce((select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) order by r.n)
    from ragdb._report_rows(run) r), '[]'),
  'metrics', coalesce((select pg_catalog.jsonb_object_agg(m.metric, m.value)
    from ragdb.eval_metrics m
    where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no = 0), '{}')))
      || E'\n';
comment on function ragdb._report_json(ragdb.eval_runs) is
  'Returns a run with all that it tested and its metrics as JSON.';

create or replace function ragdb.eval_report(run_id uuid, format text default 'table') returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  case format
    when 'table' then return ragdb._report_table(v_run);
    when 'tap' then return ragdb._report_tap(v_run);
    when 'junit' then return ragdb._report_junit(v_run);
    when 'md' then return ragdb._report_md(v_run);
    when 'csv' then return ragdb._report_csv(v_run);
    when 'json' then return ragdb._report_json(v_run);
    else
      raise exception 'format is %', ragdb._quote(format)
        using errcode = 'RG400', detail = 'a report is written in one of six formats',
          hint = 'table, tap, junit, md, csv or json';
  end case;
end $$;
comment on function ragdb.eval_report(uuid, text) is
  'Returns the report of a run as table, tap (version 14), junit, md, csv or json. Raises RG400, '
  'RG443.';

create or replace function ragdb.assert_run_passed(run_id uuid) returns void
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if v_run.status <> 'passed' then
    raise exception 'run of % did not pass', ragdb._quote(ragdb._run_title(v_run))
      using errcode = 'RG444',
            detail = format('%s of %s cases passed%s', v_run.passed_cases, v_run.cases,
              coalesce('; ' || nullif(array_to_string(v_run.reasons, '; '), ''), '')),
            hint = 'ragdb.eval_report() says what was expected';
  end if;
end $$;
comment on function ragdb.assert_run_passed(uuid) is
  'Does nothing for a run that passed: in a script that stops at errors it is the gate. Raises '
  'RG443, RG444.';

-- Scores are made of the rank and strictly decrease: evaluators of TREC break ties each in their
-- own way.
create or replace function ragdb.export_trec(run_id uuid, what text default 'run')
  returns setof text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if what is null or what not in ('run', 'qrels') then
    raise exception 'what is %', ragdb._quote(what)
      using errcode = 'RG400', detail = 'an export is of what was ranked, or of the labels',
        hint = 'run or qrels';
  end if;
  return query
    select regexp_replace(c.name, '\s+', '_', 'g') || case what
      when 'run' then ' Q0 ' || regexp_replace(i.item, '\s+', '_', 'g') || ' ' || i.rank || ' '
        || to_char(1 / (i.rank::numeric + 1), 'FM0.000000000') || ' ragdb'
      else ' 0 ' || regexp_replace(i.item, '\s+', '_', 'g') || ' ' || i.grade end
    from ragdb.eval_case_results c
      cross join lateral (
        select t.rank, t.item, t.grade from ragdb.eval_items t
        where what = 'run' and t.corpus_id = c.corpus_id and t.run_id = c.run_id
          and t.case_no = c.case_no
        union all
        select l.label_no, l.source || case when l.start_offset is null then ''
          else '#' || l.start_offset || '-' || l.end_offset end, l.grade
        from ragdb.eval_labels l
        where what = 'qrels' and l.corpus_id = c.corpus_id and l.rag = v_run.rag
          and l.eval = v_run.eval and l.name = c.name) i
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id and c.kind = 'case'
    order by c.case_no, i.rank;
end $$;
comment on function ragdb.export_trec(uuid, text) is
  'Returns the lines of a TREC run file, or of the qrels of the labels that were imported for its '
  'eval. Raises RG400, RG443.';
