-- Baselines: the runs that others are compared with.

create or replace function ragdb.bless_run(run_id uuid, name text default 'main',
  reason text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
  v_corpus ragdb.corpora;
begin
  if name is null or length(name) not between 1 and 64 then
    raise exception 'name is %', ragdb_internal.quote(name)
      using errcode = 'RG400', detail = 'a baseline has a name of 1 to 64 characters',
        hint = 'leave it out for main';
  end if;
  if v_run.status = 'empty' then
    raise exception 'run % has no case', ragdb_internal.quote(run_id::text)
      using errcode = 'RG442', detail = 'nothing can be compared with it',
        hint = 'bless a run that ran something';
  end if;
  v_corpus := ragdb_internal.open_corpus(v_run.corpus, 'write', true);
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  perform ragdb_internal.open_again(v_corpus, 'write', true);
  -- held, and looked for again: it may have been dropped meanwhile
  perform from ragdb.eval_runs r where r.run_id = bless_run.run_id for key share;
  v_run := ragdb.get_eval_run(run_id);
  insert into ragdb.eval_baselines (corpus_id, rag, eval, name, run_id, blessed_at, blessed_by,
    reason)
    values (v_run.corpus_id, v_run.rag, v_run.eval, bless_run.name, v_run.run_id,
      ragdb_internal.now(), ragdb_internal.caller(), bless_run.reason)
    on conflict on constraint eval_baselines_name_is_unique_per_eval do update
      set run_id = excluded.run_id, blessed_at = excluded.blessed_at,
        blessed_by = excluded.blessed_by, reason = excluded.reason;
  perform ragdb_internal.record_state('baseline', v_run.corpus_id,
    jsonb_build_array(v_run.rag, v_run.eval, bless_run.name)::text);
end $$;
comment on function ragdb.bless_run is
  'Makes a run a baseline of its eval, in place of the one of that name. Raises RG400, RG401, '
  'RG442, RG443.';

create or replace function ragdb.baseline_run(rag text, eval text, name text default 'main')
  returns uuid
language sql stable parallel safe security definer
begin atomic
  select b.run_id from ragdb.eval_baselines b join ragdb.corpora c on c.corpus_id = b.corpus_id
  where b.rag = baseline_run.rag and b.eval = baseline_run.eval and b.name = baseline_run.name
    and ragdb_internal.privilege(c) > 0
  -- a rag may have had another corpus
  order by b.blessed_at desc, b.run_id desc limit 1;
end;
comment on function ragdb.baseline_run is
  'Returns the run that is the baseline of that name of an eval; null when there is none that the '
  'caller may see.';
