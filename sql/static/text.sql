-- The embedding of one text: of a question, or of what ragdb.embed is given.
--
-- To start the statement that embeds many texts takes longer than to embed a question, so a text
-- has a smaller one, with what it does not know in another. Both make the same sum.

-- Returns the sum of the words of a text whose vectors are stored (null: of none), how many words
-- there are, how many are known as a whole, and those that must be cut with their weights (null:
-- none). A subquery is looked up only where the one before it found nothing.
create or replace function ragdb_internal.found_words(model ragdb.static_models, text text)
returns table (total vector, words bigint, known bigint, missing text[], eighths integer[])
language sql stable parallel safe
begin atomic
  select sum(ragdb_internal.weighed(f.embedding, f.eighths)) filter (where f.embedding is not null),
    count(*), count(f.piece),
    pg_catalog.array_agg(f.word) filter (where f.embedding is null),
    pg_catalog.array_agg(f.eighths) filter (where f.embedding is null)
  from (
    select p.*, coalesce(p.piece, (
        select k.embedding from ragdb.static_words k
        where k.embedder_id = (found_words.model).embedder_id and k.word = p.word))::vector
      as embedding
    from (
      select c.word, c.eighths, (
        select s.embedding from ragdb.static_pieces s
        where s.embedder_id = (found_words.model).embedder_id and s.piece = ' ' || c.word) as piece
      from ragdb_internal.counted_words(array[found_words.text], (found_words.model).folding) c
      offset 0) p
    offset 0) f;
end;

-- Adds to a sum the words of a text that must be cut, by their weights in eighths.
create or replace function ragdb_internal.with_cut_words(
  model ragdb.static_models, found vector, words text[], eighths integer[])
returns table (total vector)
language sql stable parallel safe
begin atomic
  select sum(a.embedding)
  from (
    select with_cut_words.found as embedding
    union all
    select ragdb_internal.weighed(v.embedding, m.eighths)
    from rows from (pg_catalog.unnest(with_cut_words.words),
        pg_catalog.unnest(with_cut_words.eighths)) m (word, eighths)
      join ragdb_internal.cut_vectors(with_cut_words.model, with_cut_words.words) v
        on v.word = m.word) a;
end;

-- Returns the embedding of a text; null where no word is known, or where the share of its words
-- that are known as a whole, counting one more that is, does not pass a given one.
create or replace function ragdb_internal.known_embedding(
  model ragdb.static_models, text text, share float8)
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_nestloop = off
set enable_mergejoin = off
as $$
declare
  v_total ragdb.chunk_embeddings.embedding%type;
  v_words bigint;
  v_known bigint;
  v_missing text[];
  v_eighths integer[];
begin
  select f.total, f.words, f.known, f.missing, f.eighths
    into v_total, v_words, v_known, v_missing, v_eighths
    from ragdb_internal.found_words(model, text) f;
  if (v_known + 1) / (v_words + 1)::float8 <= share then
    return null;
  end if;
  if v_missing is not null then
    select c.total into v_total
      from ragdb_internal.with_cut_words(model, v_total, v_missing, v_eighths) c;
  end if;
  return ragdb_internal.numbers(ragdb_internal.unit_halves(v_total));
end $$;

-- Returns the embedder that new corpora get; null without one.
create or replace function ragdb_internal.default_embedder() returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select e.embedder_id from ragdb.settings s
      join ragdb.embedders e on to_jsonb(e.name) = s.value
    where s.key = 'default_embedder');
end $$;

-- Returns the row of an embedder, of the one that new corpora get for null. Raises RG416.
create or replace function ragdb_internal.embedder_or_default(embedder text)
returns ragdb.embedders
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default ragdb.embedders;
begin
  if embedder is not null then
    return ragdb_internal.embedder(embedder);
  end if;
  select e.* into v_default from ragdb.embedders e
    where e.embedder_id = ragdb_internal.default_embedder();
  if not found then
    raise exception 'no embedder is the default'
      using errcode = 'RG416', detail = 'new corpora are made without embeddings',
            hint = 'name one of ragdb.list_embedders(); ragdb embedder load loads one';
  end if;
  return v_default;
end $$;

create or replace function ragdb.embed(text text, embedder text default null) returns real[]
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
  v_model ragdb.static_models;
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'an embedding is of a text', hint = 'pass a text';
  end if;
  v_embedder := ragdb_internal.embedder_or_default(embedder);
  v_model := ragdb_internal.static_model(v_embedder.embedder_id);
  if v_model.embedder_id is null then
    raise exception 'embedder % does not run inside the database',
        ragdb_internal.quote(v_embedder.name)
      using errcode = 'RG416', detail = 'only static embedders embed in SQL',
            hint = 'ragdb embedder load loads one';
  end if;
  return coalesce(ragdb_internal.known_embedding(v_model, embed.text, 0),
    ragdb_internal.numbers(ragdb_internal.unknown_text(v_model.embedder_id)));
end $$;
comment on function ragdb.embed is
  'Returns the embedding of a text (its first 65,536 characters) by a static embedder, the default '
  'one unless another is named, of length 1. That of a chunk weighs its title and headings apart. '
  'Raises RG400, RG416.';
