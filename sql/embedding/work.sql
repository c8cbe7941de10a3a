-- The embedding queue: what has no embedding yet, who is at work on it, and what went wrong.
--
-- The work is a set difference, the chunks of a space without an embedding; jobs are that
-- difference written down, one row an input, so that equal inputs are computed once. A worker
-- claims (commit), computes with no transaction open, and completes; every completion is fenced by
-- the number of the claim.

create or replace function ragdb_internal.check_worker(worker text, lease interval) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if worker is null or worker = '' or length(worker) > 200 or lease is null
    or lease not between interval '1 second' and interval '1 day'
  then
    raise exception 'worker is % and lease %', ragdb_internal.quote(worker), coalesce(lease::text, 'null')
      using errcode = 'RG400', detail = 'a claim belongs to a worker for the time of its lease',
            hint = 'give a name of 1 to 200 characters and a lease from 1 second to 1 day';
  end if;
end $$;
comment on function ragdb_internal.check_worker(text, interval) is
  'Refuses a worker without a name or a lease outside 1 second to 1 day. Raises RG400.';

create or replace function ragdb.claim_embeddings(
  worker text, count integer default 256, lease interval default '60 seconds',
  only_corpus text default null, only_embedder text default null,
    except_embedders text[] default '{}')
returns table (space_id integer, corpus text, embedder text, input_hash bytea, attempt integer,
  input text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_space record;
  v_claimed ragdb.embedding_jobs[];
  v_only integer;
begin
  perform ragdb_internal.check_worker(worker, lease);
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many inputs',
        hint = 'pass count from 1 to 10000';
  end if;
  if except_embedders is null or not ragdb_internal.is_list(except_embedders) then
    raise exception 'except_embedders is null, has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'it names the embedders whose inputs are left alone',
        hint = 'pass a plain list of names, {} for none';
  end if;
  if only_corpus is not null then
    v_only := (ragdb_internal.open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  if only_embedder is not null then
    perform ragdb_internal.embedder(only_embedder);
  end if;
  for v_space in
    select s.corpus_id, s.space_id, c.name as corpus, e.name as embedder, e.passage_prefix
    from ragdb.embedding_spaces s
      join ragdb.corpora c on c.corpus_id = s.corpus_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.state <> 'retired' and s.corpus_id = coalesce(v_only, s.corpus_id)
      and e.name = coalesce(only_embedder, e.name) and e.name <> all (except_embedders)
      and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) >= 2
    order by s.state desc, s.space_id
  loop
    loop
      -- A worker that dies takes its claim along; an input that kills twenty workers is to blame.
      -- What was locked is found again by its place: of a queue just filled nothing is known, and
      -- the key looks no better than a scan.
      with fatal as materialized (
        select j.ctid as place from ragdb.embedding_jobs j
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 20
        for update skip locked
      )
      update ragdb.embedding_jobs j set is_dead = true, worker = null,
          last_error = coalesce(j.last_error, 'twenty workers died or lost their lease on it')
        from fatal f
        where j.ctid = f.place;
      with due as materialized (
        select j.ctid as place from ragdb.embedding_jobs j
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and not j.is_dead and j.due_at <= clock_timestamp()
        order by j.due_at limit claim_embeddings.count
        for update skip locked
      ), claimed as (
        update ragdb.embedding_jobs j
        set attempt = j.attempt + 1, worker = claim_embeddings.worker,
            due_at = clock_timestamp() + claim_embeddings.lease
        from due d
        where j.ctid = d.place
        returning j as job
      )
      select coalesce(array_agg(c.job), '{}') into v_claimed from claimed c;
      return query
        select v_space.space_id, v_space.corpus, v_space.embedder, j.input_hash, j.attempt, i.input
        from unnest(v_claimed) j
          -- one chunk that has the input still speaks for all
          cross join lateral (
            select e.input
            from ragdb_internal.embedding_inputs(v_space.corpus_id, j.chunk_nos, v_space.passage_prefix) e
            where sha256(convert_to(e.input, 'UTF8')) = j.input_hash limit 1) i;
      if found then
        return;
      end if;
      -- none of the claimed is wanted any more: their chunks are gone or have changed
      delete from ragdb.embedding_jobs j using unnest(v_claimed) c
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and j.input_hash = c.input_hash;
      exit when cardinality(v_claimed) = 0
        and ragdb_internal.queue_new_chunks(v_space.space_id, 10 * claim_embeddings.count) = 0;
    end loop;
  end loop;
end $$;
comment on function ragdb.claim_embeddings(text, integer, interval, text, text, text[]) is
  'Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for the time of '
  'the lease (1 s to 1 day), of all corpora that the caller may write or of one, and of one '
  'embedder or all but some. Commit before computing. Raises RG400, RG401, RG404, RG416.';

create or replace function ragdb.renew_embeddings(worker text, lease interval default '60 seconds')
  returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_renewed integer;
begin
  perform ragdb_internal.check_worker(worker, lease);
  -- what the worker is completing at this moment is locked, and needs no lease: waiting for it
  -- would deadlock
  with mine as materialized (
    select j.corpus_id, j.space_id, j.input_hash
    from ragdb.embedding_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.worker = renew_embeddings.worker and not j.is_dead and j.due_at > clock_timestamp()
      and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) >= 2
    for update of j skip locked
  )
  update ragdb.embedding_jobs j set due_at = clock_timestamp() + lease
    from mine m
    where j.corpus_id = m.corpus_id and j.space_id = m.space_id and j.input_hash = m.input_hash;
  get diagnostics v_renewed = row_count;
  return v_renewed;
