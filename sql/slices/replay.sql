-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it
-- differs.

-- Returns the query's embedding that a trace names by its hash, if it was kept. Null where the
-- search ranked without an embedding, and where none is kept that has its hash. Two searches at a
-- time may have kept the same.
create or replace function ragdb_internal.recorded_embedding(trace ragdb.retrieval_traces)
returns real[]
language sql stable parallel safe
return (
  select ragdb_internal.numbers(q.embedding)
    from ragdb.embedders e join ragdb.query_embeddings q on q.embedder_id = e.embedder_id
    where e.name = (trace).embedding_model and q.corpus_id = (trace).corpus_id
      and q.embedding_hash = pg_catalog.decode((trace).query_embedding_hash, 'hex')
      and q.embedding_hash = ragdb_internal.vector_hash(ragdb_internal.numbers(q.embedding))
    limit 1);

-- Says why a recorded retrieval cannot be run again in a corpus as it was (null: today):
-- failed_retrieval, query_text_not_kept, embedder_changed or query_embedding_not_kept; nulls when
-- it can. What stands in the way of running a recorded retrieval again, as (verdict, cause,
-- detail).
create or replace function ragdb_internal.replay_obstacle(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint,
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
    select e.name into v_embedder from ragdb.embedding_spaces s
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      where s.corpus_id = ragdb_internal.embedded_as(corpus)
        and case when as_of is null then s.state = 'current'
          else s.space_id = (ragdb_internal.corpus_at(corpus, as_of)).space_id end;
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

-- Returns what a trace recorded of what was asked.
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

-- Searches a corpus as it was (null: today) as a trace was recorded, under a slice or not.
create or replace function ragdb_internal.search_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint,
  asked ragdb_internal.search_arguments)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.hit[];
begin
  if as_of is not null then
    return ragdb_internal.hits_of_trace_then(corpus, as_of, asked, trace.slice_id is not null);
  end if;
  -- the fields of turns are filters of slices only
  if trace.slice_id is not null then
    return ragdb_internal.search_turns(corpus, asked);
  end if;
  -- in what is left of a corpus that has moved, too
  perform set_config('ragdb.as_recorded', 'on', true);
  v_hits := array(select h from ragdb_internal.search_as(corpus.name, asked) h order by h.rank);
  perform set_config('ragdb.as_recorded', 'off', true);
  return v_hits;
end $$;

-- Returns what a recorded retrieval asked, among the members of its slice. Raises RG435.
create or replace function ragdb_internal.arguments_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora)
returns ragdb_internal.search_arguments
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked ragdb_internal.search_arguments := ragdb_internal.recorded_arguments(trace);
begin
  if trace.slice_id is not null then
    v_asked.chunk_ids :=
      (ragdb_internal.stored_slice(corpus.corpus_id, trace.slice_id)).chunk_ids;
  end if;
  return v_asked;
end $$;

-- Returns the hits of a recorded retrieval when it is run again in its corpus as it was (null:
-- today). Raises RG435.
create or replace function ragdb_internal.replayed_hits(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint)
returns ragdb.hit[]
language sql stable parallel restricted
return ragdb_internal.search_again(trace, corpus, as_of,
  ragdb_internal.arguments_again(trace, corpus));

-- Runs a recorded retrieval again in its corpus as it was (null: today) and adds to what is known
-- how it compares. Raises RG435.
create or replace function ragdb_internal.compare_replay(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint,
  recorded ragdb.retrieval_hits[], known ragdb_internal.replayed)
returns ragdb_internal.replayed
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice ragdb.slices;
  v_replayed constant ragdb.hit[] := ragdb_internal.replayed_hits(trace, corpus, as_of);
begin
  known.verdict := ragdb_internal.replay_verdict(recorded, v_replayed);
  known.changed_chunk_ids := ragdb_internal.changed_hits(recorded, v_replayed);
  if trace.slice_id is not null then
    v_slice := ragdb_internal.stored_slice(corpus.corpus_id, trace.slice_id);
    if as_of is null then
      known.changed_chunk_ids := coalesce(
        nullif(ragdb_internal.changed_members(v_slice), '{}'), known.changed_chunk_ids);
    end if;
    if not ragdb_internal.is_slice_of_trace(trace, corpus, v_slice, as_of) then
      known.verdict := 'drifted';
    end if;
  end if;
  known.replayed_chunk_ids := array(
    select h.chunk_id from unnest(v_replayed) h order by h.rank);
  if known.verdict <> 'exact' then
    select d.cause, d.detail into known.cause, known.detail
      from ragdb_internal.explain_drift(trace, corpus, as_of, known.changed_chunk_ids) d;
  elsif as_of is not null then
    known.detail := format('as of version %s; the corpus is at %s', as_of, corpus.version);
  end if;
  return known;
end $$;

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
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'read', true, true);
  v_recorded constant ragdb.retrieval_hits[] := array(
    select h from ragdb.trace_hits(v_trace.id) h order by h.rank);
  v_as_of constant bigint := ragdb_internal.replay_version(v_trace, v_corpus);
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
      from ragdb_internal.replay_obstacle(v_trace, v_corpus, v_as_of) o;
    if v_found.verdict is null then
      v_found := ragdb_internal.compare_replay(
        v_trace, v_corpus, v_as_of, v_recorded, v_found);
    end if;
  end if;
  return query select v_found.*;
end $$;
comment on function ragdb.replay is
  'Runs a recorded retrieval again, in its corpus as it was then where the history of that was '
  'kept, and says how it compares: exact (ids, contents, order, scores), same_order, same_set or '
  'drifted, with the cause (trace_tampered, embedder_changed, erased, config_changed, '
  'corpus_changed, ann_nondeterminism) and the chunks that differ; or '
  'not_replayable with its cause (failed_retrieval, query_text_not_kept, '
  'query_embedding_not_kept). Raises RG400, RG404, RG407.';

-- Definer: traces are granted to nobody.
create or replace function ragdb.replay_cited(
  corpus text, slice_id text, query_hash text, policy_hash text)
returns table (
  trace_id uuid, verdict text, cause text, detail text, changed_chunk_ids text[],
  recorded_chunk_ids text[], replayed_chunk_ids text[])
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(replay_cited.corpus, 'read', false, true);
  v_trace_id uuid;
begin
  select t.id into v_trace_id from ragdb.retrieval_traces t
    where t.corpus_id = v_corpus.corpus_id and t.slice_id = replay_cited.slice_id
      and t.policy_params_hash = replay_cited.policy_hash
      and replay_cited.query_hash in (t.query_hash, t.query_embedding_hash)
      and t.error_code is null and ragdb_internal.may_open_trace(t, false)
    order by t.created_at desc, t.id desc limit 1;
  if not found then
    raise exception 'no trace is of slice %, that query and that policy',
        ragdb_internal.quote(replay_cited.slice_id)
      using errcode = 'RG407', detail = 'none that is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'query_hash is the SHA-256 (hex) of the query or of its embedding, policy_hash the '
               'params_hash of the policy';
  end if;
  return query select v_trace_id, r.* from ragdb.replay(v_trace_id) r;
end $$;
comment on function ragdb.replay_cited is
  'Replays the latest retrieval that a citation of slice, query (SHA-256 of its text or of its '
  'embedding, hex) and policy (params_hash) names, as ragdb.replay does. Raises RG400, RG404, '
  'RG407.';
