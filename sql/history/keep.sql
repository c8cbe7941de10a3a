-- Which corpora keep their history and for how long, and the sweep of what is older.

-- Refuses a time to keep history for that is not over 0 and up to 100 years. Raises RG400.
create or replace function ragdb_internal.check_history(history interval) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if (history > interval '0' and history <= interval '100 years') is not true then
    raise exception 'history is %', coalesce(history::text, 'null')
      using errcode = 'RG400', detail = 'it is how long a corpus can be searched as it was',
        hint = 'pass an interval up to 100 years, such as ''90 days''; ragdb.drop_history() '
               'keeps none';
  end if;
end $$;

create or replace function ragdb.keep_history(corpus text, history interval)
returns table (kept_for interval, from_version bigint, since timestamptz)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(keep_history.corpus, 'admin');
begin
  perform ragdb_internal.check_history(keep_history.history);
  if v_corpus.part_of is not null then
    raise exception 'corpus % is a part and keeps no history', ragdb_internal.quote(v_corpus.name)
      using errcode = 'RG400', detail = 'what the statistics of a whole were is not kept',
        hint = 'a corpus that stands alone can keep its history';
  end if;
  return query
    update ragdb.corpora c
      set history = keep_history.history, history_from = coalesce(c.history_from, c.version),
        history_since = coalesce(c.history_since, ragdb_internal.now())
      where c.corpus_id = v_corpus.corpus_id
      returning c.history, c.history_from, c.history_since;
  perform ragdb_internal.record_state('settings', v_corpus.corpus_id);
end $$;
comment on function ragdb.keep_history is
  'Has a corpus keep its history from now on, so that it can be searched as it was for as long as '
  'the interval says. Returns how it is kept, from which version and since when. Raises RG400, '
  'RG401, RG404.';

create or replace function ragdb.drop_history(corpus text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(drop_history.corpus, 'admin');
  v_rows bigint;
begin
  delete from ragdb.past_rows p where p.corpus_id = v_corpus.corpus_id;
  get diagnostics v_rows = row_count;
  delete from ragdb.corpus_versions v where v.corpus_id = v_corpus.corpus_id;
  update ragdb.corpora c set history = null, history_from = null, history_since = null
    where c.corpus_id = v_corpus.corpus_id;
  perform ragdb_internal.record_state('settings', v_corpus.corpus_id);
  perform ragdb_internal.record_deletion('history_dropped', v_corpus, '{}',
    ragdb_internal.counted(v_rows, 'row') || ' of the history');
  return v_rows;
end $$;
comment on function ragdb.drop_history is
  'Removes the history of a corpus, on record, and has it keep none, and returns how many rows it '
  'had. Raises RG400, RG401, RG404.';

-- Drops what corpora keep longer than their history, at most so many rows, and returns how many
-- went. Corpora that somebody is writing to are left for the next time. What was changed before the
-- interval began is not asked for again. A corpus that somebody writes to is left for the next
-- time, and so is what is over the limit.
create or replace function ragdb_internal.sweep_history(most integer default 20000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus record;
  v_first record;
  v_gone integer := 0;
begin
  for v_corpus in
    select c.corpus_id, c.history, c.history_from from ragdb.corpora c
      where c.history is not null and ragdb_internal.now() - c.history > (
          select v.began_at from ragdb.corpus_versions v
          where v.corpus_id = c.corpus_id order by v.version limit 1)
      order by c.corpus_id
  loop
    perform from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id
      for no key update skip locked;
    continue when not found;
    select v.version, v.began_at into v_first from ragdb.corpus_versions v
      where v.corpus_id = v_corpus.corpus_id
        and v.began_at < ragdb_internal.now() - v_corpus.history
      order by v.version desc limit 1;
    continue when not found;
    update ragdb.corpora c set history_from = v_first.version, history_since = v_first.began_at
      where c.corpus_id = v_corpus.corpus_id and c.history_from < v_first.version;
    perform ragdb_internal.record_state('settings', v_corpus.corpus_id) where found;
    with gone as (
      delete from ragdb.past_rows p where p.ctid = any (array(
        select o.ctid from ragdb.past_rows o
          where o.corpus_id = v_corpus.corpus_id and o.until <= v_first.version
            and o.kind = any (ragdb_internal.past_kinds())
          limit most - v_gone))
      returning 1
    )
    select v_gone + count(*) into v_gone from gone;
    exit when v_gone >= most;
    delete from ragdb.corpus_versions v
      where v.corpus_id = v_corpus.corpus_id and v.version <= v_first.version;
  end loop;
  return v_gone;
end $$;
