-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it
-- differs.

-- Null where the search ranked without an embedding, and where its embedding was not kept.
create or replace function ragdb_internal.recorded_embedding(trace ragdb.retrieval_traces)
returns real[]
language sql stable parallel safe
return (
  select ragdb_internal.numbers(q.embedding)
    from ragdb.embedders e join ragdb.query_embeddings q on q.embedder_id = e.embedder_id
    where e.name = (trace).embedding_model and q.corpus_id = (trace).corpus_id
      and q.embedding_hash = pg_catalog.decode((trace).query_embedding_hash, 'hex'));
comment on function ragdb_internal.recorded_embedding(ragdb.retrieval_traces) is
  'Returns the query''s embedding that a trace names by its hash, if it was kept.';

-- What stands in the way of running a recorded retrieval again, as (verdict, cause, detail).
create or replace function ragdb_internal.replay_obstacle(
  trace ragdb.retrieval_traces, corpus ragdb.corpora,
  out verdict text, out cause text, out detail text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder text;
begin
  verdict := 'not_replayable';
  if trace.error_code is not null then
    cause := 'failed_retrieval';
    detail := 'the retrieval ended with ' || trace.error_code;
  elsif trace.query_text is null then
    cause := 'query_text_not_kept';
    detail := 'the corpus kept none or only the hash of it';
  elsif ragdb_internal.uses_embeddings(trace.rank_mode) then
    select e.name into v_embedder from ragdb_internal.space(corpus.corpus_id, 'current') s
      join ragdb.embedders e on e.embedder_id = s.embedder_id;
    if v_embedder is distinct from trace.embedding_model then
      verdict := 'drifted';
      cause := 'embedder_changed';
      detail := format('the corpus was searched by the embeddings of %s and has %s',
        trace.embedding_model, coalesce('those of ' || v_embedder, 'none'));
    elsif ragdb_internal.recorded_embedding(trace) is null then
      cause := 'query_embedding_not_kept';
      detail := 'ragdb.query_embeddings has none of hash ' || trace.query_embedding_hash;
    end if;
  end if;
  if cause is null then
    verdict := null;
  end if;
end $$;
comment on function ragdb_internal.replay_obstacle(ragdb.retrieval_traces, ragdb.corpora) is
  'Says why a recorded retrieval cannot be run again: failed_retrieval, query_text_not_kept, '
  'embedder_changed or query_embedding_not_kept; nulls when it can.';

create or replace function ragdb_internal.recorded_arguments(trace ragdb.retrieval_traces)
returns ragdb_internal.search_arguments
language sql stable parallel safe
return row(
  (trace).query_text, (trace).limit_requested, (trace).rank_mode, (trace).min_score,
  (trace).filters, (trace).chunk_ids, (trace).statistics,
  ragdb_internal.recorded_embedding(trace)::float8[],
  coalesce((trace).ranking ->> 'fusion', 'convex'),
  coalesce(((trace).ranking ->> 'lexical_weight')::float8, 0.5::float8),
  coalesce(((trace).ranking ->> 'min_lexical')::float8, 0),
  coalesce(((trace).ranking ->> 'min_semantic')::float8, 0),
  ragdb_internal.recorded_options((trace).ranking))::ragdb_internal.search_arguments;
comment on function ragdb_internal.recorded_arguments(ragdb.retrieval_traces) is
  'Returns what a trace recorded of what was asked.';

create or replace function ragdb_internal.search_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, asked ragdb_internal.search_arguments)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  -- the fields of turns are filters of slices only
  if trace.slice_id is not null then
    return ragdb_internal.search_turns(corpus, asked);
  end if;
  return array(select h from ragdb_internal.search_as(corpus.name, asked) h order by h.rank);
end $$;
comment on function ragdb_internal.search_again(
  ragdb.retrieval_traces, ragdb.corpora, ragdb_internal.search_arguments) is
  'Searches as a trace was recorded, under a slice or not.';

create or replace function ragdb_internal.replayed_hits(
  trace ragdb.retrieval_traces, corpus ragdb.corpora)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked ragdb_internal.search_arguments := ragdb_internal.recorded_arguments(trace);
begin
  if trace.slice_id is not null then
    v_asked.chunk_ids :=
      (ragdb_internal.stored_slice(corpus.corpus_id, trace.slice_id)).chunk_ids;
  end if;
  return ragdb_internal.search_again(trace, corpus, v_asked);
end $$;
comment on function ragdb_internal.replayed_hits(ragdb.retrieval_traces, ragdb.corpora) is
  'Returns the hits of a recorded retrieval when it is run again. Raises RG435.';

create type ragdb_internal.replayed as (
  verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[],
  replayed_chunk_ids text[]);
comment on type ragdb_internal.replayed is 'What a replay found, as ragdb.replay returns it.';

create or replace function ragdb_internal.replay_verdict(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, slice ragdb.slices,
  recorded ragdb.retrieval_hits[], replayed ragdb.hit[])
returns text
language sql stable parallel safe
begin atomic
  with before as (
    select coalesce(pg_catalog.array_agg(
          h.chunk_id || ' ' || pg_catalog.encode(h.content_hash, 'hex') order by h.rank), '{}')
          as contents,
        pg_catalog.array_agg(h.score order by h.rank) as scores
      from pg_catalog.unnest(replay_verdict.recorded) h
  ), after as (
    select coalesce(pg_catalog.array_agg(
          h.chunk_id || ' ' || h.content_hash order by h.rank), '{}') as contents,
        pg_catalog.array_agg(h.score order by h.rank) as scores
      from pg_catalog.unnest(replay_verdict.replayed) h
  )
  select case
      when (trace).slice_id is not null
        and (ragdb_internal.fingerprinted(corpus, slice)).slice_id <> (trace).slice_id
        then 'drifted'
      when a.contents = b.contents and a.scores is not distinct from b.scores then 'exact'
      when a.contents = b.contents then 'same_order'
      when a.contents @> b.contents and a.contents <@ b.contents then 'same_set'
      else 'drifted' end
    from before b, after a;
