-- Old runs of evals, dropped on record.

-- Deletes those of some locked runs that are no baseline, and returns them. Who does not see yet
-- that one was blessed begins again. Raises 40001.
create or replace function ragdb_internal.delete_runs(run_ids uuid[]) returns ragdb.eval_runs[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone ragdb.eval_runs[];
begin
  with gone as (
    delete from ragdb.eval_runs r
      where r.run_id = any (run_ids)
        and not exists (select from ragdb.eval_baselines b
          where b.corpus_id = r.corpus_id and b.run_id = r.run_id)
      returning r as run
  )
  select array_agg(g.run) into v_gone from gone g;
  return v_gone;
exception when foreign_key_violation then
  raise exception 'a run was blessed meanwhile'
    using errcode = '40001', detail = 'this transaction does not see the baseline yet',
      hint = 'repeat the transaction';
end $$;

-- Which runs are to go is looked for again once they are locked: a run may have been blessed
-- meanwhile.
create or replace function ragdb.drop_eval_runs_before(before date, reason text default null)
returns table (corpus text, runs bigint)
language plpgsql security definer -- it deletes rows of the owner
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_locked uuid[];
  v_gone ragdb.eval_runs[];
begin
  perform ragdb_internal.check_ended(before, 'runs'),
    ragdb_internal.check_erasure('erase', reason);
  v_locked := array(
    select r.run_id from ragdb.eval_runs r
    where r.created_at < before::timestamp at time zone 'UTC'
      -- the latest of each eval, found once: to compare each run with each is the square of them
      and r.run_id not in (
        select distinct on (n.corpus_id, n.rag, n.eval) n.run_id from ragdb.eval_runs n
        order by n.corpus_id, n.rag, n.eval, n.created_at desc, n.run_id desc)
    order by r.run_id for update of r);
  v_gone := ragdb_internal.delete_runs(v_locked);
  if v_gone is null then
    return;
  end if;
  perform ragdb_internal.record_erased(array(
      select format('run:%s/%s', g.corpus_id, g.run_id) from unnest(v_gone) g),
    concat('runs of evals before ', to_char(before, 'YYYY-MM-DD'), ': ' || reason));
  return query
    select g.corpus, count(*) from unnest(v_gone) g group by g.corpus order by g.corpus;
end $$;
comment on function ragdb.drop_eval_runs_before is
  'Drops the runs of evals before a day (UTC), with their cases, assertions and metrics, of every '
  'corpus, and returns how many of each. Baselines stay, and so does the latest run of each eval. '
  'An act in the ledger names each run that went, and the reason (up to 10000 characters). Raises '
  'RG400.';
