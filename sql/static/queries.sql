-- Embeddings of queries that the database makes itself, and how much they count.

-- Returns the embedding of a query by a static embedder; null where of more than three words it
-- knows under a fifth. In a language that the model does not know, few words are pieces: what the
-- pieces of a strange word have in common with it is chance. A fifth is where the questions of
-- XQuAD in Chinese part from those in English, German and Russian, which gain (docs/static.md). Up
-- to three words tell no language, and gain in each of the four: so one more counts that is known.
create or replace function ragdb_internal.made_embedding(model ragdb.static_models, query text)
returns real[]
language sql stable parallel safe
return ragdb_internal.known_embedding(made_embedding.model, made_embedding.query, 0.2);

-- Returns the embedding of a query: made here by a static embedder that knows enough of its words,
-- or kept of another; null without one.
create or replace function ragdb_internal.query_embedding(
  corpus_id integer, embedder_id integer, query text)
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_model constant ragdb.static_models := ragdb_internal.static_model(embedder_id);
begin
  if v_model.embedder_id is null then
    return ragdb_internal.kept_embedding(corpus_id, embedder_id, query);
  end if;
  return ragdb_internal.made_embedding(v_model, query);
end $$;

-- Returns the share of the lexical leg in a hybrid search by an embedder, 0 to 1: half, unless it
-- is a static one, which says.
create or replace function ragdb_internal.lexical_weight(embedder_id integer) returns float8
language sql stable parallel safe
return coalesce((ragdb_internal.static_model(lexical_weight.embedder_id)).lexical_weight,
  0.5::float8);

-- Returns the embedding of a query where the mode may use one and all corpora are embedded by one
-- static embedder that knows the words; else null.
create or replace function ragdb_internal.embedding_in_sql(
  corpora ragdb.corpora[], mode text, query text)
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_model ragdb.static_models;
begin
  if mode in ('lexical', 'reference') then
    return null;
  end if;
  v_model := ragdb_internal.static_model(
    (ragdb_internal.space(corpora[1].corpus_id, 'current')).embedder_id);
  if v_model.embedder_id is null
    or cardinality(corpora) > 1 and exists (
      select from unnest(corpora) c
      where (ragdb_internal.space(c.corpus_id, 'current')).embedder_id
        is distinct from v_model.embedder_id)
  then
    return null;
  end if;
  return ragdb_internal.made_embedding(v_model, query);
end $$;
