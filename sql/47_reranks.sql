-- Reranking: a model in the client reads the query beside each hit of a trace. The database says
-- which model, how many hits to give it and what their order is then, and keeps its scores.

-- Rerankers

create or replace function ragdb._reranker(reranker text) returns ragdb.rerankers
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reranker ragdb.rerankers;
begin
  select r.* into v_reranker from ragdb.rerankers r where r.name = reranker;
  if not found then
    raise exception 'reranker % does not exist', ragdb._quote(reranker)
      using errcode = 'RG421', detail = 'no reranker of that name was bound',
            hint = coalesce('did you mean '
              || ragdb._nearest_name(reranker, array(select r.name from ragdb.rerankers r)) || '?',
              'ragdb reranker bind makes one');
  end if;
  return v_reranker;
end $$;
comment on function ragdb._reranker(text) is 'Returns the row of a reranker. Raises RG421.';

-- Definer, and an admin's: clients load what is named here.
create or replace function ragdb.bind_reranker(
  name text, source text, weights_sha256 text, max_tokens integer default 512,
    revision text default null)
returns ragdb.rerankers
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound ragdb.rerankers;
begin
  if name is null or length(name) not between 1 and 200 or name = 'none' or source is null
    or source !~ '\S'
    or weights_sha256 is null or weights_sha256 !~ '^[0-9a-f]{64}$' or max_tokens is null
      or max_tokens not between 8 and 1000000
  then
    raise exception 'reranker % is not described correctly', ragdb._quote(name)
      using errcode = 'RG400',
        detail = format('source %s, max_tokens %s', ragdb._quote(source),
          coalesce(max_tokens::text, 'null')),
            hint = 'a name of 1 to 200 characters other than none, a source, weights_sha256 of 64 '
                   'hex digits, max_tokens 8 to 1000000';
  end if;
  insert into ragdb.rerankers as r (name, max_tokens, weights_sha256, source, revision, created_at)
    values (bind_reranker.name, bind_reranker.max_tokens, bind_reranker.weights_sha256,
      bind_reranker.source,
      bind_reranker.revision, ragdb._now())
    on conflict on constraint rerankers_name_is_unique do update set source = excluded.source,
      revision = excluded.revision
      where (r.max_tokens, r.weights_sha256) = (excluded.max_tokens, excluded.weights_sha256)
    returning r.* into v_bound;
  if not found then
    raise exception 'reranker % exists and promises something else', ragdb._quote(name)
      using errcode = 'RG409',
        detail = 'its weights and max_tokens never change, because recorded scores rest on them',
            hint = 'bind it under another name, and name that in contracts';
  end if;
  return v_bound;
end $$;
comment on function ragdb.bind_reranker(text, text, text, integer, text) is
  'Makes a reranker, or says where an existing one with the same weights and max_tokens lies: '
  'source is a path, or a name on the hub with its revision, weights_sha256 the digest of its '
  'model.safetensors (64 hex digits), max_tokens (8 to 1000000) what it reads of query and passage '
  'together. Raises RG400, RG409.';

create or replace function ragdb.list_rerankers() returns setof ragdb.rerankers
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select r.* from ragdb.rerankers r order by r.name;
end;
comment on function ragdb.list_rerankers() is 'Lists the rerankers by name.';

create or replace function ragdb.rerank_depth(k integer) returns integer
language sql immutable parallel safe
return greatest(rerank_depth.k, least(1000, 4 * rerank_depth.k::bigint))::integer;
comment on function ragdb.rerank_depth(integer) is
  'Returns how many hits to retrieve for a reranker that is to leave k of them: 4 k, at most 1000.';

-- Recording

create or replace function ragdb._rerank_hash(trace_hash bytea, reranks ragdb.retrieval_reranks[])
  returns bytea
language sql stable parallel safe
return ragdb._fields_hash(variadic array['ragdb.rerank/1'::bytea, trace_hash] || array(
  select f.bytes
  from pg_catalog.unnest(reranks) as r
  cross join lateral pg_catalog.unnest(array[
    ragdb._utf8(r.model), pg_catalog.int4send(r.rank), ragdb._utf8(r.chunk_id),
      pg_catalog.float8send(r.score),
    pg_catalog.boolsend(r.is_returned), pg_catalog.timestamptz_send(r.recorded_at)])
      with ordinality as f (bytes, n)
  order by r.rank, f.n));
comment on function ragdb._rerank_hash(bytea, ragdb.retrieval_reranks[]) is
  'Returns the sha256 of a reranking: the hash of its trace, then its rows by rank.';

-- The one place where scores become an order; recorded or not.
create or replace function ragdb._reranked(
  trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[], model text, chunk_ids text[],
    scores float8[], k integer)
