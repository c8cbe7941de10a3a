-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it differs.

create or replace function ragdb.replay(trace_id uuid)
returns table (verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[], replayed_chunk_ids text[])
language plpgsql stable security definer rows 1 -- traces are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(replay.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_slice ragdb.slices;
  v_slice_id text;
  v_snapshot text;
  v_recorded text[]; v_recorded_keys text[]; v_recorded_scores float8[];
  v_keys text[]; v_scores float8[];
begin
  select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
      coalesce(array_agg(h.chunk_id || ' ' || encode(h.content_hash, 'hex') order by h.rank), '{}'),
      coalesce(array_agg(h.score order by h.rank), '{}')
    into v_recorded, v_recorded_keys, v_recorded_scores
    from ragdb.trace_hits(v_trace.id) h;
  recorded_chunk_ids := v_recorded;
  select string_agg(v.field, ', ') into detail from ragdb.verify_trace(v_trace.id) v where not v.is_intact;
  if detail is not null then
    verdict := 'drifted'; cause := 'trace_tampered';
    detail := 'the rows of the trace are not what was recorded: ' || detail;
    return next; return;
  end if;
  if v_trace.error_code is not null then
    verdict := 'not_replayable'; cause := 'failed_retrieval';
    detail := 'the retrieval ended with ' || v_trace.error_code;
    return next; return;
  end if;
  if v_trace.query_text is null then
    verdict := 'not_replayable'; cause := 'query_text_not_kept';
    detail := 'the corpus records the query''s ' || v_corpus.record_query_text || ' only';
    return next; return;
  end if;

  if v_trace.retrieval_mode = 'slice' then
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id);
    select f.slice_id, f.graph_snapshot_hash into strict v_slice_id, v_snapshot from ragdb._slice_fingerprint(v_corpus.corpus_id, v_corpus.name,
      v_slice.anchor_chunk_id, v_slice.policy_id, v_slice.params_hash, v_slice.chunk_ids) f;
    changed_chunk_ids := array(
      select o.chunk_id from unnest(v_slice.chunk_ids, v_slice.content_hashes) o (chunk_id, content_hash)
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = o.chunk_id
        where c.content_hash is distinct from o.content_hash order by o.chunk_id);
    select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
        coalesce(array_agg(h.chunk_id || ' ' || h.content_hash order by h.rank), '{}'),
        coalesce(array_agg(h.score order by h.rank), '{}')
      into replayed_chunk_ids, v_keys, v_scores
      from ragdb.search_slice(corpus => v_trace.corpus, query => v_trace.query_text, slice_id => v_trace.slice_id,
        k => v_trace.limit_requested, mode => v_trace.rank_mode, min_score => v_trace.min_score,
        filter => v_trace.filters) h;
  else
    select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
        coalesce(array_agg(h.chunk_id || ' ' || h.content_hash order by h.rank), '{}'),
        coalesce(array_agg(h.score order by h.rank), '{}')
      into replayed_chunk_ids, v_keys, v_scores
      from ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => v_trace.limit_requested,
        mode => v_trace.rank_mode, min_score => v_trace.min_score, filter => v_trace.filters,
        chunk_ids => v_trace.chunk_ids, statistics => v_trace.statistics) h;
  end if;
  if changed_chunk_ids is null or changed_chunk_ids = '{}' then
    -- hits that are gone or say something else, and chunks that came in between
    changed_chunk_ids := array(
      select split_part(k.key, ' ', 1) from unnest(v_recorded_keys) k (key)
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = split_part(k.key, ' ', 1)
        where c.chunk_id is null or encode(c.content_hash, 'hex') <> split_part(k.key, ' ', 2)
      union
      select r.id from unnest(replayed_chunk_ids) r (id) where not r.id = any(v_recorded)
      order by 1);
  end if;

  verdict := case
    when v_slice_id is distinct from v_trace.slice_id
      or v_snapshot is distinct from v_trace.graph_snapshot_hash then 'drifted'
    when v_keys = v_recorded_keys and v_scores = v_recorded_scores then 'exact'
    when v_keys = v_recorded_keys then 'same_order'
    when v_keys @> v_recorded_keys and v_keys <@ v_recorded_keys then 'same_set'
    else 'drifted' end;
  if verdict <> 'exact' then
    cause := case
      when ragdb._ranking_hash(v_corpus) is distinct from v_trace.ranking_hash then 'config_changed'
      when not v_trace.is_exact and v_corpus.version = v_trace.corpus_version and changed_chunk_ids = '{}'
        then 'ann_nondeterminism'
      else 'corpus_changed' end;
    detail := case cause
      when 'config_changed' then 'how the corpus ranks (text configuration, k1, b, pivot) is not as it was'
      when 'ann_nondeterminism' then 'the recorded search was approximate'
      else 'the corpus was at version ' || v_trace.corpus_version || ' and is at ' || v_corpus.version
        || coalesce('; chunks changed, gone or new: ' || nullif(left(array_to_string(changed_chunk_ids, ', '), 500), ''),
          '; statistics or edges changed, no hit did') end;
  end if;
  return next;
