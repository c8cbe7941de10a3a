-- The embedding queue: how workers claim inputs that have no embedding yet.
--
-- The work is a set difference, the chunks of a space without an embedding. Jobs are that
-- difference written down, one row for each input, so that equal inputs are computed once. A worker
-- claims and commits, computes with no transaction open, and completes. Each completion names the
-- number of its claim, so that one that comes too late changes nothing.

-- Refuses a worker without a name or a lease outside 1 second to 1 day. Raises RG400.
create or replace function ragdb_internal.check_worker(worker text, lease interval)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if worker is null or worker = '' or length(worker) > 200 or lease is null
    or lease not between interval '1 second' and interval '1 day'
  then
    raise exception 'worker is % and lease %',
        ragdb_internal.quote(worker), coalesce(lease::text, 'null')
      using errcode = 'RG400', detail = 'a claim belongs to a worker for the time of its lease',
            hint = 'give a name of 1 to 200 characters and a lease from 1 second to 1 day';
  end if;
end $$;

-- Refuses a number of inputs outside 1 to 10000 and a list of embedders that is not plain. Raises
-- RG400.
create or replace function ragdb_internal.check_claim(count integer, except_embedders text[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'inputs'),
    ragdb_internal.check_excepted(except_embedders, 'embedders', 'inputs');
end $$;

-- Returns the spaces that are filled, of all corpora that the caller may write or of some, and of
-- one embedder or all but some; current ones first.
create or replace function ragdb_internal.claimable_spaces(
  only_corpus_ids integer[], only_embedder text, except_embedders text[])
returns table (
  corpus_id integer, space_id integer, corpus text, embedder text, passage_prefix text)
language sql stable parallel safe
begin atomic
  select s.corpus_id, s.space_id, c.name, e.name, e.passage_prefix
  from ragdb.embedding_spaces s
    join ragdb.corpora c on c.corpus_id = s.corpus_id
    join ragdb.embedders e on e.embedder_id = s.embedder_id
  where s.state <> 'retired' and e.provider is distinct from 'static'
    and c.moving is distinct from 'moved'
    and (claimable_spaces.only_corpus_ids is null
      or s.corpus_id = any (claimable_spaces.only_corpus_ids))
    and e.name = coalesce(claimable_spaces.only_embedder, e.name)
    and e.name <> all (claimable_spaces.except_embedders)
    and ragdb_internal.privilege(c) >= 2
  order by s.state desc, s.space_id;
end;

-- Gives up the inputs of a space that were claimed twenty times without an answer: a worker that
-- dies takes its claim along, and an input that kills twenty workers is to blame. It locks their
-- corpus, or leaves them to a later claim if it may not wait for it. Rows that are locked are found
-- again by their place: of a queue that was just filled nothing is known, and the key looks no
-- better than a scan.
create or replace function ragdb_internal.bury_jobs(
  corpus_id integer, space_id integer, may_wait boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  if not exists (
    select from ragdb.embedding_jobs j
    where j.corpus_id = bury_jobs.corpus_id and j.space_id = bury_jobs.space_id
      and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 20)
    or (ragdb_internal.lock_for_claim(bury_jobs.corpus_id, may_wait)).corpus_id is null
  then
    return;
  end if;
  with fatal as materialized (
    select j.ctid as place from ragdb.embedding_jobs j
    where j.corpus_id = bury_jobs.corpus_id and j.space_id = bury_jobs.space_id
      and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 20
    for update skip locked
  )
  update ragdb.embedding_jobs j set is_dead = true, worker = null,
      last_error = coalesce(j.last_error, 'twenty workers died or lost their lease on it')
    from fatal f
    where j.ctid = f.place;
  perform ragdb_internal.note_filled(bury_jobs.space_id);
end $$;

-- Gives a worker up to count inputs of a space that are due, for the time of a lease, and returns
-- their jobs; first gives up those that were claimed too often.
create or replace function ragdb_internal.take_jobs(
  corpus_id integer, space_id integer, worker text, count integer, lease interval,
  may_wait boolean)
returns ragdb.embedding_jobs[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_taken ragdb.embedding_jobs[];
begin
  perform ragdb_internal.bury_jobs(take_jobs.corpus_id, take_jobs.space_id, may_wait);
  perform ragdb_internal.recall_jobs(take_jobs.corpus_id, take_jobs.space_id);
  with due as materialized (
    select j.ctid as place from ragdb.embedding_jobs j
    where j.corpus_id = take_jobs.corpus_id and j.space_id = take_jobs.space_id
      and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt < j.failures + 20
    order by j.due_at limit take_jobs.count
    for update skip locked
  ), taken as (
    update ragdb.embedding_jobs j
    set attempt = j.attempt + 1, worker = take_jobs.worker,
        due_at = clock_timestamp() + take_jobs.lease
    from due d
    where j.ctid = d.place
    returning j as job
  )
  select coalesce(array_agg(t.job), '{}') into v_taken from taken t;
  return v_taken;
end $$;

-- Returns the inputs of jobs of a space that some chunk has still, and drops the jobs of others:
-- their chunks are gone or have changed.
create or replace function ragdb_internal.wanted_inputs(
  taken ragdb.embedding_jobs[], passage_prefix text)
returns table (input_hash bytea, attempt integer, input text)
language sql
begin atomic
  with wanted as materialized (
    select j.input_hash, j.attempt, i.input
    from pg_catalog.unnest(wanted_inputs.taken) j
      -- one chunk that has the input still speaks for all
      cross join lateral (
        select e.input from ragdb_internal.embedding_inputs(
          j.corpus_id, j.chunk_nos, wanted_inputs.passage_prefix) e
        where pg_catalog.sha256(pg_catalog.convert_to(e.input, 'UTF8')) = j.input_hash limit 1) i
  ), unwanted as (
    delete from ragdb.embedding_jobs j using pg_catalog.unnest(wanted_inputs.taken) t
    where j.corpus_id = t.corpus_id and j.space_id = t.space_id and j.input_hash = t.input_hash
      and t.input_hash not in (select w.input_hash from wanted w)
  )
  select w.input_hash, w.attempt, w.input from wanted w;
end;

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
  v_only integer[];
  v_space record;
  v_taken ragdb.embedding_jobs[];
  v_has_dropped boolean := false;
  v_written integer[] := '{}';
begin
  perform ragdb_internal.check_worker(worker, lease);
  perform ragdb_internal.check_claim(count, except_embedders);
  v_only := ragdb_internal.only_corpora(only_corpus, 'write');
  if only_embedder is not null then
    perform ragdb_internal.embedder(only_embedder);
  end if;
  for v_space in
    select s.*, n.is_last
    from ragdb_internal.claimable_spaces(v_only, only_embedder, except_embedders)
      with ordinality s cross join unnest('{f,t}'::boolean[]) n (is_last)
    order by n.is_last, s.ordinality
  loop
    continue when v_space.is_last and v_space.space_id <> all (v_written)
      or not ragdb_internal.has_work(v_space.corpus_id, v_space.space_id);
    -- a corpus that is written comes last: its transaction may stay open
    if not v_space.is_last and ragdb_internal.is_written(v_space.corpus_id) then
      v_written := v_written || v_space.space_id;
      continue;
    end if;
    loop
      v_taken := ragdb_internal.take_jobs(
        v_space.corpus_id, v_space.space_id, worker, count, lease, not v_has_dropped);
      return query
        select v_space.space_id, v_space.corpus, v_space.embedder, w.*
        from ragdb_internal.wanted_inputs(v_taken, v_space.passage_prefix) w;
      if found then return; end if;
      v_has_dropped := v_has_dropped or cardinality(v_taken) > 0;
      exit when cardinality(v_taken) = 0 and ragdb_internal.queue_new_chunks(
        v_space.corpus_id, v_space.space_id, 10 * count, not v_has_dropped) = 0;
    end loop;
  end loop;
end $$;
comment on function ragdb.claim_embeddings is
  'Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for the time '
  'of the lease (1 s to 1 day), of all corpora that the caller may write or of one with its '
  'parts, and of one embedder or all but some. A corpus that another transaction writes comes '
  'last, and is waited for half a second. Commit before computing. Raises RG400, RG401, RG404, '
  'RG416.';

create or replace function ragdb.renew_embeddings(
  worker text, lease interval default '60 seconds')
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_renewed integer;
begin
  perform ragdb_internal.check_worker(worker, lease);
  -- what the worker is completing at this moment is locked and needs no lease; to wait for it would
  -- deadlock
  with mine as materialized (
    select j.place
    from ragdb.embedding_spaces s join ragdb.corpora c on c.corpus_id = s.corpus_id
      -- of each space by time: what is due later is in work or backs off
      cross join lateral (
        select h.ctid as place from ragdb.embedding_jobs h
        where h.corpus_id = s.corpus_id and h.space_id = s.space_id
          and h.worker = renew_embeddings.worker and not h.is_dead and h.due_at > clock_timestamp()
        for update skip locked) j
    where ragdb_internal.privilege(c) >= 2
  )
  update ragdb.embedding_jobs j set due_at = clock_timestamp() + lease
    from mine m where j.ctid = m.place;
  get diagnostics v_renewed = row_count;
  return v_renewed;
end $$;
comment on function ragdb.renew_embeddings is
  'Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and returns how '
  'many inputs that is. Raises RG400.';

