-- Embeddings of chunks by a static embedder, made in the transaction that writes the chunks.

-- Returns a vector in half precision; null where that is another. Half precision has no odd numbers
-- past 2048.
create or replace function ragdb_internal.exact_half(embedding vector) returns halfvec
language sql immutable parallel safe
return case when ragdb_internal.halves(exact_half.embedding)::vector = exact_half.embedding
  then ragdb_internal.halves(exact_half.embedding) end;

-- Embeds chunks of a space by its static embedder: a row for each chunk, and one for each word of
-- up to 32 characters that had to be cut, with its vector, null where half precision has it not.
create or replace function ragdb_internal.static_embeddings(
  space ragdb.embedding_spaces, model ragdb.static_models, chunk_nos integer[])
returns table (chunk_no integer, input_hash bytea, word text, half halfvec)
language plpgsql stable parallel safe cost 1000000
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_numbers integer[];
  v_hashes bytea[];
  v_heads text[];
  v_different text[]; -- most chunks share theirs with others
  v_bodies text[];
begin
  select array_agg(i.chunk_no order by i.chunk_no),
      array_agg(sha256(convert_to(i.input, 'UTF8')) order by i.chunk_no),
      array_agg(i.head order by i.chunk_no), array_agg(distinct i.head),
      array_agg(i.body order by i.chunk_no)
    into v_numbers, v_hashes, v_heads, v_different, v_bodies
    from ragdb.embedders e
      cross join lateral ragdb_internal.embedding_inputs(
        space.corpus_id, static_embeddings.chunk_nos, e.passage_prefix) i
    where e.embedder_id = space.embedder_id;
  return query
    with made as materialized (
      select m.* from ragdb_internal.summed_texts(model, v_bodies || v_different) m
    )
    select i.chunk_no, i.input_hash, null::text, ragdb_internal.halves(coalesce(
        ragdb_internal.unit_halves(s.total), ragdb_internal.unknown_text(space.embedder_id)))
      from unnest(v_numbers, v_hashes, v_heads) with ordinality i (chunk_no, input_hash, head, n)
        left join made b on b.n = i.n
        left join unnest(v_different) with ordinality d (head, n) on d.head = i.head
        left join made h on h.n = cardinality(v_bodies) + d.n
        cross join lateral (
          select ragdb_internal.headed(h.total, b.total) as total offset 0) s
    union all
    select null, null, m.word, ragdb_internal.exact_half(m.total)
      from made m where length(m.word) <= 32;
end $$;

-- Embeds chunks as ragdb_internal.static_embeddings does, many of them by parallel workers. Workers
-- cannot share a list, but they can share the branches of a union, of which each runs as a whole.
-- Three are what the leader and the two workers of the default settings do at once. Few chunks are
-- embedded sooner than workers start. Each has memory for the words of 5334 chunks and what is made
-- of them. With what PostgreSQL gives by itself, 263 MB of 12,905 first chunks went to disk.
create or replace function ragdb_internal.shared_embeddings(
  space ragdb.embedding_spaces, model ragdb.static_models, chunk_nos integer[])
returns table (chunk_no integer, input_hash bytea, word text, half halfvec)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set work_mem = '64MB'
as $$
declare
  v_third constant integer := ceil(cardinality(chunk_nos) / 3.0);
begin
  if cardinality(chunk_nos) < 500 then
    return query
      select e.* from ragdb_internal.static_embeddings(space, model, chunk_nos) e;
    return;
  end if;
  return query
    select a.* from ragdb_internal.static_embeddings(space, model, chunk_nos[: v_third]) a
    union all
    select b.*
    from ragdb_internal.static_embeddings(space, model, chunk_nos[v_third + 1 : 2 * v_third]) b
    union all
    select c.* from ragdb_internal.static_embeddings(space, model, chunk_nos[2 * v_third + 1 :]) c;
end $$;

-- Trigger of ragdb.static_models: removes the words that were kept for the static embedders that
-- went. Not a foreign key: it would look for the embedder at each word. Words are stored only under
-- the lock of a corpus with a space of the embedder, which cannot go before the space.
create or replace function ragdb_internal.drop_words() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.static_words w
    where w.embedder_id in (select g.embedder_id from gone g);
  return null;
