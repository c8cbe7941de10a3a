-- What a replay changes, hit by hit: which left, entered or moved, and whose text is another.

-- Puts recorded hits beside those of a replay (null: there is none), in the order of the replay.
create or replace function ragdb_internal.compared_hits(
  recorded ragdb.retrieval_hits[], replayed ragdb.hit[])
returns table (
  chunk_id text, change text, recorded_rank integer, replayed_rank integer,
  recorded_score float8, replayed_score float8, content_hash bytea)
language sql immutable parallel safe
begin atomic
  select coalesce(a.chunk_id, b.chunk_id),
    case when compared_hits.replayed is null then null
      when b.rank is null then 'left' when a.rank is null then 'entered'
      when a.rank <> b.rank then 'moved' else 'same' end,
    a.rank, b.rank, a.score, b.score, a.content_hash
  from pg_catalog.unnest(compared_hits.recorded) a
    full join pg_catalog.unnest(compared_hits.replayed) b on b.chunk_id = a.chunk_id
  order by coalesce(b.rank, a.rank), b.rank nulls last;
end;

-- Returns chunks of a corpus as it was (null: today) with the titles of their documents.
create or replace function ragdb_internal.chunks_of_hits(
  corpus ragdb.corpora, as_of bigint, chunk_ids text[])
returns table (chunk_id text, source text, title text, heading text[], page integer, text text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_then ragdb.corpora;
begin
  if as_of is null then
    return query
      select k.chunk_id, k.source, d.title, k.heading, k.page, k.text
      from unnest(chunks_of_hits.chunk_ids) n (chunk_id)
        cross join lateral ragdb_internal.chunk_of(corpus.corpus_id, n.chunk_id) k
        join ragdb.documents d on d.corpus_id = k.corpus_id and d.doc_no = k.doc_no;
    return;
  end if;
  v_then := (ragdb_internal.corpus_at(corpus, as_of)).corpus;
  return query
    select k.chunk_id, k.source, d.title, k.heading, k.page, k.text
    from ragdb_internal.chunks_then(v_then) k
      join ragdb_internal.documents_then(v_then) d on d.doc_no = k.doc_no
    where k.chunk_id = any (chunks_of_hits.chunk_ids);
end $$;

-- Definer: traces are granted to nobody.
create or replace function ragdb.replay_hits(trace_id uuid)
returns table (
  chunk_id text, change text, recorded_rank integer, replayed_rank integer,
  recorded_score float8, replayed_score float8, is_unchanged boolean, source text, title text,
  heading text[], page integer, text text, as_of bigint)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(replay_hits.trace_id);
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read', true, true);
  v_as_of constant bigint := ragdb_internal.replay_version(v_trace, v_corpus);
  v_obstacle constant text := (
    select o.verdict from ragdb_internal.replay_obstacle(v_trace, v_corpus, v_as_of) o);
  v_recorded constant ragdb.retrieval_hits[] := array(select r from ragdb.trace_hits(v_trace.id) r);
  v_replayed constant ragdb.hit[] := case when v_obstacle is null
    then ragdb_internal.replayed_hits(v_trace, v_corpus, v_as_of) end;
begin
  return query
    with h as materialized (
      select * from ragdb_internal.compared_hits(v_recorded, v_replayed))
    select h.chunk_id, h.change, h.recorded_rank, h.replayed_rank, h.recorded_score,
        h.replayed_score, case when h.recorded_rank is not null
          then ragdb_internal.content_hash(c.text) is not distinct from h.content_hash end,
        c.source, c.title, c.heading, c.page, c.text, v_as_of
      from h
        left join ragdb_internal.chunks_of_hits(v_corpus, v_as_of, array(
          select h.chunk_id from h)) c on c.chunk_id = h.chunk_id
      order by coalesce(h.replayed_rank, h.recorded_rank), h.replayed_rank nulls last;
end $$;
comment on function ragdb.replay_hits is
  'Runs a recorded retrieval again, in its corpus as it was then where the history of that was '
  'kept, and returns what was recorded beside what is found, in the order of the latter: change is '
  'same, moved, left or entered, and null where the retrieval cannot be run again; is_unchanged is '
  'whether a recorded chunk says what it said, and null for one that entered; its source and text '
  'are those of the version as_of, or of now where that is null; null where it is gone. Raises '
  'RG400, RG404, RG407, RG435.';
