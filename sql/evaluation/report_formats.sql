-- The formats of reports, each a text made of the same rows.

-- Returns a line for all that a run tested, and one for the cases that assert nothing. Hundreds of
-- judged cases that assert nothing would hide the one that fails.
create or replace function ragdb_internal.report_lines(run ragdb.eval_runs)
returns table (n bigint, line text)
language sql stable parallel safe
begin atomic
  select r.n, pg_catalog.rpad(case r.outcome when 'error' then 'ERROR' when 'failed' then 'FAIL'
      else r.outcome end, 10)
    || ragdb_internal.one_line(r.name || ': ' || r.message
      || coalesce(case r.code when 'ASSERTION_FAIL' then ', was ' || pg_catalog.left(r.was, 200)
        else ' (' || r.was || ')' end, ''))
  from ragdb_internal.report_rows(run) r where r.kind <> 'retrieved'
  union all
  select min(r.n), pg_catalog.rpad('ok', 10) || ragdb_internal.one_line(
      pg_catalog.array_to_string((pg_catalog.array_agg(r.name order by r.n))[:5], ', ')
      || case when count(*) > 5 then pg_catalog.format(' and %s more', count(*) - 5) else '' end
      || ': ' || min(r.message))
  from ragdb_internal.report_rows(run) r where r.kind = 'retrieved' having count(*) > 0;
end;

