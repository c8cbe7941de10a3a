-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it
-- differs.

-- Null where the search ranked without an embedding, and where its embedding was not kept.
create or replace function ragdb._recorded_embedding(trace ragdb.retrieval_traces) returns real[]
language sql stable parallel safe
return (
  select ragdb._numbers(q.embedding)
    from ragdb.embedders e join ragdb.query_embeddings q on q.embedder_id = e.embedder_id
    where e.name = (trace).embedding_model and q.corpus_id = (trace).corpus_id
      and q.embedding_hash = pg_catalog.decode((trace).query_embedding_hash, 'hex'));
comment on function ragdb._recorded_embedding(ragdb.retrieval_traces) is
  'Returns the query''s embedding that a trace names by its hash, if it was kept.';

-- What stands in the way of running a recorded retrieval again, as (verdict, cause, detail).
create or replace function ragdb._replay_obstacle(
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
  elsif trace.rank_mode in ('semantic', 'hybrid') then
    select e.name into v_embedder from ragdb._space(corpus.corpus_id, 'current') s
      join ragdb.embedders e on e.embedder_id = s.embedder_id;
    if v_embedder is distinct from trace.embedding_model then
      verdict := 'drifted';
      cause := 'embedder_changed';
      detail := format('the corpus was searched by the embeddings of %s and has %s',
        trace.embedding_model, coalesce('those of ' || v_embedder, 'none'));
    elsif ragdb._recorded_embedding(trace) is null then
      cause := 'query_embedding_not_kept';
      detail := 'ragdb.query_embeddings has none of hash ' || trace.query_embedding_hash;
    end if;
  end if;
  if cause is null then
    verdict := null;
  end if;
end $$;
comment on function ragdb._replay_obstacle(ragdb.retrieval_traces, ragdb.corpora) is
  'Says why a recorded retrieval cannot be run again: failed_retrieval, query_text_not_kept, '
  'embedder_changed or query_embedding_not_kept; nulls when it can.';

create or replace function ragdb._search_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, k integer, min_score float8, filter jsonb,
  chunk_ids text[], min_lexical float8, min_semantic float8)
