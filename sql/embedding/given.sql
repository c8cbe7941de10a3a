-- Embeddings that a client made with a model of its own, stored for the chunks that it names.
--
-- No worker sees these chunks: their embeddings are there before anybody looks for chunks without.

-- Takes chunks that have their embedding out of the queue of a space.
create or replace function ragdb_internal.drop_jobs(
  space ragdb.embedding_spaces, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  delete from ragdb.embedding_jobs j
    where j.corpus_id = space.corpus_id and j.space_id = space.space_id
      and j.chunk_nos <@ drop_jobs.chunk_nos;
  update ragdb.embedding_jobs j
    set chunk_nos = array(
      select n from unnest(j.chunk_nos) n where n <> all (drop_jobs.chunk_nos) order by n)
    where j.corpus_id = space.corpus_id and j.space_id = space.space_id
      and j.chunk_nos && drop_jobs.chunk_nos;
end $$;

-- Stores embeddings, one behind the other, of those of some chunks that a corpus has, in its
-- current space, and returns how many these are; the caller holds the corpus lock. Raises RG415,
-- RG418.
create or replace function ragdb_internal.give_embeddings(
  corpus ragdb.corpora, chunk_ids text[], embeddings real[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.current_space(corpus);
  v_embedder ragdb.embedders;
  v_given integer[];
begin
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
    select 'chunk ' || ragdb_internal.quote(i.id)
    from unnest(chunk_ids) with ordinality i (id, n) order by i.n));
  v_given := ragdb_internal.chunk_numbers(corpus.corpus_id, chunk_ids);
  delete from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = corpus.corpus_id
      and e.chunk_no = any (v_given);
  insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding,
      half)
    select v_space.space_id, corpus.corpus_id, c.chunk_no, sha256(convert_to(i.input, 'UTF8')),
      case when not v_space.is_half then k.embedding end,
      case when v_space.is_half
        then ragdb_internal.halves(ragdb_internal.unit_length(k.embedding)) end
    from unnest(chunk_ids) with ordinality g (id, n)
      join ragdb_internal.cut(embeddings, v_embedder.dims) k on k.n = g.n
      cross join lateral (
        select h.chunk_no from ragdb.chunks h
        where h.corpus_id = corpus.corpus_id and h.chunk_id = g.id offset 0) c
      cross join lateral ragdb_internal.embedding_inputs(
        corpus.corpus_id, array[c.chunk_no], v_embedder.passage_prefix) i
    order by c.chunk_no, g.n desc
    on conflict do nothing;
  perform ragdb_internal.drop_jobs(v_space, v_given);
  perform ragdb_internal.note_filled(v_space.space_id);
  perform ragdb_internal.derive_embedded_turns(v_space, v_given);
  return cardinality(v_given);
end $$;

create or replace function ragdb.put_embeddings(
  corpus text, chunk_ids text[], embeddings float8[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(put_embeddings.corpus, 'write');
  v_missing text;
begin
  if chunk_ids is null or not ragdb_internal.is_list(chunk_ids) then
    raise exception 'chunk_ids is not a list of chunks'
      using errcode = 'RG400', detail = 'each embedding is that of a chunk',
        hint = 'pass a plain list without nulls';
  elsif cardinality(chunk_ids) = 0 then
    return 0;
  end if;
  v_corpus := ragdb_internal.lock_corpus(put_embeddings.corpus, 'write');
  select min(i.id) into v_missing
    from unnest(chunk_ids) i (id)
      left join lateral (
        select h.chunk_no from ragdb.chunks h
        where h.corpus_id = v_corpus.corpus_id and h.chunk_id = i.id offset 0) c on true
    where c.chunk_no is null;
  if v_missing is not null then
    perform from ragdb.get_chunk(corpus, v_missing);  -- it says that there is no such chunk
  end if;
  return ragdb_internal.give_embeddings(
    v_corpus, chunk_ids, ragdb_internal.single(embeddings));
end $$;
comment on function ragdb.put_embeddings is
  'Stores embeddings that the caller made, one behind the other, for chunks of a corpus under its '
  'current embedder, in the place of any that they have, and returns for how many. Of the text of '
  'a chunk that changes later its embedding is dropped. Raises RG400, RG401, RG404, RG406, RG415, '
  'RG418.';
