-- The embedding queue: how workers complete what they claimed, or give it back.

-- Returns a space whose corpus the caller may write. Raises RG404.
create or replace function ragdb_internal.space_of(space_id integer) returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_corpus ragdb.corpora;
begin
  select s.* into v_space from ragdb.embedding_spaces s where s.space_id = space_of.space_id;
  select c.* into v_corpus from ragdb.corpora c where c.corpus_id = v_space.corpus_id;
  if v_corpus.corpus_id is null
    or ragdb_internal.privilege(v_corpus) < 2
  then
    raise exception 'space % does not exist', coalesce(space_id::text, 'null')
      using errcode = 'RG404', detail = 'it was dropped, or the caller may not write to its corpus',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  return v_space;
end $$;

-- Refuses lists of claimed inputs and of their attempts that are not of one length. Raises RG400.
create or replace function ragdb_internal.check_claimed(
  input_hashes bytea[], attempts integer[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if input_hashes is null or coalesce(cardinality(attempts), -1) <> cardinality(input_hashes) then
    raise exception 'input_hashes and attempts are not of one length'
      using errcode = 'RG400', detail = 'they are parallel, one entry for each input',
            hint = 'pass them as ragdb.claim_embeddings() returned them';
  end if;
end $$;

-- Returns what to call claimed inputs in an error: each by the first of its chunks.
create or replace function ragdb_internal.input_labels(
  space ragdb.embedding_spaces, input_hashes bytea[])
returns text[]
language sql stable parallel safe
return array(
  select coalesce('chunk ' || ragdb_internal.quote((
      select c.chunk_id from ragdb.embedding_jobs j
        join ragdb.chunks c on c.corpus_id = j.corpus_id and c.chunk_no = any (j.chunk_nos)
      where j.corpus_id = (input_labels.space).corpus_id
        and j.space_id = (input_labels.space).space_id and j.input_hash = h.hash
      order by c.chunk_id limit 1)), 'input ' || h.n)
  from pg_catalog.unnest(input_labels.input_hashes) with ordinality h (hash, n) order by h.n);

-- Ends the jobs of claimed inputs that were not lost, stores their embeddings for all chunks that
-- have these inputs still, and returns those chunks; the caller holds the corpus lock.
create or replace function ragdb_internal.store_embeddings(
  space ragdb.embedding_spaces, embedder ragdb.embedders, input_hashes bytea[],
  attempts integer[], embeddings real[])
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_stored integer[];
begin
  with given as materialized (
    select h.hash, h.attempt, k.embedding
    from unnest(input_hashes, attempts) with ordinality h (hash, attempt, n)
      join ragdb_internal.cut(embeddings, embedder.dims) k on k.n = h.n
  ), done as (
    delete from ragdb.embedding_jobs j using given g
    where j.corpus_id = space.corpus_id and j.space_id = space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.input_hash, j.chunk_nos, g.embedding
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select space.space_id, space.corpus_id, i.chunk_no, d.input_hash, d.embedding
    from done d cross join lateral ragdb_internal.embedding_inputs(
      space.corpus_id, d.chunk_nos, embedder.passage_prefix) i
    where sha256(convert_to(i.input, 'UTF8')) = d.input_hash
    order by i.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select coalesce(array_agg(s.chunk_no), '{}') into v_stored from stored s;
  return v_stored;
end $$;

create or replace function ragdb.complete_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.space_of(space_id);
  v_embedder ragdb.embedders;
  v_name text;
  v_stored integer[];
begin
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb_internal.check_claimed(input_hashes, attempts);
  if cardinality(input_hashes) = 0 then
    return 0;
  end if;
  begin
    perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
      input_hashes::text[]);
  exception when sqlstate 'RG418' then
    -- only now is it worth while to look up what they are of
    perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
      ragdb_internal.input_labels(v_space, input_hashes));
  end;
  -- no chunk may change between the look at it and the commit
  select c.name into strict v_name from ragdb.corpora c where c.corpus_id = v_space.corpus_id;
  perform ragdb_internal.lock_corpus(v_name, 'write');
  -- it may have become the current one meanwhile
  v_space := ragdb_internal.space_of(space_id);
  v_stored := ragdb_internal.store_embeddings(
    v_space, v_embedder, input_hashes, attempts, embeddings);
  perform ragdb_internal.note_filled(v_space.space_id);
  perform ragdb_internal.derive_embedded_turns(v_space, v_stored);
  return cardinality(v_stored);
end $$;
comment on function ragdb.complete_embeddings is
  'Stores the embeddings (one behind the other) of claimed inputs for all chunks that have these '
  'inputs still, and returns how many chunks that is; claims lost meanwhile are left alone. Raises '
  'RG400, RG404, RG418.';

create or replace function ragdb.fail_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], error text,
  retry_after interval default null)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.space_of(space_id);
  v_dead integer;
begin
  perform ragdb_internal.check_claimed(input_hashes, attempts);
  if error is null then
    raise exception 'error is null'
      using errcode = 'RG400', detail = 'a failure is kept with its reason',
            hint = 'pass what the model or the endpoint said';
  end if;
  -- once the last that waits is given up, searches compare embeddings: a write of the corpus
  perform ragdb_internal.lock_opened(c) from ragdb.corpora c
    where c.corpus_id = v_space.corpus_id and retry_after is null and exists (
      select from ragdb.embedding_jobs j
      where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
        and j.input_hash = any (input_hashes) and j.failures >= 4);
  -- 2, 4, 8 and 16 seconds, give or take a half, so that many workers do not come back at once;
  -- retry_after says that the provider is at fault, not the input: then neither a failure nor an
  -- attempt is counted, or the input would be dead at the end of an outage
  with failed as (
    update ragdb.embedding_jobs j
    set worker = null, last_error = left(error, 500),
        failures = j.failures + case when retry_after is null then 1 else 0 end,
        attempt = j.attempt - case when retry_after is null then 0 else 1 end,
        is_dead = retry_after is null and j.failures + 1 >= 5,
        due_at = clock_timestamp() + coalesce(
          case when retry_after is not null then least(retry_after, interval '1 day') end,
          make_interval(secs => 2 ^ least(j.failures + 1, 8))) * (0.5 + random())
    from unnest(input_hashes, attempts) g (hash, attempt)
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.is_dead
  )
  select count(*) filter (where f.is_dead) into v_dead from failed f;
  perform ragdb_internal.note_filled(v_space.space_id) where v_dead > 0;
  return v_dead;
end $$;
comment on function ragdb.fail_embeddings is
  'Gives claimed inputs back after a failure, to be tried again after a back-off, or after about '
  'retry_after (at most a day) when the provider and not the input failed; the fifth failure kills '
  'a job. Returns how many died. Raises RG400, RG404.';
