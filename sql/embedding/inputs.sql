-- How chunks come into the queue: when they are new, and when what is embedded of them has changed.

-- Writes jobs for the inputs, by their hashes, of some chunks, one for equal inputs. Apart from
-- queue_chunks, whose plans are made anew: so would be that of the foreign key, for each job.
create or replace function ragdb_internal.insert_jobs(
  space ragdb.embedding_spaces, hashes bytea[], chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
begin
  insert into ragdb.embedding_jobs as j (
      corpus_id, space_id, input_hash, chunk_nos, due_at, created_at)
    select space.corpus_id, space.space_id, i.hash, array_agg(i.chunk_no order by i.chunk_no),
      clock_timestamp(), clock_timestamp()
    from unnest(hashes, insert_jobs.chunk_nos) i (hash, chunk_no)
    group by i.hash order by i.hash
    on conflict on constraint embedding_jobs_input_is_unique_per_space do update
      set chunk_nos = array(select distinct n from unnest(j.chunk_nos || excluded.chunk_nos) n
        order by n);
end $$;

-- Gives chunks an embedding where a static embedder makes it or an equal input of their space has
-- it, or a job. Copies the embedding of an equal input where there is one and queues the rest; the
-- caller holds the corpus lock.
create or replace function ragdb_internal.queue_chunks(
  space ragdb.embedding_spaces, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_copied integer[];
  v_hashes bytea[];
  v_waiting integer[];
begin
  if ragdb_internal.is_static(space.embedder_id) then
    perform ragdb_internal.embed_chunks(space, queue_chunks.chunk_nos);
    perform ragdb_internal.derive_embedded_turns(space, queue_chunks.chunk_nos);
    return;
  end if;
  with inputs as materialized (
    select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
    from ragdb.embedders e
      cross join lateral ragdb_internal.embedding_inputs(
        space.corpus_id, queue_chunks.chunk_nos, e.passage_prefix) i
    where e.embedder_id = space.embedder_id
  ), copied as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select space.space_id, space.corpus_id, i.chunk_no, i.hash, k.embedding
    from inputs i cross join lateral (
      select c.embedding from ragdb.chunk_embeddings c
      where c.space_id = space.space_id and c.input_hash = i.hash limit 1) k
    on conflict do nothing
    returning chunk_no
  )
  select (select array_agg(c.chunk_no) from copied c), array_agg(i.hash), array_agg(i.chunk_no)
    into v_copied, v_hashes, v_waiting
    from inputs i where i.chunk_no not in (select c.chunk_no from copied c);
  perform ragdb_internal.insert_jobs(space, v_hashes, v_waiting),
    ragdb_internal.drop_dead_jobs(space.corpus_id, space.space_id, v_copied),
    ragdb_internal.derive_embedded_turns(space, v_copied);
end $$;

-- Queues the next chunks of a space that were never queued and have no embedding, and returns their
-- number; it locks their corpus where there may be some, or queues none where it may not have the
-- lock. Chunk numbers only rise and commit in order (writers of a corpus queue up), so those above
-- queued_to are new.
create or replace function ragdb_internal.queue_new_chunks(
  corpus_id integer, space_id integer, count integer, may_wait boolean)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
  v_chunks integer[];
begin
  if not ragdb_internal.has_unqueued(queue_new_chunks.space_id) then
    return 0;
  end if;
  v_corpus := ragdb_internal.lock_for_claim(queue_new_chunks.corpus_id, may_wait);
  if v_corpus.corpus_id is null then return 0; end if;
  select s.* into v_space from ragdb.embedding_spaces s
    where s.space_id = queue_new_chunks.space_id;
  v_chunks := array(
    select n.chunk_no from (
      select c.chunk_no, exists (
        select from ragdb.chunk_embeddings e
        where e.space_id = v_space.space_id and e.corpus_id = c.corpus_id
          and e.chunk_no = c.chunk_no) as is_embedded
      from ragdb.chunks c
      where c.corpus_id = v_space.corpus_id and c.chunk_no > v_space.queued_to
      order by c.chunk_no offset 0) n
    where not n.is_embedded limit count);
  perform ragdb_internal.queue_chunks(v_space, v_chunks);
  update ragdb.embedding_spaces s
    set queued_to = coalesce(v_chunks[count], v_corpus.next_chunk_no - 1)
    where s.space_id = v_space.space_id;
  perform ragdb_internal.note_filled(v_space.space_id);
  return cardinality(v_chunks);
end $$;

-- Drops the embeddings of chunks whose input has changed, in every space of the corpus, and queues
-- them; the caller holds the corpus lock. A chunk may keep its number and get another heading, text
-- or document: what counts is whether its input changed.
create or replace function ragdb_internal.refresh_embeddings(
  corpus_id integer, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
  v_changed integer[];
  v_chunk_nos integer[];
  v_hashes bytea[];
begin
  for v_space in
    select s.* from ragdb.embedding_spaces s where s.corpus_id = refresh_embeddings.corpus_id
      order by s.space_id
  loop
    with inputs as materialized (
      select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
      from ragdb.embedders e
        cross join lateral ragdb_internal.embedding_inputs(
          v_space.corpus_id, chunk_nos, e.passage_prefix) i
      where e.embedder_id = v_space.embedder_id
    ), gone as (
      delete from ragdb.chunk_embeddings e using inputs i
      where e.space_id = v_space.space_id and e.corpus_id = v_space.corpus_id
        and e.chunk_no = i.chunk_no and e.input_hash <> i.hash
      returning e.chunk_no
    )
    -- what still waits has a job under its old input; under a static embedder nothing waits
    select array_agg(i.chunk_no) filter (
          where (i.chunk_no <= v_space.queued_to
              or (select ragdb_internal.is_static(v_space.embedder_id)))
            and (e.chunk_no is null or i.chunk_no in (select g.chunk_no from gone g))),
        array_agg(i.chunk_no), array_agg(i.hash) into v_changed, v_chunk_nos, v_hashes
      from inputs i
        left join lateral (
          select h.chunk_no from ragdb.chunk_embeddings h
          where h.space_id = v_space.space_id and h.corpus_id = v_space.corpus_id
            and h.chunk_no = i.chunk_no offset 0) e on true;
    perform ragdb_internal.drop_dead_jobs(
      v_space.corpus_id, v_space.space_id, v_chunk_nos, v_hashes);
    if v_changed is not null and v_space.state <> 'retired' then
      perform ragdb_internal.queue_chunks(v_space, v_changed);
    end if;
  end loop;
end $$;

-- Trigger of ragdb.chunks: keeps embeddings true to the chunks that an update changed.
create or replace function ragdb_internal.refresh_changed_chunks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.refresh_embeddings(c.corpus_id, array_agg(c.chunk_no)) from changed c
    group by c.corpus_id;
  return null;
end $$;

-- Trigger of ragdb.documents: keeps embeddings true to a changed title.
create or replace function ragdb_internal.refresh_retitled_documents() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.refresh_embeddings(c.corpus_id, array_agg(c.chunk_no))
    from (
        -- not a join: planned once for any number of rows, it may be a loop over all pairs
        select n.corpus_id, n.doc_no, n.title from changed n
        except
        select o.corpus_id, o.doc_no, o.title from before o) d
      join ragdb.chunks c on c.corpus_id = d.corpus_id and c.doc_no = d.doc_no
    group by c.corpus_id;
  return null;
end $$;

-- updates only: a trigger on insert would run at restore
create or replace trigger embeddings_follow_chunks after update on ragdb.chunks
  referencing new table as changed
  for each statement execute function ragdb_internal.refresh_changed_chunks();

create or replace trigger embeddings_follow_titles after update on ragdb.documents
  referencing old table as before new table as changed
  for each statement execute function ragdb_internal.refresh_retitled_documents();

-- Makes the inputs of a space due that were queued or claimed while the clock was ahead.
create or replace function ragdb_internal.recall_jobs(corpus_id integer, space_id integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  with late as materialized (
    select j.ctid as place from ragdb.embedding_jobs j
    where j.corpus_id = recall_jobs.corpus_id and j.space_id = recall_jobs.space_id
      and not j.is_dead and j.due_at > ragdb_internal.latest_due()
    for update skip locked
  )
  update ragdb.embedding_jobs j set due_at = clock_timestamp() from late l where j.ctid = l.place;
end $$;
