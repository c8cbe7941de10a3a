-- Whether a space has the embedding of every chunk.

-- Returns the number of chunks of the corpus without an embedding in a space.
create or replace function ragdb_internal.missing_embeddings(space ragdb.embedding_spaces)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  return (
    select count(*) from ragdb.chunks c
    where c.corpus_id = space.corpus_id and not exists (
      select from ragdb.chunk_embeddings e
      where e.space_id = space.space_id and e.corpus_id = space.corpus_id
        and e.chunk_no = c.chunk_no));
end $$;

-- Tells whether more chunks of the corpus than some are without an embedding in a space. It looks
-- at the newest first, which a client embeds last too, and ends as soon as it knows.
create or replace function ragdb_internal.lacks_more_than(
  space ragdb.embedding_spaces, given_up bigint)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return exists (
    select from ragdb.chunks c
      left join lateral (
        select v.chunk_no from ragdb.chunk_embeddings v
        where v.space_id = space.space_id and v.corpus_id = space.corpus_id
          and v.chunk_no = c.chunk_no offset 0) e on true
    where c.corpus_id = space.corpus_id and e.chunk_no is null
    order by c.chunk_no desc offset given_up limit 1);
end $$;

-- Notes that a space has an embedding of every chunk, but for those that were given up; searches
-- compare embeddings from then on. The caller holds the corpus lock. Chunks are looked at only
-- where nothing waits: once for each time that the queue has run empty.
create or replace function ragdb_internal.note_filled(space_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s where s.space_id = note_filled.space_id;
  if v_space.is_filled or exists (select from ragdb.embedding_jobs j
      where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id and not j.is_dead)
  then
    return;
  end if;
  if exists (select from ragdb.chunk_embeddings e where e.space_id = v_space.space_id)
    and not ragdb_internal.lacks_more_than(v_space, (
      select coalesce(sum(cardinality(j.chunk_nos)), 0) from ragdb.embedding_jobs j
      where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id))
  then
    update ragdb.embedding_spaces s set is_filled = true where s.space_id = v_space.space_id;
  end if;
end $$;
