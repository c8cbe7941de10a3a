-- The runs of evals as they are stored.

create or replace function ragdb.get_eval_run(run_id uuid) returns ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  select r.* into v_run from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where r.run_id = get_eval_run.run_id
      and ragdb_internal.privilege(c) > 0;
  if not found then
    raise exception 'run % does not exist', ragdb_internal.quote(run_id::text)
      using errcode = 'RG443', detail = 'no run of that id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_eval_runs() lists the latest';
  end if;
  return v_run;
end $$;
comment on function ragdb.get_eval_run is
  'Returns a run of an eval whose corpus the caller may read. Raises RG443.';

create or replace function ragdb.list_eval_runs(rag text default null, eval text default null,
  count integer default 50, since timestamptz default null)
returns setof ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'runs');
  return query
    select r.* from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where ragdb_internal.privilege(c) > 0
      and (list_eval_runs.rag is null or r.rag = list_eval_runs.rag)
      and (list_eval_runs.eval is null or r.eval = list_eval_runs.eval)
      and r.created_at >= coalesce(list_eval_runs.since, '-infinity')
    order by r.run_id desc limit list_eval_runs.count;
end $$;
comment on function ragdb.list_eval_runs is
  'Returns the latest runs, newest first, of one rag and eval or of all that the caller may see, '
  'begun at or after since; count is 1 to 10000. Raises RG400.';

create or replace function ragdb.find_run(prefix text) returns uuid
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_range constant ragdb_internal.id_range := ragdb_internal.id_range(prefix);
  v_id uuid;
begin
  v_id := ragdb_internal.only_id(array(
    select r.run_id from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
      where r.run_id between v_range.low and v_range.high and ragdb_internal.privilege(c) > 0
      order by r.run_id limit 2), 'run', prefix);
  if v_id is null then
    raise exception 'no run begins with %', ragdb_internal.quote(prefix)
      using errcode = 'RG443', detail = 'no run of such an id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_eval_runs() lists the latest';
  end if;
  return v_id;
end $$;
comment on function ragdb.find_run is
  'Returns the id of the one run that the caller may see and whose id begins so: 8 to 32 '
  'hexadecimal digits, with or without hyphens. Raises RG400, also where two do, and RG443.';

create or replace function ragdb.eval_case_results(
  run_id uuid, after integer default 0, count integer default null)
  returns setof ragdb.eval_case_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  perform ragdb_internal.check_paged('', after::text, 'case_no'),
    ragdb_internal.check_listed(coalesce(count, 1), 'cases');
  return query select c.* from ragdb.eval_case_results c
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id
      and c.case_no > eval_case_results.after
    order by c.case_no limit eval_case_results.count;
end $$;
comment on function ragdb.eval_case_results is
  'Returns the cases of a run in their order whose number is greater than after: all, or count (1 '
  'to 10000) of them. Raises RG400, RG443.';

create or replace function ragdb.eval_assert_results(
  run_id uuid, after integer default 0, last integer default null)
  returns setof ragdb.eval_assert_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  perform ragdb_internal.check_paged('', after::text, 'case_no');
  return query select a.* from ragdb.eval_assert_results a
    where a.corpus_id = v_run.corpus_id and a.run_id = v_run.run_id
      and a.case_no > eval_assert_results.after
      and (eval_assert_results.last is null or a.case_no <= eval_assert_results.last)
    order by a.case_no, a.assert_no;
end $$;
comment on function ragdb.eval_assert_results is
  'Returns the outcome of every assertion of a run in their order, of the cases whose number is '
  'greater than after, up to last (null: all). Raises RG400, RG443.';

create or replace function ragdb.eval_metrics(
  run_id uuid, after integer default 0, last integer default null)
returns setof ragdb.eval_metrics
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  perform ragdb_internal.check_paged('', after::text, 'case_no');
  return query select m.* from ragdb.eval_metrics m
    where m.corpus_id = v_run.corpus_id and m.run_id = v_run.run_id
      and m.case_no > case eval_metrics.after when 0 then -1 else eval_metrics.after end
      and m.case_no <= coalesce(eval_metrics.last, 2147483647)
    order by m.case_no, m.metric;
end $$;
comment on function ragdb.eval_metrics is
  'Returns the metrics of the cases of a run whose number is greater than after, up to last (null: '
  'all), and those of the run (case 0) where after is 0. Raises RG400, RG443.';
