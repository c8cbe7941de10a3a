-- A recorded retrieval run again in a corpus as it was when it was recorded.

-- Returns the version of a corpus that a trace is replayed as of; null where that is the corpus of
-- today, because it has not changed or its history was not kept.
create or replace function ragdb_internal.replay_version(
  trace ragdb.retrieval_traces, corpus ragdb.corpora)
returns bigint
language sql immutable parallel safe
return case when (corpus).history is not null
  and (trace).corpus_version between (corpus).history_from and (corpus).version - 1
  then (trace).corpus_version end;

-- Does for a corpus as it was what ragdb_internal.turn_filter does for today.
create or replace function ragdb_internal.turn_filter_then(
  corpus ragdb.corpora, filter jsonb, chunk_ids text[], out members text[], out rest jsonb)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant jsonb := turn_filter_then.filter;
  v_fields constant text[] := ragdb_internal.turn_fields();
begin
  members := turn_filter_then.chunk_ids;
  rest := v_filter;
  if coalesce(jsonb_typeof(v_filter) <> 'object', true) or not v_filter ?| v_fields then
    return;
  end if;
  members := array(
    select c.chunk_id
    from ragdb_internal.turns_then(corpus) t
      join ragdb_internal.chunks_then(corpus) c on c.chunk_no = t.chunk_no
    where ragdb_internal.meets_turn_filter(t, v_filter)
      and (turn_filter_then.chunk_ids is null or c.chunk_id = any (turn_filter_then.chunk_ids)));
  rest := nullif(v_filter - v_fields, '{}');
end $$;

-- Returns the hits of a recorded search of a corpus as it was, under a slice or not.
create or replace function ragdb_internal.hits_of_trace_then(
  corpus ragdb.corpora, as_of bigint, asked ragdb_internal.search_arguments, is_slice boolean)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turns record;
begin
  if is_slice then
    v_turns := ragdb_internal.turn_filter_then(
      (ragdb_internal.corpus_at(corpus, as_of)).corpus, asked.filter, asked.chunk_ids);
    asked.filter := v_turns.rest;
    asked.chunk_ids := v_turns.members;
  end if;
  return array(
    select h from ragdb_internal.search_as(corpus.name, asked, as_of) h order by h.rank);
end $$;

-- Tells whether chunks that a corpus had at a version were erased on purpose since.
create or replace function ragdb_internal.is_erased_since(
  corpus ragdb.corpora, as_of bigint)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.past_rows p
  where p.corpus_id = (is_erased_since.corpus).corpus_id and p.kind = 'chunk'
    and p.until > is_erased_since.as_of and p.erased_hash is not null);