returns ragdb.hit[]
language sql stable parallel restricted
return (
  select case
      -- the fields of turns are filters of slices only
      when (trace).slice_id is not null then ragdb._search_turns(
        _search_again.corpus, (trace).query_text, _search_again.k, (trace).rank_mode,
        _search_again.min_score, _search_again.filter, _search_again.chunk_ids,
        (trace).statistics, r.embedding, r.fusion, r.lexical_weight, _search_again.min_lexical,
        _search_again.min_semantic)
      else array(select h from ragdb.search(
        corpus => (_search_again.corpus).name, query => (trace).query_text,
        k => _search_again.k, mode => (trace).rank_mode, min_score => _search_again.min_score,
        filter => _search_again.filter, chunk_ids => _search_again.chunk_ids,
        statistics => (trace).statistics, query_embedding => r.embedding, fusion => r.fusion,
        lexical_weight => r.lexical_weight, min_lexical => _search_again.min_lexical,
        min_semantic => _search_again.min_semantic) h order by h.rank)
    end
    from (select ragdb._recorded_embedding(trace)::float8[] as embedding,
        coalesce((trace).ranking ->> 'fusion', 'convex') as fusion,
        coalesce(((trace).ranking ->> 'lexical_weight')::float8, 0.5::float8) as lexical_weight) r
);
comment on function ragdb._search_again(ragdb.retrieval_traces, ragdb.corpora, integer, float8,
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
  v_trace ragdb.retrieval_traces := ragdb._open_trace(replay.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
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
  select o.* into verdict, cause, detail from ragdb._replay_obstacle(v_trace, v_corpus) o;
  if verdict is not null then
    return next; return;
  end if;
  if v_trace.slice_id is not null then
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id);
    changed_chunk_ids := ragdb._changed_members(v_slice);
  end if;
  v_replayed := ragdb._search_again(v_trace, v_corpus, v_trace.limit_requested,
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
      and (ragdb._fingerprinted(v_corpus, v_slice)).slice_id <> v_trace.slice_id then 'drifted'
    when v_after = v_before and array(select h.score from unnest(v_replayed) h order by h.rank)
      = array(select h.score from unnest(v_recorded) h order by h.rank) then 'exact'
    when v_after = v_before then 'same_order'
    when v_after @> v_before and v_after <@ v_before then 'same_set'
    else 'drifted' end;
  if verdict <> 'exact' then
    cause := case
      when ragdb._ranking_hash(v_corpus) is distinct from v_trace.ranking_hash
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

create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(why_not.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_only constant text[] := array[why_not.chunk_id];
  v_min_lexical constant float8 := coalesce((v_trace.ranking ->> 'min_lexical')::float8, 0);
  v_min_semantic constant float8 := coalesce((v_trace.ranking ->> 'min_semantic')::float8, 0);
  v_rank integer;
  v_reranked ragdb.retrieval_reranks;
  v_hit ragdb.hit;
begin
  select h.rank into v_rank from ragdb.trace_hits(v_trace.id) h
    where h.chunk_id = why_not.chunk_id;
  select r.* into v_reranked from ragdb.trace_reranks(v_trace.id) r
    where r.chunk_id = why_not.chunk_id;
  if v_reranked.is_returned is false then
    return query select 'rerank',
      format('%s put it from rank %s to %s, and the first %s were returned', v_reranked.model,
        v_rank,
      v_reranked.rank, (select count(*) from ragdb.trace_reranks(v_trace.id) r
        where r.is_returned));
    return;
  end if;
  if v_rank is not null then
    return query select 'hit',
      'it was returned at rank ' || case when v_reranked.rank is null then v_rank::text
      else format('%s, where %s put it from %s', v_reranked.rank, v_reranked.model, v_rank) end;
    return;
  end if;
  if not exists (select from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = why_not.chunk_id)
  then
    return query select 'corpus', 'the corpus has no chunk ' || ragdb._quote(why_not.chunk_id);
    return;
  end if;
  if v_trace.slice_id is not null and why_not.chunk_id
    <> all ((ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id)).chunk_ids)
  then
    return query select 'slice', 'it is no member of slice ' || v_trace.slice_id;
    return;
  end if;
  if why_not.chunk_id <> all (v_trace.chunk_ids) then
    return query select 'filter', 'it was not among the chunk ids that the call allowed';
    return;
  end if;
  select o.detail into reason from ragdb._replay_obstacle(v_trace, v_corpus) o;
  if reason is not null then
    return query select 'unknown', 'the ranking cannot be repeated: ' || reason;
    return;
  end if;
  v_hit := (ragdb._search_again(v_trace, v_corpus, 1, 0, null, v_only, 0, 0))[1];
  if v_hit.chunk_id is null then
    return query select 'ranking', case when v_trace.rank_mode = 'semantic'
      then 'it has no embedding, or lacks a required word'
      else 'it has none of the query''s words, or lacks a required one' end;
    return;
  end if;
  if v_trace.filters is not null and cardinality(
    ragdb._search_again(v_trace, v_corpus, 1, 0, v_trace.filters, v_only, 0, 0)) = 0
  then
    return query select 'filter', 'it does not satisfy ' || ragdb._quote(v_trace.filters::text);
    return;
  end if;
  if v_hit.score < v_trace.min_score or coalesce(v_hit.lexical_score, 0) < v_min_lexical
    or coalesce(v_hit.semantic_score, 0) < v_min_semantic
  then
    return query select 'min_score', format(
      'its score is %s (lexical %s, semantic %s), and at least %s (%s, %s) was asked for',
      round(v_hit.score::numeric, 4), coalesce(round(v_hit.lexical_score::numeric, 4), 0),
      coalesce(round(v_hit.semantic_score::numeric, 4), 0), v_trace.min_score, v_min_lexical,
      v_min_semantic);
    return;
  end if;
  return query
    select 'limit', format('its score %s is not among the %s best',
        round(v_hit.score::numeric, 4), v_trace.limit_requested)
      || coalesce('; the last of them has ' || round(min(h.score)::numeric, 4), '')
      from ragdb.trace_hits(v_trace.id) h;
end $$;
comment on function ragdb.why_not(uuid, text) is
  'Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter, ranking, '
  'min_score, limit or rerank; or that it was a hit; or unknown. Raises RG400, RG404, RG407.';
