-- The mode of a search, and the ranking of one corpus in any mode, and of several.

-- Returns a request with its mode chosen, and the embedding of its query where the database makes
-- it. Where the mode is not said, an embedding of the query is worth nothing to a corpus that is
-- not embedded to its end, so that is looked up first. Raises RG400, RG415, RG417, RG418.
create or replace function ragdb_internal.with_mode(
  corpora ragdb.corpora[], request ragdb_internal.search_request)
returns ragdb_internal.search_request
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
begin
  if cardinality(corpora) > 1 then
    corpora := ragdb_internal.with_chunks(corpora);
  end if;
  if request.mode is null and not ragdb_internal.are_filled(corpora) then
    if cardinality(corpora) > 1 then
      perform ragdb_internal.note_unfilled(corpora);
    end if;
    request.mode := 'lexical';
  end if;
  if request.mode in ('lexical', 'reference') then
    return request;
  end if;
  perform ragdb_internal.check_mode(request.mode);
  if request.query_embedding is null then
    request.query_embedding :=
      ragdb_internal.embedding_in_sql(corpora, request.mode, request.query);
    request.is_fit := request.query_embedding is not null;
  end if;
  foreach v_corpus in array corpora loop
    exit when request.is_fit;
    v_space := ragdb_internal.current_space(v_corpus);
    if request.query_embedding is null
      and ragdb_internal.query_embedding(v_corpus.corpus_id, v_space.embedder_id, request.query)
        is null
    then
      perform ragdb_internal.note_no_embedding(corpora, v_corpus, v_space, request);
      request.mode := 'lexical';
      return request;
    end if;
  end loop;
  request.mode := coalesce(request.mode, 'hybrid');
  if cardinality(corpora) > 1 then
    perform ragdb_internal.check_embedders(corpora, request);
  end if;
  return request;
end $$;

-- Ranks a corpus by meaning (semantic) or by words and meaning (hybrid). Raises RG410, RG415,
-- RG418.
create or replace function ragdb_internal.rank_near(
  corpus ragdb.corpora, statistics ragdb.corpora, request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.current_space(corpus);
  v_words constant text := ragdb_internal.asked_words(request);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_among ragdb_internal.restriction;
  v_demanded ragdb_internal.restriction;
  v_ranked ragdb_internal.ranked[];
  v_started timestamptz;
begin
  v_embedding := ragdb_internal.query_point(v_space, ragdb_internal.query_vector(
    corpus, v_space, request.query, request.query_embedding, request.is_fit));
  if request.chunk_ids is not null then
    -- chunks that are named, such as those of a slice, are all compared
    v_space.is_indexed := false;
  end if;
  if request.filter is not null and v_space.is_indexed and not ragdb_internal.has_clauses(v_words)
  then
    v_among := ragdb_internal.restriction(corpus, request.filter, null,
      ragdb_internal.looked_for(request.mode, request.k));
  elsif request.filter is not null or request.chunk_ids is not null then
    v_among.chunk_nos := ragdb_internal.filtered_chunks(
      corpus.corpus_id, request.filter, request.chunk_ids);
  end if;
  v_demanded := v_among;
  v_demanded.chunk_nos := ragdb_internal.demanded_chunks(corpus, v_words, v_among.chunk_nos);
  if request.mode = 'semantic' then
    v_started := clock_timestamp();
    v_ranked := array(select r from ragdb_internal.rank_semantic(
      corpus, v_space, v_embedding, request.k, v_demanded) r);
    v_started := ragdb_internal.note_stage('semantic', v_started);
  else
    v_ranked := ragdb_internal.rank_hybrid(
      corpus, statistics, v_words, v_space, v_embedding, request.k, v_among, v_demanded,
      request.fusion,
      coalesce(request.lexical_weight, ragdb_internal.lexical_weight(v_space.embedder_id)),
      (request.options).typos);
  end if;
  return v_ranked;
end $$;

-- Returns at least the k best chunks of a corpus in a mode, in no order. Raises RG410, RG415,
-- RG418.
create or replace function ragdb_internal.rank(
  corpus ragdb.corpora, statistics ragdb.corpora, request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_words text;
  v_among ragdb_internal.restriction;
  v_ranked ragdb_internal.ranked[];
begin
  if request.mode = 'lexical' then
    if request.filter is not null or request.chunk_ids is not null then
      v_among := ragdb_internal.restriction(
        corpus, request.filter, request.chunk_ids, request.k);
    end if;
    v_words := ragdb_internal.asked_words(request);
    v_ranked := ragdb_internal.rank_lexical(
      corpus, statistics, v_words, request.k, v_among, typos => (request.options).typos);
    v_started := ragdb_internal.note_stage('lexical', v_started);
  elsif request.mode = 'reference' then
    v_ranked := array(
      select row(corpus.corpus_id, r.chunk_no, r.score, null, null, null, null, null, null,
        true)::ragdb_internal.ranked
      from ragdb_internal.rank_reference(
        corpus, request.query, request.k, request.filter, request.chunk_ids) r);
  else
    v_ranked := ragdb_internal.rank_near(corpus, statistics, request);
  end if;
  return v_ranked;
end $$;

-- Whether a chunk in a ranking reaches the floors of a search.
create or replace function ragdb_internal.reaches_floors(
  ranked ragdb_internal.ranked, request ragdb_internal.search_request)
returns boolean
language sql immutable parallel safe
return (ranked).score >= (request).min_score
  and coalesce((ranked).lexical_score, 0) >= (request).min_lexical
  and coalesce((ranked).semantic_score, 0) >= (request).min_semantic;

-- Returns at least the k best chunks of each of some corpora that reach the floors of a search,
-- weighed by the statistics of a corpus (null: each by its own, and a part by those of its whole),
-- in no order.
create or replace function ragdb_internal.rank_corpora(
  corpora ragdb.corpora[], statistics ragdb.corpora, request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_corpus ragdb.corpora;
  v_statistics ragdb.corpora;
  v_ranked ragdb_internal.ranked[] := '{}';
begin
  foreach v_corpus in array corpora loop
    continue when v_corpus.chunks = 0 and cardinality(corpora) > 1;
    v_statistics := case when statistics.corpus_id is null then v_corpus else statistics end;
    if statistics.corpus_id is null and v_corpus.part_of is not null then
      v_statistics := ragdb_internal.whole_of(v_corpus);
    end if;
    v_ranked := v_ranked || ragdb_internal.rank(v_corpus, v_statistics, request);
  end loop;
  if cardinality(corpora) > 1 and ragdb_internal.uses_embeddings(request.mode)
    and ragdb_internal.are_parts_of_one(corpora)
  then
    v_ranked := array(select r from ragdb_internal.merged_legs(corpora, v_ranked, request) r);
  end if;
  if greatest(request.min_score, request.min_lexical, request.min_semantic) > 0 then
    v_ranked := array(
      select r from unnest(v_ranked) r where ragdb_internal.reaches_floors(r, request));
  end if;
  return v_ranked;
end $$;
