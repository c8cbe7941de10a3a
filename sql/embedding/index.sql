-- The HNSW index of a space.

-- Waits until a statement has locked what it locks, and gives it back: whoever needs more than one
-- lock holds none while it waits. Returns too where what it locks is gone.
create or replace function ragdb_internal.wait_for(lock text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute lock;
  raise exception 'it is free';
exception when raise_exception or undefined_table then
  null;
end $$;

-- Holds a space and its table against all who write to them until the transaction ends, and returns
-- it; null for one that is gone or has its index. Some who write to a space come to its row first,
-- others to its table first. So this waits for one of both only while it holds none: what it cannot
-- have at once it gives back, and waits for the table by itself.
create or replace function ragdb_internal.hold_unindexed(space_id integer)
returns ragdb.embedding_spaces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lock constant text := 'lock table ragdb.'
    || quote_ident(ragdb_internal.space_table(hold_unindexed.space_id)) || ' in share mode';
  v_space ragdb.embedding_spaces;
  v_has_row boolean;
begin
  loop
    begin
      v_has_row := false;
      select s.* into v_space from ragdb.embedding_spaces s
        where s.space_id = hold_unindexed.space_id and not s.is_indexed for update;
      v_has_row := true;
      if v_space.space_id is not null then
        execute v_lock || ' nowait';
      end if;
      return v_space;
    exception when lock_not_available then
      if not v_has_row then
        raise;
      end if;
    end;
    perform ragdb_internal.wait_for(v_lock);
  end loop;
end $$;

-- Sets, to the end of the transaction, what the build of an index of so many vectors needs. The
-- graph is built in memory when it fits: up to 4 GB, or what the server says that its caches have,
-- so that a small machine does not run out of memory; more where the server allows more.
create or replace function ragdb_internal.set_for_build(chunks integer, dims integer, m integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('maintenance_work_mem', greatest(
      pg_size_bytes(current_setting('maintenance_work_mem')) / 1024,
      least(4194304, pg_size_bytes(current_setting('effective_cache_size')) / 1024,
        65536 + chunks * (dims * 2 + m * 40 + 200)::bigint / 1024))
    || 'kB', true);
  if not ragdb_internal.may_build_in_parallel(ragdb_internal.pgvector_version()) then
    perform set_config('max_parallel_maintenance_workers', '0', true);
  end if;
end $$;

-- Builds an index by a statement, by one process where several would share more memory than there
-- is, as in a container, which has 64 MB for it unless more is given. What is shared is named alike
-- in every language.
create or replace function ragdb_internal.build_by(statement text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute statement;
exception when insufficient_resources then
  if sqlerrm !~ '/PostgreSQL[.][0-9]' then
    raise;
  end if;
  raise notice 'one process builds the index, which takes longer: %', sqlerrm
    using hint = format('several share %s of memory, for which /dev/shm has to be larger: docker '
      'run --shm-size', current_setting('maintenance_work_mem'));
  perform set_config('max_parallel_maintenance_workers', '0', true);
  execute statement;
end $$;

-- Builds the HNSW index of a space of a corpus when it has 10,000 chunks and none yet, and says
-- whether it did; warns where there is no room for it. The index is built when the bulk is in: that
-- is several times faster than to grow it row by row. Who finds another at it waits, and finds it
-- built. Where there is no room for it, a search compares every vector: that is no reason to fail
-- what comes with the index.
create or replace function ragdb_internal.build_index(corpus ragdb.corpora, space_id integer)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_table constant text := ragdb_internal.space_table(build_index.space_id);
  v_schema constant text := ragdb_internal.vector_schema();
begin
  if corpus.chunks < ragdb_internal.indexed_chunks() then
    return false;
  end if;
  v_space := ragdb_internal.hold_unindexed(build_index.space_id);
  if v_space.space_id is null then
    return false;
  end if;
  perform ragdb_internal.warn_of_pgvector();
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb_internal.set_for_build(corpus.chunks, v_embedder.dims, v_space.m);
  perform ragdb_internal.build_by(format(
    'create index %I on ragdb.%I using hnsw ((%s) %I.halfvec_cosine_ops)'
    ' with (m = %s, ef_construction = %s)',
    v_table || '_by_nearness', v_table,
    ragdb_internal.indexed_expression(v_space, v_schema, ragdb_internal.stored_column(v_space),
      v_embedder.dims), v_schema,
    v_space.m, v_space.ef_construction));
  execute format('analyze ragdb.%I', v_table);
  update ragdb.embedding_spaces s
    set is_indexed = true, ef_search = ragdb_internal.measure_ef_search(v_space, v_embedder)
    where s.space_id = v_space.space_id;
  return true;
exception when insufficient_resources then
  raise warning 'the vectors of corpus % have no index: %',
      ragdb_internal.quote(corpus.name), sqlerrm
    using hint = format('when there is room: select ragdb.index_space(%L)', corpus.name);
  return false;
end $$;

create or replace function ragdb.index_space(corpus text, embedder text default null)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(index_space.corpus, 'write');
begin
  return ragdb_internal.build_index(v_corpus, (
    select s.space_id from ragdb.embedding_spaces s
      join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.corpus_id = v_corpus.corpus_id
      and case when embedder is null then s.state = 'current' else e.name = embedder end));
end $$;
comment on function ragdb.index_space is
  'Builds the HNSW index of a space of a corpus (the current one unless an embedder is named) when '
  'it has 10,000 chunks and none yet, and says whether it did; warns where there is no room for '
  'it. Raises RG400, RG401, RG404.';
