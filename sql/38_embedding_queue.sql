-- The embedding queue: what has no embedding yet, who is at work on it, and what went wrong.
--
-- The work is a set difference, the chunks of a space without an embedding; jobs are that
-- difference written down, one row an input, so that equal inputs are computed once. A worker
-- claims (commit), computes with no transaction open, and completes; every completion is fenced by
-- the number of the claim.

-- By key, and each text put together once, whatever the caller does with it
create or replace function ragdb._embedding_inputs(
  corpus_id integer, chunk_nos integer[], prefix text)
returns table (chunk_no integer, input text)
language sql stable parallel safe
begin atomic
  select n.chunk_no, i.input
  from pg_catalog.unnest(_embedding_inputs.chunk_nos) n (chunk_no)
    cross join lateral (
      select _embedding_inputs.prefix || ragdb._searched_text(d.title, c.heading, c.text) as input
      from (select h.doc_no, h.heading, h.text from ragdb.chunks h
          where h.corpus_id = _embedding_inputs.corpus_id and h.chunk_no = n.chunk_no offset 0) c
        cross join lateral (select o.title from ragdb.documents o
          where o.corpus_id = _embedding_inputs.corpus_id and o.doc_no = c.doc_no offset 0) d
      offset 0) i;
end;
comment on function ragdb._embedding_inputs(integer, integer[], text) is
  'Returns what is embedded of chunks: the prefix, then title, heading path and text joined by '
  'newlines.';

-- Copies the embedding of an equal input where there is one and queues the rest; the caller holds
-- the corpus lock or the space's row.
create or replace function ragdb._queue_chunks(space ragdb.embedding_spaces, chunk_nos integer[])
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_copied integer[];
begin
  with inputs as materialized (
    select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
    from ragdb.embedders e,
      ragdb._embedding_inputs(space.corpus_id, _queue_chunks.chunk_nos, e.passage_prefix) i
    where e.embedder_id = space.embedder_id
  ), copied as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select space.space_id, space.corpus_id, i.chunk_no, i.hash, k.embedding
    from inputs i cross join lateral (
      select c.embedding from ragdb.chunk_embeddings c
      where c.space_id = space.space_id and c.input_hash = i.hash limit 1) k
    on conflict do nothing
    returning chunk_no
  ), queued as (
    insert into ragdb.embedding_jobs as j (corpus_id, space_id, input_hash, chunk_nos, due_at,
      created_at)
    select space.corpus_id, space.space_id, i.hash, array_agg(i.chunk_no order by i.chunk_no),
      clock_timestamp(), clock_timestamp()
    from inputs i
    where i.chunk_no not in (select c.chunk_no from copied c)
    group by i.hash order by i.hash
    on conflict on constraint embedding_jobs_input_is_unique_per_space do update
      set chunk_nos = array(select distinct n from unnest(j.chunk_nos || excluded.chunk_nos) n
        order by n)
  )
  select array_agg(c.chunk_no) into v_copied from copied c;
  perform ragdb._derive_embedded_turns(space, v_copied);
end $$;
comment on function ragdb._queue_chunks(ragdb.embedding_spaces, integer[]) is
  'Gives chunks the embedding of an equal input of their space, or a job.';