end;
comment on function ragdb_internal.replay_verdict(
  ragdb.retrieval_traces, ragdb.corpora, ragdb.slices, ragdb.retrieval_hits[], ragdb.hit[]) is
  'Says how hits compare with those recorded: exact, same_order, same_set or drifted, and drifted '
  'where the slice is not the one recorded.';

create or replace function ragdb_internal.explain_drift(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, changed_chunk_ids text[],
  out cause text, out detail text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.ranking_hash(corpus) is distinct from trace.ranking_hash then
    cause := 'config_changed';
    detail := 'how the corpus ranks (text configuration, k1, b, pivot, synonyms) is not as it was';
  elsif not trace.is_exact and corpus.version = trace.corpus_version
    and changed_chunk_ids = '{}'
  then
    cause := 'ann_nondeterminism';
    detail := 'the recorded search was approximate';
  else
    cause := 'corpus_changed';
    detail := format('the corpus was at version %s and is at %s; %s',
      trace.corpus_version, corpus.version, coalesce(
        'chunks changed, gone or new: '
          || nullif(left(array_to_string(changed_chunk_ids, ', '), 500), ''),
        'statistics, edges or embeddings changed, no hit did'));
  end if;
end $$;
comment on function ragdb_internal.explain_drift(
  ragdb.retrieval_traces, ragdb.corpora, text[]) is
  'Says why a replay is not exact: config_changed, ann_nondeterminism or corpus_changed.';

create or replace function ragdb_internal.compare_replay(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, recorded ragdb.retrieval_hits[],
  known ragdb_internal.replayed)
returns ragdb_internal.replayed
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice ragdb.slices;
  v_replayed constant ragdb.hit[] := ragdb_internal.replayed_hits(trace, corpus);
begin
  if trace.slice_id is not null then
    v_slice := ragdb_internal.stored_slice(corpus.corpus_id, trace.slice_id);
    known.changed_chunk_ids := ragdb_internal.changed_members(v_slice);
  end if;
  known.replayed_chunk_ids := array(
    select h.chunk_id from unnest(v_replayed) h order by h.rank);
  if coalesce(known.changed_chunk_ids, '{}') = '{}' then
    -- hits that are gone or say something else, and hits that were not recorded
    known.changed_chunk_ids := array(
      select h.chunk_id from unnest(recorded) h
        left join ragdb.chunks c on c.corpus_id = corpus.corpus_id and c.chunk_id = h.chunk_id
        where ragdb_internal.content_hash(c.text) is distinct from h.content_hash
      union
      select r from unnest(known.replayed_chunk_ids) r where r <> all (known.recorded_chunk_ids)
      order by 1);
  end if;
  known.verdict := ragdb_internal.replay_verdict(trace, corpus, v_slice, recorded, v_replayed);
  if known.verdict <> 'exact' then
    select d.cause, d.detail into known.cause, known.detail
      from ragdb_internal.explain_drift(trace, corpus, known.changed_chunk_ids) d;
  end if;
  return known;
end $$;
comment on function ragdb_internal.compare_replay(
  ragdb.retrieval_traces, ragdb.corpora, ragdb.retrieval_hits[], ragdb_internal.replayed) is
  'Runs a recorded retrieval again and adds to what is known how it compares. Raises RG435.';

-- Definer: traces are granted to nobody.
create or replace function ragdb.replay(trace_id uuid)
returns table (
  verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[],
  replayed_chunk_ids text[])
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(replay.trace_id);
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read');
  v_recorded constant ragdb.retrieval_hits[] := array(
    select h from ragdb.trace_hits(v_trace.id) h order by h.rank);
  v_found ragdb_internal.replayed;
begin
  v_found.recorded_chunk_ids := array(
    select h.chunk_id from unnest(v_recorded) h order by h.rank);
  select string_agg(v.field, ', ') into v_found.detail
    from ragdb.verify_trace(v_trace.id) v where v.subject = 'record' and not v.is_intact;
  if v_found.detail is not null then
    v_found.verdict := 'drifted';
    v_found.cause := 'trace_tampered';
    v_found.detail := 'the rows of the trace are not what was recorded: ' || v_found.detail;
  else
    select o.verdict, o.cause, o.detail into v_found.verdict, v_found.cause, v_found.detail
      from ragdb_internal.replay_obstacle(v_trace, v_corpus) o;
    if v_found.verdict is null then
      v_found := ragdb_internal.compare_replay(v_trace, v_corpus, v_recorded, v_found);
    end if;
  end if;
  return query select v_found.*;
end $$;
comment on function ragdb.replay(uuid) is
  'Runs a recorded retrieval again and says how it compares: exact (ids, contents, order, scores), '
  'same_order, same_set or drifted, with the cause (trace_tampered, embedder_changed, '
  'config_changed, corpus_changed, ann_nondeterminism) and the chunks that differ; or '
  'not_replayable with its cause (failed_retrieval, query_text_not_kept, '
  'query_embedding_not_kept). Raises RG400, RG404, RG407.';
