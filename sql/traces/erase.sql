-- What a dropped corpus leaves goes where nothing of it may stay: its traces, with the texts of its
-- questions and of what was answered, and its runs. Their entries in the ledger stay, and the act.

-- Returns the numbers of the corpora of a name that were dropped and have traces or runs left.
create or replace function ragdb_internal.dropped_with_traces(corpus text) returns integer[]
language sql stable parallel safe
return array(
  select l.corpus_id from (
    select t.corpus_id from ragdb.retrieval_traces t where t.corpus = dropped_with_traces.corpus
    union
    select r.corpus_id from ragdb.eval_runs r where r.corpus = dropped_with_traces.corpus) l
  where not exists (select from ragdb.corpora c where c.corpus_id = l.corpus_id)
  order by 1);

-- Deletes the rows r that meet a condition on $1 from the partitions of a table, and returns their
-- number.
create or replace function ragdb_internal.erase_from_partitions(
  parent text, condition text, value anyelement)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_partition text;
  v_rows bigint := 0;
begin
  for v_partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ('ragdb.' || parent)::regclass order by 1
  loop
    v_rows := v_rows + ragdb_internal.remove_rows(v_partition, condition, value);
  end loop;
  return v_rows;
end $$;

-- Deletes the baselines of some dropped corpora, and records that they are gone.
create or replace function ragdb_internal.erase_baselines(corpora integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone ragdb.eval_baselines[];
begin
  with gone as (
    delete from ragdb.eval_baselines b where b.corpus_id = any (corpora) returning b as baseline
  )
  select array_agg(g.baseline) into v_gone from gone g;
  perform ragdb_internal.record_state('baseline', g.corpus_id,
      jsonb_build_array(g.rag, g.eval, g.name)::text)
    from unnest(v_gone) g;
end $$;

-- A name that finds nothing is no error: in a cluster each node is asked.
create or replace function ragdb.erase_traces(corpus text, reason text default null)
returns table (traces bigint, answers bigint, runs bigint)
language plpgsql security definer rows 1 -- it deletes what is append-only
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent text;
  v_corpora integer[];
  v_rows bigint;
begin
  perform ragdb_internal.check_erasure('erase', reason);
  -- what is under way ends, and is erased too
  perform ragdb_internal.await_writers(ragdb_internal.trace_tables());
  -- after that wait, as an erasure waits for who holds words; before what holds up maintenance
  perform ragdb_internal.drop_all_words();
  -- in the order of ragdb.drop_traces_before; counts outlive what is counted
  perform ragdb_internal.recount_rollups(true), ragdb_internal.hold('maintain');
  v_corpora := ragdb_internal.dropped_with_traces(erase_traces.corpus);
  foreach v_parent in array ragdb_internal.partitioned() loop
    v_rows := ragdb_internal.erase_from_partitions(
      v_parent, 'r.corpus_id = any ($1)', v_corpora);
    traces := case v_parent when 'retrieval_traces' then v_rows else traces end;
    answers := case v_parent when 'evidence_answers' then v_rows else answers end;
  end loop;
  perform ragdb_internal.erase_baselines(v_corpora);
  delete from ragdb.eval_runs r where r.corpus_id = any (v_corpora);
  get diagnostics runs = row_count;
  perform ragdb_internal.record_traces_erased(c.corpus_id, reason)
    from unnest(v_corpora) c (corpus_id);
  if v_corpora = '{}' then
    raise notice 'nothing is left of a dropped corpus %', ragdb_internal.quote(corpus)
      using detail = 'traces of a corpus that is there stay',
            hint = 'drop it first: ragdb.drop_corpus()';
  end if;
  return next;
end $$;
comment on function ragdb.erase_traces is
  'Erases the traces of dropped corpora of a name, with their hits, rerankings, gates, answers and '
  'feedback, and their runs of evals, and returns how many traces, answers and runs went; the act '
  'in the ledger has the reason (up to 10000 characters). The words that static embedders keep go '
  'too, of all corpora. It waits for who records a retrieval or fills a corpus, and holds up '
  'nobody. A notice says so where nothing was left. Raises RG400.';