end $$;
create or replace trigger words_go_with_model after delete on ragdb.static_models
  referencing old table as gone for each statement
  execute function ragdb_internal.drop_words();

-- Returns the lock of the words of a static embedder.
create or replace function ragdb_internal.words_lock(embedder_id integer) returns bigint
language sql immutable parallel safe
return pg_catalog.hashtextextended('ragdb words of embedder ' || words_lock.embedder_id, 0);

-- Tells whether this transaction may keep the words of a static embedder, and has others keep none
-- to its end.
create or replace function ragdb_internal.may_keep_words(embedder_id integer) returns boolean
language sql
return pg_catalog.pg_try_advisory_xact_lock(ragdb_internal.words_lock(may_keep_words.embedder_id));

-- Embeds chunks of a space by its static embedder and stores the embeddings, and the vectors of
-- words that had to be cut, unless another transaction is at it. Words are kept by one transaction
-- at a time, and who comes second keeps none: nobody waits for what another has not committed.
create or replace function ragdb_internal.store_static(
  space ragdb.embedding_spaces, model ragdb.static_models, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set work_mem = '64MB' -- 16000 embeddings, and as many words
as $$
declare
  v_keeps constant boolean := ragdb_internal.may_keep_words(model.embedder_id);
begin
  with made as materialized (
    select e.* from ragdb_internal.shared_embeddings(space, model, chunk_nos) e
  ), kept as (
    insert into ragdb.static_words (embedder_id, word, embedding)
      select model.embedder_id, m.word, m.half from made m
      where v_keeps and m.word is not null and m.half is not null
      on conflict do nothing
  )
  insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, half)
    select space.space_id, space.corpus_id, m.chunk_no, m.input_hash, m.half
    from made m where m.chunk_no is not null
    on conflict do nothing;
end $$;

-- Gives chunks of a static space the embeddings that they lack; the caller holds the corpus lock.
create or replace function ragdb_internal.embed_chunks(
  space ragdb.embedding_spaces, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_model constant ragdb.static_models := ragdb_internal.static_model(space.embedder_id);
  v_missing constant integer[] := array(
    select n.chunk_no from unnest(embed_chunks.chunk_nos) n (chunk_no)
      left join lateral (select h.chunk_no from ragdb.chunk_embeddings h
        where h.space_id = space.space_id and h.corpus_id = space.corpus_id
          and h.chunk_no = n.chunk_no offset 0) e on true
    where e.chunk_no is null
    order by n.chunk_no);
begin
  -- what a third of 16000 chunks holds fits into the work_mem of shared_embeddings
  for i in 1 .. cardinality(v_missing) by 16000 loop
    perform ragdb_internal.store_static(space, v_model, v_missing[i : i + 15999]);
  end loop;
end $$;

-- Embeds chunks that have just been written, in the spaces of their corpus that static embedders
-- fill; the caller holds the corpus lock.
create or replace function ragdb_internal.embed_written(corpus ragdb.corpora, chunk_nos integer[])
returns void
language sql
begin atomic
  select ragdb_internal.embed_chunks(s, embed_written.chunk_nos)
  from ragdb.embedding_spaces s
    join ragdb.static_models m on m.embedder_id = s.embedder_id
  where s.corpus_id = (embed_written.corpus).corpus_id and s.state <> 'retired'
    -- an import brings its embeddings along
    and (embed_written.corpus).import_xid is distinct from pg_catalog.pg_current_xact_id();
end;

-- Embeds every chunk that a space lacks, where its embedder is static; the caller holds the corpus
-- lock.
create or replace function ragdb_internal.fill_static(space ragdb.embedding_spaces) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  if ragdb_internal.is_static(space.embedder_id) then
    perform ragdb_internal.embed_chunks(space, array(
      select c.chunk_no from ragdb.chunks c where c.corpus_id = space.corpus_id));
  end if;
end $$;

-- Has a new corpus embedded by the default embedder, if there is one.
create or replace function ragdb_internal.bind_default(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e
    where e.embedder_id = ragdb_internal.default_embedder();
  if found then
    perform ragdb_internal.make_space(bind_default.corpus_id, v_embedder, 'current', 16, 128);
  end if;
end $$;
