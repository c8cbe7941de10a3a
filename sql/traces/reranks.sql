-- Reranking: a model in the client reads the query beside each hit of a trace. The database says
-- which model, how many hits to give it and what their order is then, and keeps its scores.

-- Returns the sha256 of a reranking: the hash of its trace, then its rows by rank.
create or replace function ragdb_internal.rerank_hash(
  trace_hash bytea, reranks ragdb.retrieval_reranks[])
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic array['ragdb.rerank/1'::bytea, trace_hash] || array(
  select f.bytes
    from pg_catalog.unnest(reranks) as r
    cross join lateral pg_catalog.unnest(array[
      ragdb_internal.utf8(r.model), pg_catalog.int4send(r.rank), ragdb_internal.utf8(r.chunk_id),
      pg_catalog.float8send(r.score), pg_catalog.boolsend(r.is_returned),
      pg_catalog.timestamptz_send(r.recorded_at)]) with ordinality as f (bytes, n)
    order by r.rank, f.n));

-- Returns the scores of some chunks out of {"chunk_id": score}; null for one that has none. Raises
-- RG423.
create or replace function ragdb_internal.scores(scores jsonb, chunk_ids text[]) returns float8[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(scores) is distinct from 'object' or exists (
      select from jsonb_each(scores) s
        where jsonb_typeof(s.value) <> 'number' or abs(s.value::numeric) > 1e308)
  then
    raise exception 'rerank_scores is not an object of scores'
      using errcode = 'RG423',
        detail = 'it is what the reranker gave each chunk that it was shown',
        hint = '{"chunk_id": score}, each a finite number';
  end if;
  return array(
    select ragdb_internal.double((scores ->> i.id)::numeric)
      from unnest(chunk_ids) with ordinality i (id, n) order by i.n);
end $$;

-- Refuses what is not one finite score for each hit. Raises RG423.
create or replace function ragdb_internal.check_scores(
  model text, hits ragdb.retrieval_hits[], chunk_ids text[], scores float8[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
begin
  if chunk_ids is null or scores is null or cardinality(chunk_ids) <> cardinality(scores) then
    v_wrong := format('%s for %s',
      ragdb_internal.counted(coalesce(cardinality(scores), 0), 'score'),
      ragdb_internal.counted(coalesce(cardinality(chunk_ids), 0), 'chunk'));
  else
    select min(p.problem) into v_wrong from (
      select case
          when u.chunk_id is null then 'a chunk without an id'
          when u.score is null or u.score in ('nan', 'infinity', '-infinity') then
            format('score %s for chunk %s', coalesce(u.score::text, 'null'),
              ragdb_internal.quote(u.chunk_id))
          when count(*) over (partition by u.chunk_id) > 1 then
            format('chunk %s twice', ragdb_internal.quote(u.chunk_id))
          when h.chunk_id is null then
            format('chunk %s, which is not a hit of the trace', ragdb_internal.quote(u.chunk_id))
          end as problem
        from unnest(chunk_ids, scores) u (chunk_id, score)
        left join unnest(hits) h on h.chunk_id = u.chunk_id) p;
    if v_wrong is null and cardinality(chunk_ids) <> cardinality(hits) then
      v_wrong := ragdb_internal.counted(cardinality(chunk_ids), 'chunk') || ' for '
        || ragdb_internal.counted(cardinality(hits), 'hit');
    end if;
  end if;
  if v_wrong is not null then
    raise exception 'reranker % gave %', ragdb_internal.quote(model), v_wrong
      using errcode = 'RG423',
        detail = 'a reranking has one finite score for each hit',
        hint = 'give every chunk that was retrieved once; nothing was recorded';
  end if;
end $$;

-- Returns the hits of a retrieval by the scores of a reranker, equal ones in their order; the first
-- k (null: all) are those returned. The one place where scores become an order; recorded or not.
-- Raises RG423.
create or replace function ragdb_internal.reranked(
  trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[], model text, chunk_ids text[],
  scores float8[], k integer)
returns ragdb.retrieval_reranks[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_scores(model, hits, chunk_ids, scores);
  return array(
    select row(trace.corpus_id, trace.id, trace.created_at, r.rank, r.chunk_id, r.score,
        reranked.model, r.rank <= coalesce(k, r.rank), ragdb_internal.now(), null,
        null)::ragdb.retrieval_reranks
      from (
        select u.chunk_id, u.score,
            row_number() over (order by u.score desc, h.rank)::integer as rank
          from unnest(chunk_ids, scores) u (chunk_id, score)
          join unnest(hits) h on h.chunk_id = u.chunk_id) r
      order by r.rank);
end $$;

-- Writes the reranking of a trace and returns its rows by rank. Raises RG409, RG423.
create or replace function ragdb_internal.insert_rerank(
  trace ragdb.retrieval_traces, model text, chunk_ids text[], scores float8[], k integer)
returns ragdb.retrieval_reranks[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
  v_reranks ragdb.retrieval_reranks[] := ragdb_internal.reranked(
    trace, array(select h from ragdb.trace_hits(trace.id) h), model, chunk_ids, scores, k);
  v_rows integer;
begin
  if v_reranks = '{}' then
    return v_reranks;
  end if;
  perform ragdb_internal.hold_trace(trace.corpus_id, trace.id);
  v_reranks[1].rerank_hash := ragdb_internal.rerank_hash(trace.trace_hash, v_reranks);
  v_reranks[1].rerank_mac := ragdb_internal.trace_mac(v_reranks[1].rerank_hash, v_key.secret);
  -- once an upgrade has brought the table, its first month is made here
  if to_regclass('ragdb.retrieval_reranks_default') is null then
    perform ragdb_internal.make_due_partitions();
  end if;
  -- of two at once, the second waits here and finds its rows taken
  insert into ragdb.retrieval_reranks select r.* from unnest(v_reranks) r on conflict do nothing;
  get diagnostics v_rows = row_count;
  if v_rows <> cardinality(v_reranks) then
    raise exception 'trace % is reranked already', trace.id
      using errcode = 'RG409',
        detail = 'a retrieval is reranked once, and ragdb.trace_reranks() has it',
        hint = 'retrieve again to rerank by another model';
  end if;
  perform ragdb_internal.note(
    'rerank', trace.corpus_id || '/' || trace.id, v_reranks[1].rerank_hash);
  return v_reranks;
end $$;

-- Definer: it writes a table that is granted to nobody.
create or replace function ragdb.record_rerank(
  trace_id uuid, model text, chunk_ids text[], scores float8[], k integer default null)
returns setof ragdb.retrieval_reranks
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id);
  v_model text := (ragdb_internal.reranker(model)).name;
begin
  perform ragdb_internal.check_recordable('record_rerank writes',
    'rerank the hits of ragdb.search(), which are recorded nowhere');
  if k not between 1 and 1000 then
    raise exception 'k is %', k
      using errcode = 'RG400',
        detail = 'k is the number of hits that the caller keeps',
        hint = 'give 1 to 1000, or null for all';
  end if;
  if not ragdb_internal.is_caller(v_trace.caller, v_trace.caller_oid) then
    raise exception 'trace % is of another caller', trace_id
      using errcode = 'RG401',
        detail = format('role %s retrieved, and %s reranks',
          ragdb_internal.quote(v_trace.caller), ragdb_internal.quote(ragdb_internal.caller())),
        hint = 'retrieve and rerank as one role';
  end if;
  return query select r.* from unnest(
    ragdb_internal.insert_rerank(v_trace, v_model, chunk_ids, scores, k)) r order by r.rank;
end $$;
comment on function ragdb.record_rerank is
  'Records, once, what a reranker gave each hit of a trace of the caller''s (chunk_ids and their '
  'finite scores, in any order), and returns the hits by score, equal ones in the order of the '
  'trace; the first k (1 to 1000; null: all) are what the caller keeps. Raises RG400, RG401, '
  'RG407, RG409, RG421, RG423, and 25006 where nothing can be written.';

create or replace function ragdb.trace_reranks(trace_id uuid) returns setof ragdb.retrieval_reranks
language plpgsql stable parallel safe security definer -- reranks are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces :=
    ragdb_internal.open_trace(trace_id, is_audit => true);
begin
  return query select r.* from ragdb.retrieval_reranks r
    where r.corpus_id = v_trace.corpus_id and r.trace_id = v_trace.id
      and r.created_at = v_trace.created_at
    order by r.rank;
end $$;
comment on function ragdb.trace_reranks is
  'Returns what a reranker made of the hits of one trace, best first; none where it was not '
  'reranked. Raises RG400, RG407.';
