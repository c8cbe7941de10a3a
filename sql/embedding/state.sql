-- The state of the embedding queue: what waits, what failed, and how to try it again.

-- Claims are counted anew, or what was claimed twenty times would be given up again at once.
create or replace function ragdb.retry_failed(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only constant integer[] := ragdb_internal.only_corpora(corpus, 'write');
  v_revived integer;
begin
  update ragdb.embedding_jobs j
    set is_dead = false, failures = 0, attempt = 0, due_at = clock_timestamp()
    from (
      -- in one order, or of two at once each holds what the other waits for
      select h.corpus_id, h.space_id, h.input_hash from ragdb.embedding_jobs h
        join ragdb.corpora c on c.corpus_id = h.corpus_id
      where (v_only is null or h.corpus_id = any (v_only))
        and ragdb_internal.privilege(c) >= 2
        and h.worker is null
        and (h.failures > 0 or h.is_dead or h.due_at > clock_timestamp())
      order by h.corpus_id, h.space_id, h.input_hash for update of h) w
    where (j.corpus_id, j.space_id, j.input_hash) = (w.corpus_id, w.space_id, w.input_hash);
  get diagnostics v_revived = row_count;
  perform ragdb_internal.notify('ragdb_embeddings');
  return v_revived;
end $$;
comment on function ragdb.retry_failed is
  'Makes all inputs that failed, dead or backing off, due at once, of one corpus or all that the '
  'caller may write, and returns how many. Raises RG401, RG404.';

-- For what a claim can miss: rows that were restored from elsewhere, jobs that were removed by
-- hand, a space that was retired.
create or replace function ragdb.requeue_embeddings(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only constant integer[] := ragdb_internal.only_corpora(corpus, 'write');
  v_queued integer;
begin
  update ragdb.embedding_spaces s set queued_to = 0
    from (
      -- in the order of a claim, which holds one and may wait for the next
      select h.space_id from ragdb.embedding_spaces h
        join ragdb.corpora c on c.corpus_id = h.corpus_id
      where (v_only is null or h.corpus_id = any (v_only))
        and h.queued_to > 0 and h.state <> 'retired'
        and ragdb_internal.privilege(c) >= 2
      order by h.state desc, h.space_id for no key update of h) w
    where s.space_id = w.space_id;
  get diagnostics v_queued = row_count;
  return v_queued;
end $$;
comment on function ragdb.requeue_embeddings is
  'Has workers look again at every chunk without an embedding, of one corpus or all that the '
  'caller may write, and returns the number of spaces. Raises RG401, RG404.';

-- Returns how many of the newest chunks (at most so many; null: of all) wait without a job, which a
-- claim makes. They wait for nothing where the client gave their embedding. Vectors are not read,
-- only looked for.
create or replace function ragdb_internal.unqueued(space ragdb.embedding_spaces, most integer)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_chunk_nos constant integer[] := array(
    select k.chunk_no from ragdb.chunks k
    where k.corpus_id = space.corpus_id and k.chunk_no > space.queued_to
    order by k.chunk_no desc limit most);
begin
  if cardinality(v_chunk_nos) = 0 then
    return 0;
  end if;
  return (select count(*) from unnest(v_chunk_nos) n (chunk_no) where not exists (
    select from ragdb.chunk_embeddings e
    where e.space_id = space.space_id and e.corpus_id = space.corpus_id
      and e.chunk_no = n.chunk_no));
end $$;

-- Returns what is told of the queue of a space: chunks given up, inputs in work and failing, since
-- when the oldest input waits, and the error of the latest failure. Each is read by its index,
-- whatever is known of a queue that was just filled. What was neither claimed nor failed is due
-- since it was queued.
create or replace function ragdb_internal.queue_state(corpus_id integer, space_id integer)
returns table (
  dead bigint, in_work bigint, failing bigint, oldest_at timestamptz, last_error text)
language sql stable parallel safe rows 1
set enable_seqscan = off
set enable_sort = off
begin atomic
  with job as not materialized (
    select * from ragdb.embedding_jobs j
    where j.corpus_id = queue_state.corpus_id and j.space_id = queue_state.space_id)
  select
    (select coalesce(sum(pg_catalog.cardinality(j.chunk_nos)), 0)::bigint from job j
      where j.is_dead),
    (select count(*) from job j
      where j.worker is not null and j.due_at > pg_catalog.clock_timestamp()),
    (select count(*) from job j
      where j.last_error is not null and not j.is_dead and j.failures > 0),
    (select min(o.created_at) from (
      (select j.created_at from job j
        where not j.is_dead and j.worker is null and j.last_error is null
        order by j.due_at limit 1)
      union all
      select j.created_at from job j where not j.is_dead and j.worker is not null
      union all
      select j.created_at from job j where not j.is_dead and j.last_error is not null) o),
    (select j.last_error from job j
      where j.last_error is not null order by j.due_at desc limit 1);
end;

-- Returns what ragdb.embedding_status says of a space of a corpus.
create or replace function ragdb_internal.space_status(
  space ragdb.embedding_spaces, corpus ragdb.corpora)
returns table (
  corpus_name text, embedder text, model text, provider text, provider_model text, dims integer,
  metric text, state text, chunks integer, embedded bigint, coverage float8, backlog bigint,
  in_work bigint, failing bigint, dead bigint, oldest interval, last_error text,
  is_indexed boolean, lacks_index boolean)
language sql stable parallel safe rows 1
begin atomic
  select (corpus).name, e.name, e.model, e.provider, e.provider_model, e.dims, e.metric,
    (space).state, (corpus).chunks, n.embedded,
    case when (corpus).chunks = 0 then 1 else n.embedded::float8 / (corpus).chunks end,
    (corpus).chunks - n.embedded - j.dead, j.in_work, j.failing, j.dead,
    pg_catalog.clock_timestamp() - j.oldest_at, j.last_error,
    (space).is_indexed,
    not (space).is_indexed and (corpus).chunks >= ragdb_internal.indexed_chunks()
      and (corpus).chunks - n.embedded - j.dead = 0
  from ragdb.embedders e
    cross join lateral (
      select ragdb_internal.stored_embeddings((space).space_id) as embedded offset 0) n
    cross join lateral ragdb_internal.queue_state((space).corpus_id, (space).space_id) j
  where e.embedder_id = (space).embedder_id;
end;

-- Vectors are counted only of the spaces that are asked for: a worker asks again and again.
create or replace function ragdb.embedding_status(
  only_corpus text default null, only_lacking_index boolean default false,
  prefix text default '', after text default '', count integer default null)
returns table (
  corpus text, embedder text, model text, provider text, provider_model text, dims integer,
  metric text, state text, chunks integer, embedded bigint, coverage float8, backlog bigint,
  in_work bigint, failing bigint, dead bigint, oldest interval, last_error text,
  is_indexed boolean, lacks_index boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_only constant integer[] := coalesce(ragdb_internal.only_corpora(only_corpus, 'read'),
    array(select c.corpus_id from ragdb_internal.corpora_to_read() c));
begin
  perform ragdb_internal.check_paged(prefix, after, 'corpus'),
    ragdb_internal.check_listed(coalesce(count, 1), 'spaces');
  return query
    select (x.told).* from (
      select l as told, (p.space).space_id
      from (
        select s as space, c as corpus, c.name
        from ragdb.embedding_spaces s join ragdb.corpora c on c.corpus_id = s.corpus_id
        where s.corpus_id = any (v_only) and c.parts = 0
          -- a part of what is named may be closed
          and (only_corpus is null or ragdb_internal.privilege(c) >= 1)
          and (not only_lacking_index
            or not s.is_indexed and c.chunks >= ragdb_internal.indexed_chunks())
          and starts_with(c.name, prefix) and c.name > after collate "C"
        -- offset 0: the vectors of those of the page alone are counted
        order by c.name offset 0) p
        cross join lateral ragdb_internal.space_status(p.space, p.corpus) l
      where not only_lacking_index or l.lacks_index
      order by p.name fetch first (coalesce(count, 2147483647)) rows with ties) x
    order by (x.told).corpus_name collate "C", (x.told).state = 'current' desc, x.space_id;
end $$;
comment on function ragdb.embedding_status is
  'Lists the spaces of one corpus, those of its parts where it has any, or of all that the caller '
  'may read, or those of them that lack an index: coverage (0 to 1), chunks that wait, inputs in '
  'work, failing and dead, the age of the oldest job and the last error. They come by the names of '
  'their corpora: those that begin with a prefix and come after a given one, at most count (1 to '
  '10000; null: all) and what else the last corpus has. Raises RG400, RG401, RG404.';

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
comment on column ragdb.embedding_status.lacks_index is
  'Whether it has none, the corpus has chunks enough for one, and none waits for a vector.';

create or replace function ragdb.list_failed_embeddings(
  corpus text, after text default '', count integer default 100)
returns table (embedder text, chunk_id text, is_dead boolean, failures integer, last_error text,
  due_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(list_failed_embeddings.corpus, 'read', true);
begin
  perform ragdb_internal.check_paged('', after, 'chunk_id'),
    ragdb_internal.check_listed(count, 'chunks');
  return query
    select e.name, f.chunk_id, f.is_dead, f.failures, f.last_error, f.due_at
    from (
        select c.chunk_id, j.* from unnest(ragdb_internal.readable_ids(v_corpus)) r (corpus_id)
          cross join lateral (
            select h.* from ragdb.embedding_jobs h
            where h.corpus_id = r.corpus_id and h.last_error is not null offset 0) j
          cross join lateral unnest(j.chunk_nos) n (chunk_no)
          cross join lateral (
            select h.chunk_id from ragdb.chunks h
            where h.corpus_id = r.corpus_id and h.chunk_no = n.chunk_no offset 0) c
        where c.chunk_id > after collate "C"
        order by c.chunk_id collate "C"
        fetch first (list_failed_embeddings.count) rows with ties) f
      join ragdb.embedding_spaces s on s.corpus_id = f.corpus_id and s.space_id = f.space_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
    order by f.chunk_id collate "C", e.name;
end $$;
comment on function ragdb.list_failed_embeddings is
  'Lists chunks of a corpus whose embedding failed, with the error, dead ones and those to be '
  'tried again: those whose id is greater than after, in its order, count (1 to 10000) of them and '
  'the others of the last chunk. Raises RG400, RG401, RG404.';
