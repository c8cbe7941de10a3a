-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it
-- differs.

-- Null where the search ranked without an embedding, and where its embedding was not kept.
create or replace function ragdb_internal.recorded_embedding(trace ragdb.retrieval_traces) returns real[]
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

create or replace function ragdb_internal.search_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, k integer, min_score float8, filter jsonb,
  chunk_ids text[], min_lexical float8, min_semantic float8)
returns ragdb.hit[]
language sql stable parallel restricted
return (
  select case
      -- the fields of turns are filters of slices only
      when (trace).slice_id is not null then ragdb_internal.search_turns(
        search_again.corpus, (trace).query_text, search_again.k, (trace).rank_mode,
        search_again.min_score, search_again.filter, search_again.chunk_ids,
        (trace).statistics, r.embedding, r.fusion, r.lexical_weight, search_again.min_lexical,
        search_again.min_semantic)
      else array(select h from ragdb.search(
        corpus => (search_again.corpus).name, query => (trace).query_text,
        k => search_again.k, mode => (trace).rank_mode, min_score => search_again.min_score,
        filter => search_again.filter, chunk_ids => search_again.chunk_ids,
        statistics => (trace).statistics, query_embedding => r.embedding, fusion => r.fusion,
        lexical_weight => r.lexical_weight, min_lexical => search_again.min_lexical,
        min_semantic => search_again.min_semantic) h order by h.rank)
    end
    from (select ragdb_internal.recorded_embedding(trace)::float8[] as embedding,
        coalesce((trace).ranking ->> 'fusion', 'convex') as fusion,
        coalesce(((trace).ranking ->> 'lexical_weight')::float8, 0.5::float8) as lexical_weight) r
);
comment on function ragdb_internal.search_again(ragdb.retrieval_traces, ragdb.corpora, integer, float8,
  jsonb, text[], float8, float8) is
  'Searches as a trace recorded, but for the arguments given.';

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
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(replay.trace_id);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read');
  v_recorded ragdb.retrieval_hits[] := array(
    select h from ragdb.trace_hits(v_trace.id) h order by h.rank);
  v_replayed ragdb.hit[];
  v_slice ragdb.slices;
  v_before text[];
  v_after text[];
begin
  recorded_chunk_ids := array(select h.chunk_id from unnest(v_recorded) h order by h.rank);
  select string_agg(v.field, ', ') into detail
    from ragdb.verify_trace(v_trace.id) v where not v.is_intact;
  if detail is not null then
    verdict := 'drifted';
    cause := 'trace_tampered';
    detail := 'the rows of the trace are not what was recorded: ' || detail;
    return next; return;
  end if;
  select o.* into verdict, cause, detail from ragdb_internal.replay_obstacle(v_trace, v_corpus) o;
  if verdict is not null then
    return next; return;
  end if;
  if v_trace.slice_id is not null then
    v_slice := ragdb_internal.stored_slice(v_corpus.corpus_id, v_trace.slice_id);
    changed_chunk_ids := ragdb_internal.changed_members(v_slice);
  end if;
  v_replayed := ragdb_internal.search_again(v_trace, v_corpus, v_trace.limit_requested,
    v_trace.min_score, v_trace.filters, coalesce(v_slice.chunk_ids, v_trace.chunk_ids),
    coalesce((v_trace.ranking ->> 'min_lexical')::float8, 0),
    coalesce((v_trace.ranking ->> 'min_semantic')::float8, 0));
  replayed_chunk_ids := array(select h.chunk_id from unnest(v_replayed) h order by h.rank);
  if coalesce(changed_chunk_ids, '{}') = '{}' then
    -- hits that are gone or say something else, and hits that were none
    changed_chunk_ids := array(
      select h.chunk_id from unnest(v_recorded) h
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = h.chunk_id
        where c.content_hash is distinct from h.content_hash
      union
      select r from unnest(replayed_chunk_ids) r where r <> all (recorded_chunk_ids)
      order by 1);
  end if;

  v_before := array(select h.chunk_id || ' ' || encode(h.content_hash, 'hex')
    from unnest(v_recorded) h order by h.rank);
  v_after := array(select h.chunk_id || ' ' || h.content_hash
    from unnest(v_replayed) h order by h.rank);
  verdict := case
    when v_trace.slice_id is not null
      and (ragdb_internal.fingerprinted(v_corpus, v_slice)).slice_id <> v_trace.slice_id then 'drifted'
    when v_after = v_before and array(select h.score from unnest(v_replayed) h order by h.rank)
      = array(select h.score from unnest(v_recorded) h order by h.rank) then 'exact'
    when v_after = v_before then 'same_order'
    when v_after @> v_before and v_after <@ v_before then 'same_set'
    else 'drifted' end;
  if verdict <> 'exact' then
    cause := case
      when ragdb_internal.ranking_hash(v_corpus) is distinct from v_trace.ranking_hash
        then 'config_changed'
      when not v_trace.is_exact and v_corpus.version = v_trace.corpus_version
        and changed_chunk_ids = '{}' then 'ann_nondeterminism'
      else 'corpus_changed' end;
    detail := case cause
      when 'config_changed'
        then 'how the corpus ranks (text configuration, k1, b, pivot) is not as it was'
      when 'ann_nondeterminism' then 'the recorded search was approximate'
      else format('the corpus was at version %s and is at %s; %s', v_trace.corpus_version,
        v_corpus.version, coalesce(
          'chunks changed, gone or new: '
            || nullif(left(array_to_string(changed_chunk_ids, ', '), 500), ''),
          'statistics, edges or embeddings changed, no hit did')) end;
  end if;
  return next;
end $$;
comment on function ragdb.replay(uuid) is
  'Runs a recorded retrieval again and says how it compares: exact (ids, contents, order, scores), '
  'same_order, same_set or drifted, with the cause (trace_tampered, embedder_changed, '
  'config_changed, corpus_changed, ann_nondeterminism) and the chunks that differ; or '
  'not_replayable with its cause (failed_retrieval, query_text_not_kept, '
  'query_embedding_not_kept). Raises RG400, RG404, RG407.';