end $$;
comment on function ragdb.renew_embeddings(text, interval) is
  'Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and returns how '
  'many inputs that is. Raises RG400.';

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
    or ragdb_internal.privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name) < 2
  then
    raise exception 'space % does not exist', coalesce(space_id::text, 'null')
      using errcode = 'RG404', detail = 'it was dropped, or the caller may not write to its corpus',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  return v_space;
end $$;
comment on function ragdb_internal.space_of(integer) is
  'Returns a space whose corpus the caller may write. Raises RG404.';

create or replace function ragdb.complete_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.space_of(space_id);
  v_embedder ragdb.embedders;
  v_corpus ragdb.corpora;
  v_stored integer[];
begin
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  if input_hashes is null or coalesce(cardinality(attempts), -1) <> cardinality(input_hashes) then
    raise exception 'input_hashes and attempts are not of one length'
      using errcode = 'RG400', detail = 'they are parallel, one entry an input',
            hint = 'pass them as ragdb.claim_embeddings() returned them';
  end if;
  if cardinality(input_hashes) = 0 then
    return 0;
  end if;
  begin
    perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
      input_hashes::text[]);
  exception when sqlstate 'RG418' then
    -- only now it is worth while to look up what they are of
    perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
      select coalesce('chunk ' || ragdb_internal.quote((
          select c.chunk_id from ragdb.embedding_jobs j
            join ragdb.chunks c on c.corpus_id = j.corpus_id and c.chunk_no = any (j.chunk_nos)
          where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
            and j.input_hash = h.hash
          order by c.chunk_id limit 1)), 'input ' || h.n)
      from unnest(input_hashes) with ordinality h (hash, n) order by h.n));
  end;
  -- no chunk may change between the look at it and the commit
  select c.name into strict v_corpus.name from ragdb.corpora c
    where c.corpus_id = v_space.corpus_id;
  v_corpus := ragdb_internal.lock_corpus(v_corpus.name, 'write');
  with given as materialized (
    select h.hash, attempts[h.n] as attempt, k.embedding
    from unnest(input_hashes) with ordinality h (hash, n)
      join ragdb_internal.cut(embeddings, v_embedder.dims) k on k.n = h.n
  ), done as (
    delete from ragdb.embedding_jobs j using given g
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.input_hash, j.chunk_nos, g.embedding
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select v_space.space_id, v_space.corpus_id, i.chunk_no, d.input_hash, d.embedding
    from done d cross join lateral
      ragdb_internal.embedding_inputs(v_space.corpus_id, d.chunk_nos, v_embedder.passage_prefix) i
    where sha256(convert_to(i.input, 'UTF8')) = d.input_hash
    order by i.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select array_agg(s.chunk_no) into v_stored from stored s;
  perform ragdb_internal.derive_embedded_turns(v_space, v_stored);
  return coalesce(cardinality(v_stored), 0);
end $$;
comment on function ragdb.complete_embeddings(integer, bytea[], integer[], real[]) is
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
  if input_hashes is null or coalesce(cardinality(attempts), -1) <> cardinality(input_hashes)
    or error is null then
    raise exception 'input_hashes and attempts are not of one length, or error is null'
      using errcode = 'RG400', detail = 'they are parallel, one entry an input',
            hint = 'pass them as ragdb.claim_embeddings() returned them';
  end if;
  -- 2, 4, 8 and 16 seconds, give or take a half, so that many workers do not come back at once;
  -- retry_after says that the provider is at fault, not the input: neither a failure nor an attempt
  -- is counted, for the input would be dead at the end of an outage
  with failed as (
    update ragdb.embedding_jobs j
    set worker = null, last_error = left(error, 500),
        failures = j.failures + case when retry_after is null then 1 else 0 end,
        attempt = j.attempt - case when retry_after is null then 0 else 1 end,
        is_dead = retry_after is null and j.failures + 1 >= 5,
        due_at = clock_timestamp() + coalesce(retry_after,
          make_interval(secs => 2 ^ least(j.failures + 1, 8))) * (0.5 + random())
    from unnest(input_hashes, attempts) g (hash, attempt)
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.is_dead
  )
  select count(*) filter (where f.is_dead) into v_dead from failed f;
  return v_dead;
end $$;
comment on function ragdb.fail_embeddings(integer, bytea[], integer[], text, interval) is
  'Gives claimed inputs back after a failure, to be tried again after a back-off, or after about '
  'retry_after when the provider and not the input failed; the fifth failure kills a job. Returns '
  'how many died. Raises RG400, RG404.';
