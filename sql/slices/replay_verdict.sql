-- How a replay compares with what was recorded, and why it differs.

-- What a replay found, as ragdb.replay returns it.
create type ragdb_internal.replayed as (
  verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[],
  replayed_chunk_ids text[]);

-- Says how hits compare with those recorded: exact, same_order, same_set or drifted.
create or replace function ragdb_internal.replay_verdict(
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
      when a.contents = b.contents and a.scores is not distinct from b.scores then 'exact'
      when a.contents = b.contents then 'same_order'
      when a.contents @> b.contents and a.contents <@ b.contents then 'same_set'
      else 'drifted' end
    from before b, after a;
end;

-- Tells whether the evidence of a slice in a corpus as it was (null: today) is the one that a trace
-- recorded.
create or replace function ragdb_internal.is_slice_of_trace(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, slice ragdb.slices, as_of bigint)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if as_of is null then
    return (ragdb_internal.fingerprinted(corpus, slice)).slice_id = trace.slice_id;
  end if;
  return (ragdb_internal.with_fingerprint(corpus, slice, ragdb_internal.slice_content_then(
    (ragdb_internal.corpus_at(corpus, as_of)).corpus, slice.chunk_ids))).slice_id
    = trace.slice_id;
end $$;

-- Says why a replay is not exact: erased, config_changed, ann_nondeterminism or corpus_changed.
create or replace function ragdb_internal.explain_drift(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, as_of bigint, changed_chunk_ids text[],
  out cause text, out detail text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if as_of is not null and ragdb_internal.is_erased_since(corpus, as_of) then
    cause := 'erased';
    detail := 'of what the corpus had then, some was erased on purpose since';
  -- by the synonyms as they are: who edited them by hand recorded nothing
  elsif as_of is null and ragdb_internal.ranking_hash(corpus, ragdb_internal.synonyms_hash(
    ragdb_internal.whole_of(corpus))) is distinct from trace.ranking_hash
  then
    cause := 'config_changed';
    detail := 'how the corpus ranks (text configuration, major version of PostgreSQL, k1, b, '
      'pivot, synonyms) is not as it was';
  elsif not trace.is_exact and changed_chunk_ids = '{}'
    and (as_of is not null or corpus.version = trace.corpus_version)
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
    -- every transaction that writes by ragdb's functions raises the version, once
    if as_of is null and corpus.version = trace.corpus_version and trace.statistics is null then
      detail := detail || '; a later transaction of ragdb wrote nothing: if the one that searched '
        'did not either, rows or the index were edited, and ragdb doctor --deep compares them';
    end if;
  end if;
  if as_of is null and corpus.history_from > trace.corpus_version then
    detail := format('%s; its history is kept from version %s on', detail, corpus.history_from);
  end if;
end $$;

-- Returns the chunks that are hits only of a recorded retrieval or only of its replay, or whose
-- text is another. Hits that are gone or say something else, and hits that were not recorded.
create or replace function ragdb_internal.changed_hits(
  recorded ragdb.retrieval_hits[], replayed ragdb.hit[])
returns text[]
language sql immutable parallel safe
return array(
  select coalesce(r.chunk_id, h.chunk_id) as chunk_id
  from pg_catalog.unnest(recorded) r
    full join pg_catalog.unnest(replayed) h on h.chunk_id = r.chunk_id
      and h.content_hash = pg_catalog.encode(r.content_hash, 'hex')
  where r.chunk_id is null or h.chunk_id is null
  group by 1 order by 1);
