-- Ranking by meaning, and whose model embeds a query.

-- Ranks the k chunks of a corpus nearest to an embedding, and what ties with the last, under a
-- restriction.
create or replace function ragdb_internal.rank_semantic(
  corpus ragdb.corpora, space ragdb.embedding_spaces, embedding vector, k integer,
  among ragdb_internal.restriction default null)
returns setof ragdb_internal.ranked
language sql stable parallel restricted
begin atomic
  select (rank_semantic.corpus).corpus_id, n.chunk_no, n.score, null::float8, n.score,
    null::integer, n.rank, null::float8, null::float8, n.is_exact
  from ragdb_internal.nearest(rank_semantic.corpus, rank_semantic.space, rank_semantic.embedding,
    rank_semantic.k, rank_semantic.among) n;
end;

-- Returns those of the given chunks (all of the corpus when null) that satisfy the +words, -words
-- and phrases of a query; what it was given when the query has none. Most queries have no clauses.
-- demands() is not asked about them: here its statement is planned at each call.
create or replace function ragdb_internal.demanded_chunks(
  corpus ragdb.corpora, query text, chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_demands ragdb_internal.demand[];
begin
  if not ragdb_internal.has_clauses(query) then
    return chunk_nos;
  end if;
  v_demands := ragdb_internal.demands(corpus, query);
  if v_demands = '{}' then
    return chunk_nos;
  elsif v_demands is null then
    return '{}';
  end if;
  return ragdb_internal.meeting(corpus, v_demands, coalesce(chunk_nos,
    ragdb_internal.chunks_demanded(corpus.corpus_id, v_demands),
    array(select x.chunk_no from ragdb.chunk_lexemes x where x.corpus_id = corpus.corpus_id)));
end $$;

-- Returns the embedding to search a corpus by: the one given, checked unless it is fit, or the one
-- kept for the query, or null. Raises RG418.
create or replace function ragdb_internal.query_vector(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query text, query_embedding real[],
  is_fit boolean default false)
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  if is_fit then
    return query_embedding;
  elsif query_embedding is null then
    return ragdb_internal.query_embedding(corpus.corpus_id, space.embedder_id, query);
  end if;
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  perform ragdb_internal.check_embeddings(query_embedding, v_embedder.dims, v_embedder.metric,
    array[format('the query for corpus %s (embedder %s)', ragdb_internal.quote(corpus.name),
      ragdb_internal.quote(v_embedder.name))]);
  return query_embedding;
end $$;

-- Returns the embedding of a query as the vectors of a space are compared with it.
create or replace function ragdb_internal.query_point(
  space ragdb.embedding_spaces, embedding real[])
returns vector
language sql immutable parallel safe
return case when (space).is_half
  then ragdb_internal.unit_length(ragdb_internal.pgvector(query_point.embedding))
  else ragdb_internal.pgvector(query_point.embedding) end;

-- Whether every chunk of every one of some corpora has had an embedding.
create or replace function ragdb_internal.are_filled(corpora ragdb.corpora[]) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  foreach v_corpus in array corpora loop
    if not exists (
      select from ragdb.embedding_spaces s
      where s.corpus_id = v_corpus.corpus_id and s.state = 'current' and s.is_filled)
    then
      return false;
    end if;
  end loop;
  return true;
end $$;

create or replace function ragdb.query_embedder(corpora text[], mode text default null)
returns setof ragdb.embedders
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] :=
    ragdb_internal.with_chunks(ragdb_internal.open_corpora(corpora));
  v_embedders integer[];
begin
  if mode in ('lexical', 'reference')
    or mode is null and not ragdb_internal.are_filled(v_corpora)
  then
    return;
  end if;
  v_embedders := array(
    select distinct (ragdb_internal.space(c.corpus_id, 'current')).embedder_id
    from unnest(v_corpora) c);
  if cardinality(v_embedders) = 1 and not ragdb_internal.is_static(v_embedders[1]) then
    return query select e.* from ragdb.embedders e where e.embedder_id = v_embedders[1];
  end if;
end $$;
comment on function ragdb.query_embedder is
  'Returns the model outside the database that embeds the queries of a search of some corpora '
  '(null: all that the caller may read) in a mode; no row when it compares words alone, as it does '
  'without a mode until all is embedded, when the database embeds by itself, and when the corpora '
  'have several embedders. A corpus without chunks has no say beside others. Raises RG400, RG401, '
  'RG404.';
