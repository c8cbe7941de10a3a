-- Spaces: a corpus under an embedder.
--
-- A space is a partition of ragdb.chunk_embeddings. It has an HNSW index of its own over halfvec,
-- which finds candidates; the score that counts is computed from the vectors as they are stored: in
-- full precision, or those of a static embedder, whose definition ends with it, in half.

-- Returns the name of the partition of a space.
create or replace function ragdb_internal.space_table(space_id integer) returns text
language sql stable parallel safe
return 'chunk_embeddings_' || space_table.space_id;

-- Returns how many chunks a corpus has from which on an index of its vectors is built and used. Of
-- fewer the vectors are compared one by one.
create or replace function ragdb_internal.indexed_chunks() returns integer
language sql immutable parallel safe
return 10000;

-- Returns the embedding of a chunk, in whatever precision it is stored.
create or replace function ragdb_internal.full_vector(stored ragdb.chunk_embeddings) returns vector
language sql immutable parallel safe
return coalesce((full_vector.stored).half::vector, (full_vector.stored).embedding);

-- Returns the similarity of the embedding of a chunk and a vector in [0, 1], as a search scores it.
-- One way for each space: the last digit of a score rests on it.
create or replace function ragdb_internal.stored_similarity(
  stored ragdb.chunk_embeddings, query vector, metric text)
returns float8
language sql immutable parallel safe
return case when (stored_similarity.stored).half is null
  then ragdb_internal.similarity((stored_similarity.stored).embedding, query, metric)
  else ragdb_internal.similarity((stored_similarity.stored).half,
    ragdb_internal.unit_length(stored_similarity.query)::halfvec, metric) end;

-- Returns the name of the column that has the vectors of a space.
create or replace function ragdb_internal.stored_column(space ragdb.embedding_spaces) returns text
language sql immutable parallel safe
return case when (stored_column.space).is_half then 'half' else 'embedding' end;

-- Returns the type, with its schema, in which a query is compared with the vectors of a space.
create or replace function ragdb_internal.query_type(space ragdb.embedding_spaces) returns text
language sql stable parallel safe
return pg_catalog.format('%I.%s', ragdb_internal.vector_schema(),
  case when (query_type.space).is_half then 'halfvec' else 'vector' end);

-- Returns the text of what the HNSW index of a space is over, for a value; schema is pgvector's. By
-- cosine, because every metric has the same order of unit vectors, and these fit a half whatever
-- the model's scale. Halves are indexed as they are: a walk makes anew what the index is over.
create or replace function ragdb_internal.indexed_expression(
  space ragdb.embedding_spaces, schema text, value text, dims integer)
returns text
language sql stable parallel safe
return pg_catalog.format(case when (space).is_half then '%2$s'
  else '%1$I.l2_normalize(%2$s)' end || '::%1$I.halfvec(%3$s)', schema, value, dims);

-- Puts the trigger on the table of a space by which its past is kept as that of other tables is. On
-- the partition, as the triggers of traces are: a partitioned parent carries none.
create or replace function ragdb_internal.keep_past_of_space(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace trigger past_is_kept after insert or update or delete'
    ' on ragdb.%I for each row when (current_setting(''ragdb.history'', true) = ''on'')'
    ' execute function ragdb_internal.keep_past_row(''embedding'')', partition);
end $$;

-- An upgrade drops every function, and with keep_past_row these triggers.
do $$ begin
  perform ragdb_internal.keep_past_of_space(c.relname)
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'ragdb.chunk_embeddings'::regclass;
end $$;