-- Returns the report of a run for a terminal.
create or replace function ragdb_internal.report_table(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(
  E'%s: %s\n%s of %s cases and %s of %s assertions passed, on %s (version %s) by %s, contract %s '
  'version %s\n',
    ragdb_internal.one_line(ragdb_internal.run_title(run)), (run).status, (run).passed_cases,
    (run).cases, (run).passed_assertions, (run).assertions, (run).corpus, (run).corpus_version,
    (run).rank_mode || coalesce(' and reranker ' || (run).reranker, ''), (run).contract,
    (run).contract_version)
  || coalesce((
    select E'\n' || pg_catalog.string_agg(l.line, E'\n' order by l.n) || E'\n'
    from ragdb_internal.report_lines(run) l), '')
  || coalesce((
    select E'\n' || pg_catalog.string_agg(pg_catalog.rpad(m.metric, 20)
      || pg_catalog.to_char(m.value, 'FM990.0000'), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id
      and m.case_no = 0), '');

-- Returns the report of a run as TAP 14; what is advisory is TODO.
create or replace function ragdb_internal.report_tap(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  select E'TAP version 13\n1..' || pg_catalog.count(*) || E'\n' || pg_catalog.string_agg(
    case when r.passed then 'ok ' else 'not ok ' end || r.n || ' - '
    || pg_catalog.replace(pg_catalog.replace(
      ragdb_internal.one_line(r.name || ': ' || r.message), '\', '\\'), '#', '\#')
    || case when r.outcome = 'advisory' then ' # TODO advisory' else '' end
    || case when r.passed then ''
      else pg_catalog.format(
        E'\n  ---\n  kind: %s\n  code: %s\n  expected: %s\n  actual: %s\n  ...',
      pg_catalog.to_json(r.kind), r.code,
      coalesce(ragdb_internal.one_line(r.expected::text), 'null'),
      coalesce(ragdb_internal.one_line(r.actual::text), 'null'))
        end, E'\n' order by r.n) || E'\n'
  from ragdb_internal.report_rows(run) r);

-- Returns a text as it is written in XML, U+FFFD for what XML 1.0 does not allow. By hand: a server
-- built without libxml has no xmlelement. XML 1.0 has no way to write most control characters.
create or replace function ragdb_internal.xml(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  pg_catalog.replace(
    pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  pg_catalog.regexp_replace(xml.text, U&'[\0001-\0008\000B\000C\000E-\001F\FFFE\FFFF]', U&'\FFFD',
    'g'),
  '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), E'\n', '&#10;'), E'\r', '&#13;'),
    E'\t', '&#9;');

-- Returns the report of a run as JUnit XML: a failed assertion is a failure, one that could not be
-- evaluated an error, an advisory one skipped.
create or replace function ragdb_internal.report_junit(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  select pg_catalog.format(
    E'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name="%s" tests="%s" '
    'failures="%s" errors="%s" skipped="%s" time="%s" timestamp="%s">\n',
      ragdb_internal.xml(ragdb_internal.run_title(run)), pg_catalog.count(*),
        pg_catalog.count(*) filter (where r.outcome = 'failed'),
      pg_catalog.count(*) filter (where r.outcome = 'error'),
        pg_catalog.count(*) filter (where r.outcome = 'advisory'),
      pg_catalog.to_char((run).elapsed_ms / 1000, 'FM9999990.000'),
        pg_catalog.to_char((run).created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'))
    || coalesce(pg_catalog.string_agg(
      pg_catalog.format('<testcase classname="%s" name="%s" time="%s"',
        ragdb_internal.xml((run).rag || '.' || (run).eval || '.' || r.name),
        ragdb_internal.xml(r.n || ' ' || r.message),
          pg_catalog.to_char(r.elapsed_ms / 1000, 'FM9999990.000'))
      || case r.outcome when 'ok' then '/>'
        when 'advisory' then pg_catalog.format('><skipped message="advisory: %s"/></testcase>',
          ragdb_internal.xml(r.message))
        else pg_catalog.format('><%1$s message="%2$s" type="%3$s">%4$s</%1$s></testcase>',
          case r.outcome when 'failed' then 'failure' else 'error' end,
          ragdb_internal.xml(r.message), r.code, ragdb_internal.xml(
            case r.outcome when 'failed' then 'was ' else '' end || r.was)) end, E'\n' order by r.n)
      || E'\n', '')
    || E'</testsuite>\n</testsuites>\n'
  from ragdb_internal.report_rows(run) r);

-- Returns a text as it is written in a table of Markdown.
create or replace function ragdb_internal.md(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(ragdb_internal.one_line(md.text),
  '([\\`*_<>|\[\]#&~])', '\\\1', 'g');

-- Returns the report of a run in Markdown: what did not pass, and the metrics.
create or replace function ragdb_internal.report_md(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(
  E'## %s: %s\n\n%s of %s cases and %s of %s assertions passed. Corpus %s, %s, contract %s version '
  '%s.\n', ragdb_internal.md(ragdb_internal.run_title(run)), (run).status,
    (run).passed_cases, (run).cases, (run).passed_assertions, (run).assertions,
      ragdb_internal.md((run).corpus),
    (run).rank_mode || coalesce(' and reranker ' || ragdb_internal.md((run).reranker), ''),
      ragdb_internal.md((run).contract), (run).contract_version)
  || coalesce((
    select E'\n| | case | expected | was |\n|---|---|---|---|\n'
      || pg_catalog.string_agg(pg_catalog.format('| %s | %s | %s | %s |', r.outcome,
      ragdb_internal.md(r.name), ragdb_internal.md(r.message),
      ragdb_internal.md(coalesce(pg_catalog.left(r.was, 200), ''))), E'\n'
        order by r.n) || E'\n'
    from ragdb_internal.report_rows(run) r where not r.passed), '')
  || coalesce((
    select E'\n| metric | value |\n|---|---:|\n'
      || pg_catalog.string_agg(pg_catalog.format('| %s | %s |', ragdb_internal.md(m.metric),
        pg_catalog.to_char(m.value, 'FM990.0000')), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id
      and m.case_no = 0), '');

-- Returns a text as a field of CSV that no spreadsheet runs. A formula is a text for a spreadsheet
-- only when it does not begin like one.
create or replace function ragdb_internal.csv(text text) returns text
language sql immutable parallel safe
return case when csv.text is null then '' else '"' || pg_catalog.replace(
  case when csv.text ~ '^[=+@\t\r-]' and csv.text !~ '^-?[0-9.]+$' then ''''
    else '' end || ragdb_internal.one_line(csv.text), '"', '""') || '"' end;

-- Returns everything that a run tested as CSV.
create or replace function ragdb_internal.report_csv(run ragdb.eval_runs) returns text
language sql stable parallel safe
return E'n,case,kind,required,passed,code,message,expected,actual\n' || coalesce((
  select pg_catalog.string_agg(pg_catalog.concat_ws(',', r.n, ragdb_internal.csv(r.name),
    ragdb_internal.csv(r.kind), r.required::text, r.passed::text, r.code,
    ragdb_internal.csv(r.message), ragdb_internal.csv(r.expected #>> '{}'),
    ragdb_internal.csv(r.actual #>> '{}')), E'\n' order by r.n) || E'\n'
  from ragdb_internal.report_rows(run) r), '');

-- Returns a run with all that it tested and its metrics as JSON.
create or replace function ragdb_internal.report_json(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.jsonb_pretty(pg_catalog.to_jsonb(run) || pg_catalog.jsonb_build_object(
  'results', coalesce((
    select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) - array['was', 'outcome'] order by r.n)
    from ragdb_internal.report_rows(run) r), '[]'),
  'metrics', coalesce((select pg_catalog.jsonb_object_agg(m.metric, m.value)
    from ragdb.eval_metrics m
    where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no = 0), '{}')))
      || E'\n';
