-- Reports of runs, from the same rows in every format.

create or replace function ragdb.eval_report(run_id uuid, format text default 'table') returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  case format
    when 'table' then return ragdb_internal.report_table(v_run);
    when 'tap' then return ragdb_internal.report_tap(v_run);
    when 'junit' then return ragdb_internal.report_junit(v_run);
    when 'md' then return ragdb_internal.report_md(v_run);
    when 'csv' then return ragdb_internal.report_csv(v_run);
    when 'json' then return ragdb_internal.report_json(v_run);
    else
      raise exception 'format is %', ragdb_internal.quote(format)
        using errcode = 'RG400', detail = 'a report is written in one of six formats',
          hint = 'table, tap, junit, md, csv or json';
  end case;
end $$;
comment on function ragdb.eval_report is
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
    raise exception 'run of % did not pass', ragdb_internal.quote(ragdb_internal.run_title(v_run))
      using errcode = 'RG444',
            detail = format('%s of %s cases passed%s', v_run.passed_cases, v_run.cases,
              coalesce('; ' || nullif(array_to_string(v_run.reasons, '; '), ''), '')),
            hint = 'ragdb.eval_report() says what was expected';
  end if;
end $$;
comment on function ragdb.assert_run_passed is
  'Does nothing for a run that passed: in a script that stops at errors it is the gate. Raises '
  'RG443, RG444.';

-- Returns a text without white space, which ends a column of TREC; one that has some is told from
-- others by digits of its hash. All of Unicode's, by its numbers: what \s is depends on the locale,
-- and readers split at more.
create or replace function ragdb_internal.one_word(text text) returns text
language sql immutable parallel safe
return (
  select w.word || case when w.word = one_word.text then '' else '~' || pg_catalog.left(
    pg_catalog.encode(pg_catalog.sha256(ragdb_internal.utf8(one_word.text)), 'hex'), 8) end
  from pg_catalog.regexp_replace(one_word.text, U&'[\0009-\000D\001C-\0020\0085\00A0\1680'
    '\2000-\200A\2028\2029\202F\205F\3000]+', '_', 'g') w (word));

-- Returns the labels of the cases of a run as files of TREC have them: those that measure, each
-- document or span under one name, and the stale ones.
create or replace function ragdb_internal.exported_labels(run ragdb.eval_runs)
returns setof ragdb_internal.eval_label
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_labels constant ragdb_internal.eval_label[] := ragdb_internal.resolved_labels(run.corpus_id,
    array(
      select row(c.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade,
        l.span_hash, null, null, null)::ragdb_internal.eval_label
      from ragdb.eval_case_results c
        join ragdb.eval_labels l on l.corpus_id = c.corpus_id and l.rag = run.rag
          and l.eval = run.eval and l.name = c.name
      where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case'));
begin
  return query select m.* from ragdb_internal.measuring_labels(v_labels) m;
  return query select l.* from unnest(v_labels) l where l.is_stale;
end $$;

-- Returns the rows of a file of TREC: those of some labels, or of what a run ranked where they are
-- null. Hashed: of a run that is newer than the statistics the planner believes that it has a case,
-- and would go through all its items for each.
create or replace function ragdb_internal.exported_items(run ragdb.eval_runs,
  labels ragdb_internal.eval_label[])
returns table (case_no integer, name text, rank integer, item text, grade integer)
language sql stable parallel safe
set enable_nestloop = off
begin atomic
  select c.case_no, c.name, i.rank, i.item, i.grade
  from (
    select t.case_no, t.rank, t.item, t.grade from ragdb.eval_items t
    where labels is null and t.corpus_id = (run).corpus_id and t.run_id = (run).run_id
    union all
    select l.case_no, l.label_no,
      ragdb_internal.label_item(l.source, l.start_offset, l.end_offset), l.grade
    from pg_catalog.unnest(labels) l) i
    join ragdb.eval_case_results c on c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
      and c.kind = 'case' and c.case_no = i.case_no;
end;

-- Scores are made of the rank and strictly decrease: evaluators of TREC break ties each in their
-- own way.
create or replace function ragdb.export_trec(run_id uuid, what text default 'run')
  returns setof text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
  v_labels ragdb_internal.eval_label[];
begin
  if what is null or what not in ('run', 'qrels') then
    raise exception 'what is %', ragdb_internal.quote(what)
      using errcode = 'RG400', detail = 'an export is of what was ranked, or of the labels',
        hint = 'run or qrels';
  end if;
  if what = 'qrels' then
    v_labels := array(select l from ragdb_internal.exported_labels(v_run) l);
  end if;
  return query
    select ragdb_internal.one_word(i.name) || case what
      when 'run' then ' Q0 ' || ragdb_internal.one_word(i.item) || ' ' || i.rank || ' '
        || to_char(1 / (i.rank::numeric + 1), 'FM0.000000000') || ' ragdb'
      else ' 0 ' || ragdb_internal.one_word(i.item) || ' ' || i.grade end
    from ragdb_internal.exported_items(v_run, v_labels) i
    order by i.case_no, i.rank;
end $$;
comment on function ragdb.export_trec is
  'Returns the lines of a TREC run file, or of the qrels of the labels of its cases, among them '
  'the sources that a contract gives a case; of the labels of one document or span the one that '
  'measures. In a name white space is _, and ~ and digits of its hash end it. Raises RG400, RG443.';
