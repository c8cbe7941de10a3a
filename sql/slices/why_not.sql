create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(why_not.trace_id);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read');
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
    return query select 'corpus', 'the corpus has no chunk ' || ragdb_internal.quote(why_not.chunk_id);
    return;
  end if;
  if v_trace.slice_id is not null and why_not.chunk_id
    <> all ((ragdb_internal.stored_slice(v_corpus.corpus_id, v_trace.slice_id)).chunk_ids)
  then
    return query select 'slice', 'it is no member of slice ' || v_trace.slice_id;
    return;
  end if;
  if why_not.chunk_id <> all (v_trace.chunk_ids) then
    return query select 'filter', 'it was not among the chunk ids that the call allowed';
    return;
  end if;
  select o.detail into reason from ragdb_internal.replay_obstacle(v_trace, v_corpus) o;
  if reason is not null then
    return query select 'unknown', 'the ranking cannot be repeated: ' || reason;
    return;
  end if;
  v_hit := (ragdb_internal.search_again(v_trace, v_corpus, 1, 0, null, v_only, 0, 0))[1];
  if v_hit.chunk_id is null then
    return query select 'ranking', case when v_trace.rank_mode = 'semantic'
      then 'it has no embedding, or lacks a required word'
      else 'it has none of the query''s words, or lacks a required one' end;
    return;
  end if;
  if v_trace.filters is not null and cardinality(
    ragdb_internal.search_again(v_trace, v_corpus, 1, 0, v_trace.filters, v_only, 0, 0)) = 0
  then
    return query select 'filter', 'it does not satisfy ' || ragdb_internal.quote(v_trace.filters::text);
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