-- Takes chunks out of the inputs of a space that were given up, but out of those that they still
-- have by their hashes (null: they have none). A claim drops the inputs that no chunk has any more.
-- Those that were given up nobody claims.
create or replace function ragdb_internal.drop_dead_jobs(
  corpus_id integer, space_id integer, chunk_nos integer[], hashes bytea[] default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  update ragdb.embedding_jobs j set chunk_nos = array(
      select unnest(j.chunk_nos)
      except
      select g.chunk_no from unnest(drop_dead_jobs.chunk_nos, hashes) g (chunk_no, hash)
      where g.hash is distinct from j.input_hash
      order by 1)
    where j.corpus_id = drop_dead_jobs.corpus_id and j.space_id = drop_dead_jobs.space_id
      and j.is_dead and j.chunk_nos && drop_dead_jobs.chunk_nos;
  delete from ragdb.embedding_jobs j
    where j.corpus_id = drop_dead_jobs.corpus_id and j.space_id = drop_dead_jobs.space_id
      and j.is_dead and j.chunk_nos = '{}';
end $$;

-- Trigger of ragdb.chunks: removes the embeddings of the chunks that went, and what was given up of
-- them, in all spaces of their corpora. Not a foreign key: who makes one locks all chunks against
-- all writers, and each deleted chunk of any corpus would be looked for in the spaces of all. Who
-- writes embeddings holds the lock of the corpus, so none comes for a chunk that goes.
create or replace function ragdb_internal.drop_embeddings() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_space integer;
begin
  for v_space in
    select s.space_id from ragdb.embedding_spaces s
    where s.corpus_id in (select distinct g.corpus_id from gone g)
  loop
    execute format('delete from ragdb.%1$I e where e.ctid = any (array('
      'select o.ctid from gone g cross join lateral (select h.ctid from ragdb.%1$I h'
      ' where h.corpus_id = g.corpus_id and h.chunk_no = g.chunk_no offset 0) o))',
      ragdb_internal.space_table(v_space));
    perform ragdb_internal.drop_dead_jobs(g.corpus_id, v_space, array_agg(g.chunk_no))
      from gone g group by g.corpus_id;
  end loop;
  return null;
end $$;
create or replace trigger embeddings_go_with_chunks after delete on ragdb.chunks
  referencing old table as gone for each statement
  execute function ragdb_internal.drop_embeddings();

-- Makes the partition of a space.
create or replace function ragdb_internal.make_space_table(
  space ragdb.embedding_spaces, embedder ragdb.embedders)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := ragdb_internal.space_table(space.space_id);
begin
  execute format(
    'create table ragdb.%1$I (like ragdb.chunk_embeddings including all,'
    ' constraint %2$I primary key (corpus_id, chunk_no))', v_table, v_table || '_chunk_is_unique');
  -- a text that is queued may have its embedding already; a static embedder queues none
  if embedder.provider is distinct from 'static' then
    execute format('create index %2$I on ragdb.%1$I (input_hash)', v_table, v_table || '_by_input');
  end if;
  -- inline while it fits a page: a scan reads every vector
  execute format('alter table ragdb.%I alter %I set storage %s', v_table,
    ragdb_internal.stored_column(space),
    case when embedder.dims <= 1900 then 'main' else 'external' end);
  execute format('comment on table ragdb.%I is %L', v_table,
    format('Embeddings of space %s: corpus %s under embedder %s.',
      space.space_id, space.corpus_id, embedder.embedder_id));
  execute format('alter table ragdb.chunk_embeddings attach partition ragdb.%I for values in (%s)',
    v_table, space.space_id);
  perform ragdb_internal.keep_past_of_space(v_table);
end $$;

-- Makes a space with its partition; the caller holds the corpus lock. Raises RG400.
create or replace function ragdb_internal.make_space(
  corpus_id integer, embedder ragdb.embedders, state text, m integer, ef_construction integer)
returns ragdb.embedding_spaces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_static constant boolean := coalesce(embedder.provider = 'static', false);
  v_id integer;
  v_space ragdb.embedding_spaces;
begin
  if m is null or m not between 2 and 100
    or ef_construction is null or ef_construction not between 4 and 1000 or ef_construction < 2 * m
  then
    raise exception 'm is % and ef_construction is %',
        coalesce(m::text, 'null'), coalesce(ef_construction::text, 'null')
      using errcode = 'RG400', detail = 'they shape the HNSW index of the space',
            hint = 'give m from 2 to 100 and ef_construction from 2 m to 1000';
  end if;
  -- no number comes back: workers hold claims of spaces that were dropped, and history names them
  insert into ragdb.settings as s (key, value) values ('spaces_created', '1')
    on conflict on constraint settings_key_is_unique do update
      set value = to_jsonb(s.value::integer + 1)
    returning s.value::integer into v_id;
  insert into ragdb.embedding_spaces (corpus_id, space_id, embedder_id, state, m, ef_construction,
    is_filled, is_half, created_at, current_since)
  values (corpus_id, v_id, embedder.embedder_id, state, m, ef_construction, v_is_static,
    v_is_static, ragdb_internal.now(), case when state = 'current' then ragdb_internal.now() end)
  returning * into v_space;
  perform ragdb_internal.make_space_table(v_space, embedder);
  return v_space;
end $$;

-- Returns the space of a corpus in a state, the last one where there are several; null without one.
create or replace function ragdb_internal.space(corpus_id integer, state text)
returns ragdb.embedding_spaces
language sql stable parallel safe
return (
  select s from ragdb.embedding_spaces s
  where s.corpus_id = space.corpus_id and s.state = space.state
  order by s.current_since desc nulls last, s.space_id desc limit 1);
