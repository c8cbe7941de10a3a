-- What a space has of some chunks.
--
-- A database may have a space for each of thousands of corpora. What reads one is planned each time
-- and by its number: only then is no partition but its own opened and locked.

-- Returns the stored embeddings of those of some chunks that have one in a space.
create or replace function ragdb_internal.stored_of(
  space_id integer, corpus_id integer, chunk_nos integer[])
returns setof ragdb.chunk_embeddings
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  if cardinality(chunk_nos) > 0 then
    return query select e.* from ragdb.chunk_embeddings e
      where e.space_id = stored_of.space_id and e.corpus_id = stored_of.corpus_id
        and e.chunk_no = any (stored_of.chunk_nos);
  end if;
end $$;

-- Returns the vectors of those of some chunks that have one in a space.
create or replace function ragdb_internal.vectors_of(
  space_id integer, corpus_id integer, chunk_nos integer[])
returns table (chunk_no integer, embedding vector)
language sql stable parallel safe
begin atomic
  select e.chunk_no, ragdb_internal.full_vector(e)
  from ragdb_internal.stored_of(vectors_of.space_id, vectors_of.corpus_id, vectors_of.chunk_nos) e;
end;

-- Returns how many embeddings a space has.
create or replace function ragdb_internal.stored_embeddings(space_id integer) returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  return (select count(*) from ragdb.chunk_embeddings e
    where e.space_id = stored_embeddings.space_id);
end $$;