-- Chunk numbers only rise and commit in order (writers of a corpus queue up), so those above
-- queued_to are new.
create or replace function ragdb._queue_new_chunks(space_id integer, count integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
  v_chunks integer[];
  v_last integer;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.space_id = _queue_new_chunks.space_id for update;
  select coalesce(array_agg(n.chunk_no) filter (where not n.is_embedded), '{}'), max(n.chunk_no)
    into v_chunks, v_last
    from (
      select c.chunk_no, exists (select from ragdb.chunk_embeddings e
        where e.space_id = v_space.space_id
        and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no) as is_embedded
      from ragdb.chunks c
      where c.corpus_id = v_space.corpus_id and c.chunk_no > v_space.queued_to
      order by c.chunk_no limit count) n;
  if v_last is null then
    return 0;
  end if;
  perform ragdb._queue_chunks(v_space, v_chunks);
  update ragdb.embedding_spaces s set queued_to = v_last where s.space_id = v_space.space_id;
  return cardinality(v_chunks);
end $$;
comment on function ragdb._queue_new_chunks(integer, integer) is
  'Queues the next chunks of a space that were never queued, and returns how many of them had no '
  'embedding.';

-- A chunk may keep its number and get another heading, text or document: what counts is whether its
-- input changed.
create or replace function ragdb._refresh_embeddings(corpus_id integer, chunk_nos integer[])
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
  v_changed integer[];
begin
  for v_space in
    select s.* from ragdb.embedding_spaces s where s.corpus_id = _refresh_embeddings.corpus_id
      order by s.space_id
  loop
    with inputs as materialized (
      select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
      from ragdb.embedders e,
        ragdb._embedding_inputs(v_space.corpus_id, chunk_nos, e.passage_prefix) i
      where e.embedder_id = v_space.embedder_id
    ), gone as (
      delete from ragdb.chunk_embeddings e using inputs i
      where e.space_id = v_space.space_id and e.corpus_id = v_space.corpus_id
        and e.chunk_no = i.chunk_no and e.input_hash <> i.hash
      returning e.chunk_no
    )
    -- a chunk that still waits has a job under its old input
    select array_agg(i.chunk_no) into v_changed
      from inputs i
      where i.chunk_no <= v_space.queued_to and (
        i.chunk_no in (select g.chunk_no from gone g)
        or not exists (select from ragdb.chunk_embeddings e where e.space_id = v_space.space_id
          and e.corpus_id = v_space.corpus_id and e.chunk_no = i.chunk_no));
    if v_changed is not null and v_space.state <> 'retired' then
      perform ragdb._queue_chunks(v_space, v_changed);
    end if;
  end loop;
end $$;
comment on function ragdb._refresh_embeddings(integer, integer[]) is
  'Drops the embeddings of chunks whose input has changed, in every space of the corpus, and '
  'queues them; the caller holds the corpus lock.';

create or replace function ragdb._refresh_changed_chunks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._refresh_embeddings(c.corpus_id, array_agg(c.chunk_no)) from changed c
    group by c.corpus_id;
  return null;
end $$;
comment on function ragdb._refresh_changed_chunks() is
  'Trigger of ragdb.chunks: keeps embeddings true to the chunks that an update changed.';

create or replace function ragdb._refresh_retitled_documents() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._refresh_embeddings(c.corpus_id, array_agg(c.chunk_no))
    from (
        -- no join: planned once, for whatever number of rows, it may be a loop over all pairs
        select n.corpus_id, n.doc_no, n.title from changed n
        except
        select o.corpus_id, o.doc_no, o.title from before o) d
      join ragdb.chunks c on c.corpus_id = d.corpus_id and c.doc_no = d.doc_no
    group by c.corpus_id;
  return null;
end $$;
comment on function ragdb._refresh_retitled_documents() is
  'Trigger of ragdb.documents: keeps embeddings true to a changed title.';

-- updates only: a trigger on insert would run at restore
create or replace trigger embeddings_follow_chunks after update on ragdb.chunks
  referencing new table as changed
    for each statement execute function ragdb._refresh_changed_chunks();
create or replace trigger embeddings_follow_titles after update on ragdb.documents
  referencing old table as before new table as changed
  for each statement execute function ragdb._refresh_retitled_documents();

create or replace function ragdb._check_worker(worker text, lease interval) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if worker is null or worker = '' or length(worker) > 200 or lease is null
    or lease not between interval '1 second' and interval '1 day'
  then
    raise exception 'worker is % and lease %', ragdb._quote(worker), coalesce(lease::text, 'null')
      using errcode = 'RG400', detail = 'a claim belongs to a worker for the time of its lease',
            hint = 'give a name of 1 to 200 characters and a lease from 1 second to 1 day';
  end if;
end $$;
comment on function ragdb._check_worker(text, interval) is
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
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many inputs',
        hint = 'pass count from 1 to 10000';
  end if;
  if except_embedders is null or not ragdb._is_list(except_embedders) then
    raise exception 'except_embedders is null, has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'it names the embedders whose inputs are left alone',
        hint = 'pass a plain list of names, {} for none';
  end if;
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  if only_embedder is not null then
    perform ragdb._embedder(only_embedder);
  end if;
  for v_space in
    select s.corpus_id, s.space_id, c.name as corpus, e.name as embedder, e.passage_prefix
    from ragdb.embedding_spaces s
      join ragdb.corpora c on c.corpus_id = s.corpus_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.state <> 'retired' and s.corpus_id = coalesce(v_only, s.corpus_id)
      and e.name = coalesce(only_embedder, e.name) and e.name <> all (except_embedders)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
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
            from ragdb._embedding_inputs(v_space.corpus_id, j.chunk_nos, v_space.passage_prefix) e
            where sha256(convert_to(e.input, 'UTF8')) = j.input_hash limit 1) i;
      if found then
        return;
      end if;
      -- none of the claimed is wanted any more: their chunks are gone or have changed
      delete from ragdb.embedding_jobs j using unnest(v_claimed) c
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and j.input_hash = c.input_hash;
      exit when cardinality(v_claimed) = 0
        and ragdb._queue_new_chunks(v_space.space_id, 10 * claim_embeddings.count) = 0;
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
  perform ragdb._check_worker(worker, lease);
  -- what the worker is completing at this moment is locked, and needs no lease: waiting for it
  -- would deadlock
  with mine as materialized (
    select j.corpus_id, j.space_id, j.input_hash
    from ragdb.embedding_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.worker = renew_embeddings.worker and not j.is_dead and j.due_at > clock_timestamp()
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
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

create or replace function ragdb._space_of(space_id integer) returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_corpus ragdb.corpora;
begin
  select s.* into v_space from ragdb.embedding_spaces s where s.space_id = _space_of.space_id;
  select c.* into v_corpus from ragdb.corpora c where c.corpus_id = v_space.corpus_id;
  if v_corpus.corpus_id is null
    or ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name) < 2
  then
    raise exception 'space % does not exist', coalesce(space_id::text, 'null')
      using errcode = 'RG404', detail = 'it was dropped, or the caller may not write to its corpus',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  return v_space;
