-- Retention of traces: whole months (UTC) go, and the embeddings of questions that no trace names
-- any more. An embedding tells much of its text, so it may not outlive what was asked. Those that
-- are kept under their questions go by themselves: a search that is not recorded needs them, too.

-- Returns the places of embeddings of queries stored before a time that neither a trace since a
-- time nor a kept query names.
create or replace function ragdb_internal.unnamed_query_embeddings(
  before timestamptz, traced_since timestamptz)
returns table (place tid)
language sql stable parallel safe
begin atomic
  select q.ctid
  from ragdb.query_embeddings q
  where q.created_at < unnamed_query_embeddings.before
    and not exists (select from ragdb.retrieval_traces t
      where t.created_at >= unnamed_query_embeddings.traced_since
        and t.corpus_id = q.corpus_id
        and t.query_embedding_hash = pg_catalog.encode(q.embedding_hash, 'hex'))
    and not exists (select from ragdb.embedded_queries k
      where k.corpus_id = q.corpus_id and k.embedder_id = q.embedder_id
        and k.embedding_hash = q.embedding_hash and k.stored_by = q.stored_by);
end;

-- Deletes the embeddings of queries stored before a time that no trace since a time and no kept
-- query names. What a retrieval under way has found it holds, and is passed over; whoever finds one
-- that is locked here stores its own (ragdb_internal.keep_query_embedding). So nobody waits, and a
-- second look, once they are locked, sees each trace that names one. It needs the snapshot of its
-- own statement: a transaction with one for all its statements deletes nothing.
create or replace function ragdb_internal.drop_query_embeddings(
  before timestamptz, traced_since timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
declare
  v_locked tid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;
  v_locked := array(
    select q.ctid from ragdb.query_embeddings q
      where q.ctid = any (array(
        select u.place from ragdb_internal.unnamed_query_embeddings(before, traced_since) u))
      for update skip locked);
  delete from ragdb.query_embeddings q
    using ragdb_internal.unnamed_query_embeddings(before, traced_since) u
    where q.ctid = any (v_locked) and q.ctid = u.place;
end $$;

create or replace function ragdb.drop_traces_before(before date)
returns table (month date, traces bigint, hits bigint)
language plpgsql security definer -- it drops tables of the owner
set search_path = pg_catalog, pg_temp
as $$
declare
  v_months date[];
begin
  perform ragdb_internal.check_ended(before, 'months that ended');
  -- in the order of upkeep, so that the two do not deadlock
  perform ragdb_internal.hold('rollups');
  perform ragdb_internal.make_due_partitions();
  perform ragdb_internal.hold('maintain');
  v_months := array(
    select m.first from ragdb_internal.traced_months() m (first)
      where m.first + interval '1 month' <= before order by 1);
  if v_months = '{}' then
    return;
  end if;
  -- what is under way in these months ends, and is counted; counts outlive what is counted
  perform ragdb_internal.lock_in_turn(
    ragdb_internal.trace_tables(v_months), 'share row exclusive');
  perform ragdb_internal.recount_rollups(true);
  foreach month in array v_months loop
    select count(*) into traces from ragdb.retrieval_traces t
      where t.created_at >= month::timestamp at time zone 'UTC'
        and t.created_at < (month + interval '1 month') at time zone 'UTC';
    select count(*) into hits from ragdb.retrieval_hits h
      where h.created_at >= month::timestamp at time zone 'UTC'
        and h.created_at < (month + interval '1 month') at time zone 'UTC';
    perform ragdb_internal.record_retention(month, ragdb_internal.counted(traces, 'trace')
      || ', ' || ragdb_internal.counted(hits, 'hit'));
    return next;
  end loop;
  insert into ragdb.settings as s (key, value)
    values ('traces_kept_from',
      to_jsonb(to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00'))
    on conflict on constraint settings_key_is_unique do update
      set value = greatest(s.value, excluded.value);
  perform ragdb_internal.drop_query_embeddings(k.kept_from, k.kept_from)
    from (select (month + interval '1 month') at time zone 'UTC' as kept_from) k;
  -- last, for it holds up everybody until the commit
  perform ragdb_internal.lock_in_turn(ragdb_internal.trace_tables(), 'access exclusive');
  execute 'drop table ' || ragdb_internal.trace_tables(v_months);
end $$;
comment on function ragdb.drop_traces_before is
  'Drops the traces of whole months (UTC) that ended before a day, of every corpus, with their '
  'rerankings, gates, answers and feedback, and the embeddings of questions that no later trace '
  'names, and returns each month with the number of traces and hits dropped. It waits for who '
  'reads or writes traces, and holds up nobody while it waits. Raises RG400.';

create or replace function ragdb.drop_kept_queries_before(before date)
returns table (corpus text, queries bigint)
language plpgsql security definer -- it deletes rows of the owner
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_before timestamptz;
begin
  perform ragdb_internal.check_ended(before, 'queries');
  v_before := before::timestamp at time zone 'UTC';
  return query
    with gone as (
      delete from ragdb.embedded_queries q where q.due_at < v_before returning q.corpus_id)
    select c.name, count(*) from gone g join ragdb.corpora c on c.corpus_id = g.corpus_id
      group by c.name order by c.name;
  perform ragdb_internal.drop_query_embeddings(v_before, '-infinity');
end $$;
comment on function ragdb.drop_kept_queries_before is
  'Drops what ragdb.put_query_embedding and ragdb.embed_query kept under questions, or has waited '
  'for a worker, since before a day (UTC), of every corpus, with the embeddings that no trace '
  'names, and returns how many of each. Who asks such a question by meaning again has it embedded '
  'again. A transaction of repeatable read leaves the embeddings to the next call. Raises RG400.';
