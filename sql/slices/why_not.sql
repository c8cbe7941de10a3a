-- Why a chunk was not among the hits of a recorded retrieval: the steps of the retrieval in their
-- order, each asked whether the chunk fell out there.

-- Says at which rank a chunk was found: step hit, or rerank where a reranker put it behind what was
-- returned, and whether its text is still the same; nulls for a chunk that is not among the hits.
create or replace function ragdb_internal.why_returned(
  trace ragdb.retrieval_traces, chunk_id text, out step text, out reason text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_hit ragdb.retrieval_hits;
  v_now ragdb.retrieval_hits;
  v_rank integer;
  v_reranked ragdb.retrieval_reranks;
begin
  select h.* into v_hit from ragdb.trace_hits(trace.id) h
    where h.chunk_id = why_returned.chunk_id;
  v_now := (ragdb_internal.hits_now(array[v_hit]))[1];
  v_rank := v_hit.rank;
  select r.* into v_reranked from ragdb.trace_reranks(trace.id) r
    where r.chunk_id = why_returned.chunk_id;
  if v_reranked.is_returned is false then
    step := 'rerank';
    reason := format('%s put it from rank %s to %s, and the first %s were returned',
      v_reranked.model, v_rank, v_reranked.rank,
      (select count(*) from ragdb.trace_reranks(trace.id) r where r.is_returned));
  elsif v_rank is not null then
    step := 'hit';
    reason := 'it was returned at rank ' || case
      when v_reranked.rank is null then v_rank::text
      else format('%s, where %s put it from %s', v_reranked.rank, v_reranked.model, v_rank) end;
  end if;
  reason := reason || case when v_hit.content_hash is distinct from v_now.content_hash
    then '; it has changed or gone since' else '' end;
end $$;

-- Says why a recorded retrieval did not look at a chunk (step corpus, slice or filter), or why that
-- cannot be known (unknown); nulls when it looked at it. Raises RG435.
create or replace function ragdb_internal.why_not_searched(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint, chunk_id text,
  out step text, out reason text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_obstacle text;
begin
  if not exists (select from ragdb_internal.chunks_of_hits(corpus, as_of,
    array[why_not_searched.chunk_id]))
  then
    step := 'corpus';
    reason := case when as_of is null then 'the corpus has no chunk '
      else 'the corpus had no chunk ' end || ragdb_internal.quote(why_not_searched.chunk_id);
  elsif trace.slice_id is not null and why_not_searched.chunk_id
    <> all ((ragdb_internal.stored_slice(corpus.corpus_id, trace.slice_id)).chunk_ids)
  then
    step := 'slice';
    reason := 'it is not a member of slice ' || trace.slice_id;
  elsif why_not_searched.chunk_id <> all (trace.chunk_ids) then
    step := 'filter';
    reason := 'it was not among the chunk ids that the call allowed';
  else
    select o.detail into v_obstacle from ragdb_internal.replay_obstacle(trace, corpus, as_of) o;
    if v_obstacle is not null then
      step := 'unknown';
      reason := 'the ranking cannot be repeated: ' || v_obstacle;
    end if;
  end if;
end $$;

-- Whether a recorded retrieval leaves a chunk out when it is run again with other arguments.
create or replace function ragdb_internal.is_left(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint,
  asked ragdb_internal.search_arguments, chunk_id text)
returns boolean
language sql stable parallel restricted
return not exists (
  select from pg_catalog.unnest(ragdb_internal.search_again(trace, corpus, as_of, asked)) h
  where h.chunk_id = is_left.chunk_id);

-- Says which choice among what ranks left a chunk out of a recorded retrieval (step per_document,
-- collapse or diversity), in the words of ragdb.explain_missing; nulls where none did. Each is made
-- again among the chunk and what ranks before it.
create or replace function ragdb_internal.why_not_picked(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint, chunk_id text,
  out step text, out reason text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked ragdb_internal.search_arguments := ragdb_internal.arguments_again(trace, corpus);
  v_options constant ragdb_internal.search_options := v_asked.options;
  v_ids text[];
  v_better integer;
begin
  if not ragdb_internal.picks(v_options) then
    return;
  end if;
  v_asked.k := 1000;
  v_asked.options.per_document := null;
  v_asked.options.collapse := false;
  v_asked.options.diversity := 0;
  v_ids := array(select h.chunk_id
    from unnest(ragdb_internal.search_again(trace, corpus, as_of, v_asked)) h order by h.rank);
  v_better := array_position(v_ids, why_not_picked.chunk_id) - 1;
  v_asked.chunk_ids := v_ids[:v_better + 1];
  v_asked.options.per_document := v_options.per_document;
  if v_better is null then
    return;
  elsif ragdb_internal.is_left(trace, corpus, as_of, v_asked, why_not_picked.chunk_id) then
    step := 'per_document';
    reason := format('better chunks are of the same document, and %s of each may be hits',
      v_options.per_document);
    return;
  end if;
  v_asked.options.per_document := null;
  v_asked.options.collapse := v_options.collapse;
  if ragdb_internal.is_left(trace, corpus, as_of, v_asked, why_not_picked.chunk_id) then
    step := 'collapse';
    reason := 'it nearly repeats a chunk that ranks before it';
  elsif v_options.diversity > 0 then
    step := 'diversity';
    reason := format('it ranks %s, and others were picked because they are less like one another',
      v_better + 1);
  end if;
end $$;

-- Says why a chunk that ranks and reaches all floors is not among the hits of a recorded retrieval:
-- a choice among what ranks, or step limit.
create or replace function ragdb_internal.why_not_best(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint, own ragdb.hit,
  out step text, out reason text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  select p.step, p.reason into step, reason
    from ragdb_internal.why_not_picked(trace, corpus, as_of, own.chunk_id) p;
  if step is null then
    step := 'limit';
    reason := format('its score %s is not among the %s best', round(own.score::numeric, 4),
      trace.limit_requested)
      || coalesce('; the last of them has ' || (
        select round(min(h.score)::numeric, 4) from ragdb.trace_hits(trace.id) h), '');
  end if;
end $$;

-- Says where a chunk fell out of the ranking of a recorded retrieval: step ranking, filter,
-- min_score, per_document, collapse, diversity or limit. The chunk alone is searched for again,
-- without the limits of the call, which are then compared.
create or replace function ragdb_internal.why_not_ranked(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint, chunk_id text,
  out step text, out reason text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits constant ragdb_internal.search_arguments := ragdb_internal.recorded_arguments(trace);
  v_asked ragdb_internal.search_arguments := v_limits;
  v_hit ragdb.hit;
begin
  v_asked.k := 1;
  v_asked.min_score := 0;
  v_asked.min_lexical := 0;
  v_asked.min_semantic := 0;
  v_asked.chunk_ids := array[why_not_ranked.chunk_id];
  v_asked.filter := null;
  v_hit := (ragdb_internal.search_again(trace, corpus, as_of, v_asked))[1];
  v_asked.filter := v_limits.filter;
  if v_hit.chunk_id is null then
    step := 'ranking';
    reason := case when trace.rank_mode = 'semantic'
      then 'it has no embedding, or lacks a required word'
      else 'it has none of the query''s words, or lacks a required one' end;
  elsif v_asked.filter is not null
    and ragdb_internal.search_again(trace, corpus, as_of, v_asked) = '{}' then
    step := 'filter';
    reason := 'it does not satisfy ' || ragdb_internal.quote(v_asked.filter::text);
  elsif v_hit.score < v_limits.min_score
    or coalesce(v_hit.lexical_score, 0) < v_limits.min_lexical
    or coalesce(v_hit.semantic_score, 0) < v_limits.min_semantic
  then
    step := 'min_score';
    reason := format(
      'its score is %s (lexical %s, semantic %s), and at least %s (%s, %s) was asked for',
      round(v_hit.score::numeric, 4), coalesce(round(v_hit.lexical_score::numeric, 4), 0),
      coalesce(round(v_hit.semantic_score::numeric, 4), 0), v_limits.min_score,
      v_limits.min_lexical, v_limits.min_semantic);
  else
    select b.step, b.reason into step, reason
      from ragdb_internal.why_not_best(trace, corpus, as_of, v_hit) b;
  end if;
end $$;

-- Definer: traces are granted to nobody.
create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(why_not.trace_id);
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read', true, true);
  v_as_of constant bigint := ragdb_internal.replay_version(v_trace, v_corpus);
begin
  select w.step, w.reason into step, reason
    from ragdb_internal.why_returned(v_trace, why_not.chunk_id) w;
  if step is null then
    select w.step, w.reason into step, reason
      from ragdb_internal.why_not_searched(v_trace, v_corpus, v_as_of, why_not.chunk_id) w;
  end if;
  if step is null then
    select w.step, w.reason into step, reason
      from ragdb_internal.why_not_ranked(v_trace, v_corpus, v_as_of, why_not.chunk_id) w;
  end if;
  if v_as_of is not null and step not in ('hit', 'rerank') then
    reason := reason || format('; as of version %s, where the corpus is at %s', v_as_of,
      v_corpus.version);
  end if;
  return next;
end $$;
comment on function ragdb.why_not is
  'Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter, ranking, '
  'min_score, per_document, collapse, diversity, limit or rerank; or that it was a hit; or '
  'unknown. A corpus that keeps its history is asked as it was then, and the reason names the '
  'version. Raises RG400, RG404, RG407.';