end $$;
comment on function ragdb._space_of(integer) is
  'Returns a space whose corpus the caller may write. Raises RG404.';

create or replace function ragdb.complete_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces := ragdb._space_of(space_id);
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
    perform ragdb._check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
      input_hashes::text[]);
  exception when sqlstate 'RG418' then
    -- only now it is worth while to look up what they are of
    perform ragdb._check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
      select coalesce('chunk ' || ragdb._quote((
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
  v_corpus := ragdb._lock_corpus(v_corpus.name, 'write');
  with given as materialized (
    select h.hash, attempts[h.n] as attempt, k.embedding
    from unnest(input_hashes) with ordinality h (hash, n)
      join ragdb._cut(embeddings, v_embedder.dims) k on k.n = h.n
  ), done as (
    delete from ragdb.embedding_jobs j using given g
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.input_hash, j.chunk_nos, g.embedding
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select v_space.space_id, v_space.corpus_id, i.chunk_no, d.input_hash, d.embedding
    from done d cross join lateral
      ragdb._embedding_inputs(v_space.corpus_id, d.chunk_nos, v_embedder.passage_prefix) i
    where sha256(convert_to(i.input, 'UTF8')) = d.input_hash
    order by i.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select array_agg(s.chunk_no) into v_stored from stored s;
  perform ragdb._derive_embedded_turns(v_space, v_stored);
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
  v_space ragdb.embedding_spaces := ragdb._space_of(space_id);
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

create or replace function ragdb.retry_failed(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only integer;
  v_revived integer;
begin
  if corpus is not null then
    v_only := (ragdb._open_corpus(retry_failed.corpus, 'write')).corpus_id;
  end if;
  update ragdb.embedding_jobs j
    set is_dead = false, failures = 0, attempt = j.attempt + 1, worker = null,
      due_at = clock_timestamp()
    from ragdb.corpora c
    where c.corpus_id = j.corpus_id and j.corpus_id = coalesce(v_only, j.corpus_id)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
      and j.worker is null and j.failures > 0;
  get diagnostics v_revived = row_count;
  perform pg_notify('ragdb_embeddings', '');
  return v_revived;
end $$;
comment on function ragdb.retry_failed(text) is
  'Makes all inputs that failed, dead or backing off, due at once, of one corpus or all that the '
  'caller may write, and returns how many. Raises RG401, RG404.';

-- Everything a claim can miss: rows restored from elsewhere, jobs removed by hand, a space that was
-- retired.
create or replace function ragdb.requeue_embeddings(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only integer;
  v_queued integer;
begin
  if corpus is not null then
    v_only := (ragdb._open_corpus(requeue_embeddings.corpus, 'write')).corpus_id;
  end if;
  update ragdb.embedding_spaces s set queued_to = 0
    from ragdb.corpora c
    where c.corpus_id = s.corpus_id and s.corpus_id = coalesce(v_only, s.corpus_id)
      and s.queued_to > 0
      and s.state <> 'retired' and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2;
  get diagnostics v_queued = row_count;
  return v_queued;
end $$;
comment on function ragdb.requeue_embeddings(text) is
  'Has workers look again at every chunk without an embedding, of one corpus or all that the '
  'caller may write, and returns the number of spaces. Raises RG401, RG404.';

create or replace function ragdb.embedding_status(only_corpus text default null)
returns table (
  corpus text, embedder text, model text, provider text, provider_model text, dims integer,
    metric text,
  state text, chunks integer, embedded bigint, coverage float8, backlog bigint, in_work bigint,
    failing bigint,
  dead bigint, oldest interval, last_error text, is_indexed boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_only integer;
begin
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'read')).corpus_id;
  end if;
  return query
    select c.name, e.name, e.model, e.provider, e.provider_model, e.dims, e.metric, s.state,
      c.chunks, n.embedded,
      case when c.chunks = 0 then 1 else n.embedded::float8 / c.chunks end,
      c.chunks - n.embedded - j.dead, j.in_work, j.failing, j.dead, j.oldest, j.last_error,
        s.is_indexed
    from ragdb.embedding_spaces s
      join ragdb.corpora c on c.corpus_id = s.corpus_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      cross join lateral (select count(*) as embedded from ragdb.chunk_embeddings k
        where k.space_id = s.space_id) n
      cross join lateral (select
          coalesce(sum(cardinality(b.chunk_nos)) filter (where b.is_dead), 0)::bigint as dead,
          count(*) filter (where b.worker is not null and b.due_at > clock_timestamp()) as in_work,
          count(*) filter (where not b.is_dead and b.failures > 0) as failing,
          clock_timestamp() - min(b.created_at) filter (where not b.is_dead) as oldest,
          (array_agg(b.last_error order by b.due_at desc)
            filter (where b.last_error is not null))[1] as last_error
        from ragdb.embedding_jobs b
        where b.corpus_id = s.corpus_id and b.space_id = s.space_id) j
    where s.corpus_id = coalesce(v_only, s.corpus_id)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 1
    order by c.name, s.state = 'current' desc, s.space_id;
end $$;
comment on function ragdb.embedding_status(text) is
  'Lists the spaces of one corpus or all that the caller may read: coverage (0 to 1), chunks that '
  'wait, inputs in work, failing and dead, the age of the oldest job and the last error. Raises '
  'RG401, RG404.';

create or replace view ragdb.embedding_status with (security_invoker = true) as
select * from ragdb.embedding_status();
comment on view ragdb.embedding_status is
  'The spaces of all corpora that the reader may read; see the function of that name.';
comment on column ragdb.embedding_status.corpus is 'Name of the corpus.';
comment on column ragdb.embedding_status.embedder is 'Embedder of the space.';
comment on column ragdb.embedding_status.model is 'Model that the embedder promises.';
comment on column ragdb.embedding_status.provider is
  'Provider that it is bound to; null while it is bound to none.';
comment on column ragdb.embedding_status.provider_model is 'Model as the provider calls it.';
comment on column ragdb.embedding_status.dims is 'Width of a vector.';
comment on column ragdb.embedding_status.metric is 'cosine, ip or l2.';
comment on column ragdb.embedding_status.state is 'building, current or retired.';
comment on column ragdb.embedding_status.chunks is 'Chunks of the corpus.';
comment on column ragdb.embedding_status.embedded is 'Chunks that have a vector.';
comment on column ragdb.embedding_status.coverage is 'Share of the chunks that have one, 0 to 1.';
comment on column ragdb.embedding_status.backlog is 'Chunks that wait for one.';
comment on column ragdb.embedding_status.in_work is 'Inputs that a worker has claimed.';
comment on column ragdb.embedding_status.failing is 'Inputs that failed and will be tried again.';
comment on column ragdb.embedding_status.dead is 'Inputs that are not tried any more.';
comment on column ragdb.embedding_status.oldest is 'How long the oldest input has waited.';
comment on column ragdb.embedding_status.last_error is 'Error of the latest failure.';
comment on column ragdb.embedding_status.is_indexed is 'Whether the space has an HNSW index.';

create or replace function ragdb.list_failed_embeddings(corpus text)
returns table (embedder text, chunk_id text, is_dead boolean, failures integer, last_error text,
  due_at timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.name, c.chunk_id, j.is_dead, j.failures, j.last_error, j.due_at
  from ragdb._open_corpus(list_failed_embeddings.corpus, 'read') o
    join ragdb.embedding_jobs j on j.corpus_id = o.corpus_id
    join ragdb.embedding_spaces s on s.corpus_id = j.corpus_id and s.space_id = j.space_id
    join ragdb.embedders e on e.embedder_id = s.embedder_id
    join ragdb.chunks c on c.corpus_id = j.corpus_id and c.chunk_no = any (j.chunk_nos)
  where j.last_error is not null
  order by e.name, c.chunk_id;
end;
comment on function ragdb.list_failed_embeddings(text) is
  'Lists the chunks of a corpus whose embedding failed, with the error, dead ones and those to be '
  'tried again. Raises RG400, RG401, RG404.';

-- Queries

create or replace function ragdb._keep_query_embedding(corpus_id integer, embedder_id integer,
  embedding real[])
returns bytea
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bytea := ragdb._vector_hash(embedding);
begin
  insert into ragdb.query_embeddings (corpus_id, embedding_hash, embedder_id, embedding, created_at)
    values (_keep_query_embedding.corpus_id, v_hash, _keep_query_embedding.embedder_id,
      ragdb._vector(_keep_query_embedding.embedding), ragdb._now())
    on conflict do nothing;
  return v_hash;
end $$;
comment on function ragdb._keep_query_embedding(integer, integer, real[]) is
  'Keeps an embedding under its own hash, and returns that.';

create or replace function ragdb._query_embedding(corpus_id integer, embedder_id integer,
  query text) returns real[]
language sql stable parallel safe
return (select ragdb._numbers(v.embedding)
  from ragdb.embedded_queries q
    join ragdb.query_embeddings v on v.corpus_id = q.corpus_id and v.embedder_id = q.embedder_id
      and v.embedding_hash = q.embedding_hash
  where q.corpus_id = _query_embedding.corpus_id and q.embedder_id = _query_embedding.embedder_id
    and q.query_hash = pg_catalog.sha256(pg_catalog.convert_to(_query_embedding.query, 'UTF8')));
comment on function ragdb._query_embedding(integer, integer, text) is
  'Returns the embedding kept for a query; null when there is none.';

-- For writers only: what is kept here answers every reader who asks the same
create or replace function ragdb.put_query_embedding(corpus text, query text, embedding float8[])
  returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(put_query_embedding.corpus, 'write');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
  v_numbers constant real[] := ragdb._single(embedding);
  v_embedder ragdb.embedders;
  v_hash bytea;
begin
  if query is null or query = '' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'an embedding is kept under its query',
        hint = 'pass the query as it is asked';
  end if;
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb._check_embeddings(v_numbers, v_embedder.dims, v_embedder.metric,
    array['the query']);
  v_hash := ragdb._keep_query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, v_numbers);
  insert into ragdb.embedded_queries (corpus_id, embedder_id, query_hash, embedding_hash, due_at)
    values (v_corpus.corpus_id, v_embedder.embedder_id, sha256(convert_to(query, 'UTF8')), v_hash,
      ragdb._now())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set embedding_hash = excluded.embedding_hash, query_text = null;
  return encode(v_hash, 'hex');
end $$;
comment on function ragdb.put_query_embedding(text, text, float8[]) is
  'Keeps the embedding of a query for a corpus''s current embedder, so that everyone can search by '
  'it, and returns its hash. Raises RG400, RG401, RG404, RG415, RG418.';

create or replace function ragdb._current_space(corpus ragdb.corpora) returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb._space(corpus.corpus_id, 'current');
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no embeddings', ragdb._quote(corpus.name)
      using errcode = 'RG415', detail = 'it can be searched by words only',
            hint = format('ragdb embed %s makes them; or pass mode => ''lexical''', corpus.name);
  end if;
  return v_space;
end $$;
comment on function ragdb._current_space(ragdb.corpora) is
  'Returns the current space of a corpus. Raises RG415.';

create or replace function ragdb.corpus_embedder(corpus text) returns setof ragdb.embedders
language sql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
begin atomic
  select e.*
  from ragdb._open_corpus(corpus_embedder.corpus, 'read') c
    join ragdb.embedding_spaces s on s.corpus_id = c.corpus_id and s.state = 'current'
    join ragdb.embedders e on e.embedder_id = s.embedder_id;
end;
comment on function ragdb.corpus_embedder(text) is
  'Returns the embedder that a corpus is searched by; no row when it has no embeddings. Raises '
  'RG400, RG404.';

create or replace function ragdb.request_query_embedding(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(request_query_embedding.corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
begin
  if query is null or query !~ '\S' or length(query) > 32768 then
    raise exception 'query is %',
      case when query is null then 'null' when length(query) > 32768 then 'too long'
      else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters',
        hint = 'pass the question as query';
  end if;
  if ragdb._query_embedding(v_corpus.corpus_id, v_space.embedder_id, query) is not null then
    return true;
  end if;
  insert into ragdb.embedded_queries as q (corpus_id, embedder_id, query_hash, query_text, due_at)
    values (v_corpus.corpus_id, v_space.embedder_id, sha256(convert_to(query, 'UTF8')), query,
      clock_timestamp())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set due_at = least(q.due_at, excluded.due_at), last_error = null;
  perform pg_notify('ragdb_embeddings', 'query');
  return false;
end $$;
comment on function ragdb.request_query_embedding(text, text) is
  'Asks the workers for the embedding of a query (1 to 32768 characters) and says whether it is '
  'there already. Raises RG400, RG401, RG404, RG415.';

create or replace function ragdb.query_embedding_state(corpus text, query text)
returns table (is_ready boolean, last_error text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(query_embedding_state.corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
begin
  select q.embedding_hash is not null, q.last_error into is_ready, last_error
    from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_space.embedder_id
      and q.query_hash = sha256(convert_to(query, 'UTF8'));
  is_ready := coalesce(is_ready, false);
  return next;
end $$;
comment on function ragdb.query_embedding_state(text, text) is
  'Says whether a query''s embedding is kept, and why a worker failed to make it. Raises RG400, '
  'RG401, RG404, RG415.';

create or replace function ragdb.claim_queries(
  worker text, count integer default 16, lease interval default '60 seconds',
    only_embedder text default null)
returns table (corpus text, embedder text, query_hash bytea, attempt integer, query text,
  input text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 1000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many queries',
        hint = 'pass count from 1 to 1000';
  end if;
  return query
    with due as materialized (
      select q.corpus_id, q.embedder_id, q.query_hash, c.name as corpus, e.name as embedder,
        e.query_prefix
      from ragdb.embedded_queries q
        join ragdb.corpora c on c.corpus_id = q.corpus_id
        join ragdb.embedders e on e.embedder_id = q.embedder_id
      where q.embedding_hash is null and q.due_at <= clock_timestamp()
        and e.name = coalesce(only_embedder, e.name)
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
      order by q.due_at limit claim_queries.count
      for update of q skip locked
    )
    update ragdb.embedded_queries q
    set attempt = q.attempt + 1, due_at = clock_timestamp() + claim_queries.lease
    from due d
    where q.corpus_id = d.corpus_id and q.embedder_id = d.embedder_id
      and q.query_hash = d.query_hash
    returning d.corpus, d.embedder, q.query_hash, q.attempt, q.query_text,
      d.query_prefix || q.query_text;
end $$;
comment on function ragdb.claim_queries(text, integer, interval, text) is
  'Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the caller '
  'may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query(). Raises RG400.';

create or replace function ragdb.fail_query(corpus text, embedder text, query_hash bytea,
  attempt integer, error text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(fail_query.corpus, 'write');
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
begin
  -- five failures, and nobody waits for it any more
  delete from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null and q.attempt >= 5;
  update ragdb.embedded_queries q
    set last_error = left(coalesce(error, 'unknown'), 500),
        due_at = clock_timestamp() + make_interval(secs => 2 ^ least(q.attempt, 6))
          * (0.5 + random())
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null;
end $$;
comment on function ragdb.fail_query(text, text, bytea, integer, text) is
  'Gives a claimed query back after a failure, to be tried again after a back-off, five times in '
  'all. Raises RG400, RG401, RG404, RG416.';

-- Commits, so that a worker sees the request: no set clause and no definer, everything qualified.
create or replace procedure ragdb.embed_query(query text, corpus text default null,
  timeout_s float8 default 30)
language plpgsql
as $$
declare
  v_corpora text[];
  v_name text;
  v_ready boolean;
  v_error text;
  v_until timestamptz;
  v_commit text;
  v_rollback text;
begin
  -- Outside a block both are refused for the subtransaction, each in its own words; inside one, in
  -- the same words
  begin
    commit;
  exception when invalid_transaction_termination then
    v_commit := sqlerrm;
  end;
  begin
    rollback;
  exception when invalid_transaction_termination then
    v_rollback := sqlerrm;
  end;
  if v_commit operator(pg_catalog.=) v_rollback then
    raise exception 'embed_query was called inside a transaction block'
      using errcode = 'RG419',
        detail = 'it commits, so that a worker sees the request, and waits for the answer',
            hint = 'call it on its own: outside begin … commit in psql, with autocommit in a '
                   'driver';
  end if;
  if timeout_s is null or not (timeout_s between 0 and 3600) then
    raise exception 'timeout_s is %', coalesce(timeout_s::text, 'null')
      using errcode = 'RG400', detail = 'it is the time to wait in seconds',
        hint = 'pass 0 to 3600';
  end if;
  v_until := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => timeout_s);
  v_corpora := case when corpus is not null then array[corpus] else array(
    select distinct s.corpus from ragdb.embedding_status() s
      where s.state operator(pg_catalog.=) 'current') end;
  foreach v_name in array v_corpora loop
    perform ragdb.request_query_embedding(v_name, query);
  end loop;
  commit;
  foreach v_name in array v_corpora loop
    loop
      select s.is_ready, s.last_error into v_ready, v_error
        from ragdb.query_embedding_state(v_name, query) s;
      exit when v_ready;
      if pg_catalog.clock_timestamp() > v_until then
        raise exception 'no worker embedded the query in % s', timeout_s
          using errcode = 'RG420',
            detail = coalesce('the last attempt failed: ' || v_error, 'none has claimed it'),
                hint = 'start one with `ragdb worker`; the request stays, so a later call may find '
                       'the answer';
      end if;
      perform pg_catalog.pg_sleep(0.02);
      commit;
    end loop;
  end loop;
end $$;
comment on procedure ragdb.embed_query(text, text, float8) is
  'Has a running worker embed a query for one corpus or all readable ones that have embeddings, '
  'and waits up to timeout_s (0 to 3600); from then on everyone can search by its meaning. Call it '
  'outside a transaction block. Raises RG400, RG401, RG404, RG415, RG419, RG420.';
