-- What static embedders rest on, and what they made: each can be made again here. What other
-- embedders gave cannot. Vectors are compared by "=": a dump writes "is distinct from" without the
-- schema of pgvector, and is not restored.

-- Tells whether the pieces of a static embedder are others than it was bound with.
create or replace function ragdb_internal.has_other_pieces(model ragdb.static_models)
returns boolean
language sql stable parallel safe
return (
  select (ragdb_internal.pieces_digest((model).embedder_id), count(*),
      pg_catalog.max(pg_catalog.length(p.piece)),
      ragdb_internal.splits_digits((model).embedder_id))
    is distinct from ((model).digest, (model).pieces::bigint, (model).longest,
      (model).splits_digits)
  from ragdb.static_pieces p where p.embedder_id = (model).embedder_id);

-- Returns those of some words whose kept vector is not the sum of those of their pieces.
create or replace function ragdb_internal.wrong_words(model ragdb.static_models, words text[])
returns setof text
language sql stable parallel safe cost 1000000
set enable_seqscan = off
begin atomic
  select w.word
  from ragdb_internal.cut_vectors(wrong_words.model, wrong_words.words) c
    join ragdb.static_words w
      on w.embedder_id = (wrong_words.model).embedder_id and w.word = c.word
  where (w.embedding::vector = c.embedding) is not true;
end;

-- Returns what ragdb_internal.wrong_words does, of many words by parallel workers. As chunks are
-- embedded.
create or replace function ragdb_internal.shared_wrong_words(
  model ragdb.static_models, words text[])
returns setof text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_third constant integer := ceil(cardinality(words) / 3.0);
begin
  if cardinality(words) < 500 then
    return query select w from ragdb_internal.wrong_words(model, words) w;
    return;
  end if;
  return query
    select a from ragdb_internal.wrong_words(model, words[: v_third]) a
    union all
    select b from ragdb_internal.wrong_words(model, words[v_third + 1 : 2 * v_third]) b
    union all
    select c from ragdb_internal.wrong_words(model, words[2 * v_third + 1 :]) c;
end $$;

-- Compares the pieces of a static embedder with its digest, and a batch of its kept words with
-- their pieces. A step is of one embedder: its pieces first, and then its words.
create or replace function ragdb_internal.verify_embedders(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_model ragdb.static_models;
  v_name text;
  v_words text[];
  v_wrong bigint;
  v_findings ragdb.finding[] := '{}';
begin
  select m.* into v_model from ragdb.static_models m
    where m.embedder_id >= coalesce((after ->> 0)::integer, 0) order by m.embedder_id limit 1;
  if not found then
    return ragdb_internal.verified(0, most, null, null);
  end if;
  v_name := 'embedder ' || (
    select e.name from ragdb.embedders e where e.embedder_id = v_model.embedder_id);
  if after ->> 1 is null and ragdb_internal.has_other_pieces(v_model) then
    v_findings := v_findings || row('embedders', 'error', v_name,
      'its pieces are not those of its digest',
      'load it under another name, and move its corpora: ragdb reembed')::ragdb.finding;
  end if;
  v_words := array(select w.word from ragdb.static_words w
    where w.embedder_id = v_model.embedder_id and w.word > coalesce(after ->> 1, '')
    order by w.word limit most);
  v_wrong := (select count(*) from ragdb_internal.shared_wrong_words(v_model, v_words));
  if v_wrong > 0 then
    v_findings := v_findings || row('embedders', 'error', v_name,
      -- a word is of a text that the caller need not be allowed to read
      'kept with another vector than that of its pieces: '
        || ragdb_internal.counted(v_wrong, 'word'),
      'empty ragdb.static_words, which is derived')::ragdb.finding;
  end if;
  return row(cardinality(v_words) + 1, case
      when cardinality(v_words) = most
        then jsonb_build_array(v_model.embedder_id, v_words[most])
      else jsonb_build_array(v_model.embedder_id + 1, null) end, v_findings)
    ::ragdb_internal.verified;
end $$;

-- Returns those of some chunks whose embedding is not what a static embedder makes of their text.
create or replace function ragdb_internal.wrong_embeddings(
  space ragdb.embedding_spaces, model ragdb.static_models, chunk_nos integer[])
returns integer[]
language sql stable parallel safe
begin atomic
  select array(
    select e.chunk_no
    from ragdb_internal.stored_of((wrong_embeddings.space).space_id,
        (wrong_embeddings.space).corpus_id, wrong_embeddings.chunk_nos) e
      left join ragdb_internal.shared_embeddings(
        wrong_embeddings.space, wrong_embeddings.model, wrong_embeddings.chunk_nos) m
        on m.chunk_no = e.chunk_no
    where (e.input_hash = m.input_hash and e.half = m.half) is not true
    order by 1);
end;

-- Makes a batch of embeddings of a static embedder again, and compares. A step is of one space. A
-- warning, because a client may give embeddings of its own.
create or replace function ragdb_internal.verify_embeddings(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_chunks integer[];
  v_wrong integer[];
begin
  select s.* into v_space
    from ragdb.embedding_spaces s join ragdb.static_models m on m.embedder_id = s.embedder_id
    where s.space_id >= coalesce((after ->> 0)::integer, 0) order by s.space_id limit 1;
  if not found then
    return ragdb_internal.verified(0, most, null, null);
  end if;
  v_chunks := array(select e.chunk_no from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = v_space.corpus_id
      and e.chunk_no > coalesce((after ->> 1)::integer, 0)
    order by e.chunk_no limit most);
  v_wrong := ragdb_internal.wrong_embeddings(
    v_space, ragdb_internal.static_model(v_space.embedder_id), v_chunks);
  return row(cardinality(v_chunks), case
      when cardinality(v_chunks) = most
        then jsonb_build_array(v_space.space_id, v_chunks[most])
      else jsonb_build_array(v_space.space_id + 1, null) end,
    array(
      select row('embeddings', 'warning', format('corpus %s from chunk %s on', c.name, h.chunk_id),
        format('not what embedder %s makes of the text: %s',
          e.name, ragdb_internal.counted(cardinality(v_wrong), 'embedding')),
        'a client gave them (ragdb.put_embeddings), or somebody edited them: ragdb reembed'
      )::ragdb.finding
      from ragdb.corpora c, ragdb.embedders e, ragdb.chunks h
      where c.corpus_id = v_space.corpus_id and e.embedder_id = v_space.embedder_id
        and h.corpus_id = v_space.corpus_id and h.chunk_no = v_wrong[1]))
    ::ragdb_internal.verified;
end $$;