returns ragdb.retrieval_reranks[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
begin
  if chunk_ids is null or scores is null or cardinality(chunk_ids) <> cardinality(scores) then
    v_wrong := format('%s scores for %s chunks', coalesce(cardinality(scores), 0),
      coalesce(cardinality(chunk_ids), 0));
  else
    select min(p.problem) into v_wrong from (
      select case
          when u.chunk_id is null then 'a chunk without an id'
          when u.score is null or u.score in ('nan', 'infinity', '-infinity')
            then format('score %s for chunk %s', coalesce(u.score::text, 'null'),
              ragdb._quote(u.chunk_id))
          when count(*) over (partition by u.chunk_id) > 1
            then format('chunk %s twice', ragdb._quote(u.chunk_id))
          when h.chunk_id is null then format('chunk %s, which is no hit of the trace',
            ragdb._quote(u.chunk_id)) end as problem
      from unnest(chunk_ids, scores) u (chunk_id, score)
        left join unnest(hits) h on h.chunk_id = u.chunk_id) p;
    if v_wrong is null and cardinality(chunk_ids) <> cardinality(hits) then
      v_wrong := format('%s chunks for %s hits', cardinality(chunk_ids), cardinality(hits));
    end if;
  end if;
  if v_wrong is not null then
    raise exception 'reranker % gave %', ragdb._quote(model), v_wrong
      using errcode = 'RG423', detail = 'a reranking has one finite score for each hit',
            hint = 'give every chunk that was retrieved once; nothing was recorded';
  end if;
  return array(
    select row(trace.corpus_id, trace.id, trace.created_at, r.rank, r.chunk_id, r.score,
      _reranked.model,
      r.rank <= coalesce(k, r.rank), ragdb._now(), null, null)::ragdb.retrieval_reranks
    from (select u.chunk_id, u.score,
      row_number() over (order by u.score desc, h.rank)::integer as rank
      from unnest(chunk_ids, scores) u (chunk_id, score)
        join unnest(hits) h on h.chunk_id = u.chunk_id) r
    order by r.rank);
end $$;
comment on function ragdb._reranked(ragdb.retrieval_traces, ragdb.retrieval_hits[], text, text[],
  float8[], integer) is
  'Returns the hits of a retrieval by the scores of a reranker, equal ones in their order; the '
  'first k (null: all) are those returned. Raises RG423.';

create or replace function ragdb._scores(scores jsonb, chunk_ids text[]) returns float8[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(scores) is distinct from 'object' or exists (
      select from jsonb_each(scores) s where jsonb_typeof(s.value) <> 'number'
        or abs(s.value::numeric) > 1e308)
  then
    raise exception 'rerank_scores is no object of scores'
      using errcode = 'RG423', detail = 'it is what the reranker gave each chunk that it was shown',
            hint = '{"chunk_id": score}, each a finite number';
  end if;
  return array(select ragdb._double((scores ->> i.id)::numeric) from unnest(chunk_ids)
    with ordinality i (id, n) order by i.n);
end $$;
comment on function ragdb._scores(jsonb, text[]) is
  'Returns the scores of some chunks out of {"chunk_id": score}; null for one that has none. '
  'Raises RG423.';

create or replace function ragdb._record_rerank(
  trace ragdb.retrieval_traces, model text, chunk_ids text[], scores float8[], k integer)
returns ragdb.retrieval_reranks[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reranks ragdb.retrieval_reranks[] := ragdb._reranked(
    trace, array(select h from ragdb.trace_hits(trace.id) h), model, chunk_ids, scores, k);
  v_rows integer;
begin
  if v_reranks = '{}' then
    return v_reranks;
  end if;
  v_reranks[1].rerank_hash := ragdb._rerank_hash(trace.trace_hash, v_reranks);
  v_reranks[1].rerank_mac := ragdb._trace_mac(v_reranks[1].rerank_hash,
    (ragdb._signing_key()).secret);
  -- once an upgrade has brought the table, its first month is made here
  if to_regclass('ragdb.retrieval_reranks_default') is null then
    perform ragdb.maintain();
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
  return v_reranks;
end $$;
comment on function ragdb._record_rerank(ragdb.retrieval_traces, text, text[], float8[], integer) is
  'Writes the reranking of a trace and returns its rows by rank. Raises RG409, RG423.';

-- Definer: it writes a table that is granted to nobody.
create or replace function ragdb.record_rerank(
  trace_id uuid, model text, chunk_ids text[], scores float8[], k integer default null)
returns setof ragdb.retrieval_reranks
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
  v_model text := (ragdb._reranker(model)).name;
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception 'record_rerank writes, and this transaction is read-only'
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'rerank the hits of ragdb.search(), which are recorded nowhere';
  end if;
  if k not between 1 and 1000 then
    raise exception 'k is %', k
      using errcode = 'RG400', detail = 'k is the number of hits that the caller keeps',
        hint = 'give 1 to 1000, or null for all';
  end if;
  if v_trace.caller <> ragdb._caller() then
    raise exception 'trace % is of another caller', trace_id
      using errcode = 'RG401',
        detail = format('role %s retrieved, and %s reranks', ragdb._quote(v_trace.caller),
          ragdb._quote(ragdb._caller())),
            hint = 'retrieve and rerank as one role';
  end if;
  return query select r.*
    from unnest(ragdb._record_rerank(v_trace, v_model, chunk_ids, scores, k)) r order by r.rank;
end $$;
comment on function ragdb.record_rerank(uuid, text, text[], float8[], integer) is
  'Records, once, what a reranker gave each hit of a trace of the caller''s (chunk_ids and their '
  'finite scores, in any order), and returns the hits by score, equal ones in the order of the '
  'trace; the first k (1 to 1000; null: all) are what the caller keeps. Raises RG400, RG401, '
  'RG407, RG409, RG421, RG423, and 25006 where nothing can be written.';

create or replace function ragdb.trace_reranks(trace_id uuid) returns setof ragdb.retrieval_reranks
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
begin
  return query select r.* from ragdb.retrieval_reranks r
    where r.corpus_id = v_trace.corpus_id and r.trace_id = v_trace.id
      and r.created_at = v_trace.created_at
    order by r.rank;
end $$;
comment on function ragdb.trace_reranks(uuid) is
  'Returns what a reranker made of the hits of one trace, best first; none where it was not '
  'reranked. Raises RG400, RG407.';