end $$;
comment on function ragdb.replay(uuid) is
  'Runs a recorded retrieval again and says how it compares: exact (ids, contents, order, scores), same_order, same_set or drifted, with the cause (trace_tampered, config_changed, corpus_changed, ann_nondeterminism) and the chunks that differ; or not_replayable. Raises RG400, RG404, RG407, RG435.';

create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable security definer rows 1 -- traces and slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(why_not.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_rank integer;
  v_score float8;
begin
  select h.rank into v_rank from ragdb.trace_hits(v_trace.id) h where h.chunk_id = why_not.chunk_id;
  if v_rank is not null then
    return query select 'hit', 'it was returned at rank ' || v_rank; return;
  end if;
  if not exists (select from ragdb.chunks c where c.corpus_id = v_corpus.corpus_id and c.chunk_id = why_not.chunk_id) then
    return query select 'corpus', 'the corpus has no chunk ' || ragdb._quote(why_not.chunk_id); return;
  end if;
  if v_trace.slice_id is not null and not why_not.chunk_id = any((ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id)).chunk_ids) then
    return query select 'slice', 'it is no member of slice ' || v_trace.slice_id; return;
  end if;
  if v_trace.chunk_ids is not null and not why_not.chunk_id = any(v_trace.chunk_ids) then
    return query select 'filter', 'it was not among the chunk ids that the call allowed'; return;
  end if;
  if v_trace.query_text is null then
    return query select 'unknown', 'the query text was not kept, so the ranking cannot be repeated'; return;
  end if;
  select h.score into v_score from ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => 1,
    mode => v_trace.rank_mode, chunk_ids => array[why_not.chunk_id], statistics => v_trace.statistics) h;
  if v_score is null then
    return query select 'ranking', 'it has none of the query''s words, or lacks a required one'; return;
  end if;
  if v_trace.filters is not null and not exists (
      select from ragdb._turn_filter(v_corpus.corpus_id, v_trace.filters, array[why_not.chunk_id]) f
      cross join lateral ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => 1,
        mode => v_trace.rank_mode, filter => f.rest, chunk_ids => f.members) h) then
    return query select 'filter', 'it does not satisfy ' || ragdb._quote(v_trace.filters::text); return;
  end if;
  if v_score < v_trace.min_score then
    return query select 'min_score', 'its score ' || round(v_score::numeric, 4) || ' is below ' || round(v_trace.min_score::numeric, 4); return;
  end if;
  return query
    select 'limit', 'its score ' || round(v_score::numeric, 4) || ' is not among the ' || v_trace.limit_requested || ' best'
      || coalesce('; the last of them has ' || round(min(h.score)::numeric, 4), '')
      from ragdb.trace_hits(v_trace.id) h;
end $$;
comment on function ragdb.why_not(uuid, text) is
  'Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter, ranking, min_score or limit; or that it was a hit. Raises RG400, RG404, RG407.';
