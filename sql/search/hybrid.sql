-- Ranking by words and meaning together.
--
-- Each leg runs once. A candidate of one leg gets its exact score of the other leg by key. Both
-- scores have fixed bounds, so that a score, and a threshold on it, mean the same for every query.

-- Returns the constant of reciprocal rank fusion: what it adds to a rank before it divides by it.
-- Its callers are planned with the number in this place.
create or replace function ragdb_internal.rrf_constant() returns integer
language sql immutable parallel safe
return 60;

-- Returns the score of a hybrid search, in [0, 1], rounded to 1e-6: convex (weight times lexical
-- plus the rest times semantic) or rrf over its maximum; a leg without a score or rank counts 0.
create or replace function ragdb_internal.fused(
  fusion text, lexical_weight float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer)
returns float8
language sql immutable parallel safe
return pg_catalog.round(1000000::float8 * case fused.fusion
  when 'rrf' then (ragdb_internal.rrf_constant() + 1)::float8 * (
    coalesce(fused.lexical_weight / (ragdb_internal.rrf_constant() + fused.lexical_rank), 0)
    + coalesce((1 - fused.lexical_weight)
      / (ragdb_internal.rrf_constant() + fused.semantic_rank), 0))
  else fused.lexical_weight * fused.lexical_score
    + (1 - fused.lexical_weight) * coalesce(fused.semantic_score, 0)
  end) / 1000000::float8;

-- Returns to which depth a leg of a hybrid search for k hits ranks: so many times k, or 10, and at
-- most 1000, or k.
create or replace function ragdb_internal.leg_depth(k integer, each_hit float8) returns integer
language sql immutable parallel safe
return greatest(leg_depth.k,
  least(1000, pg_catalog.floor(leg_depth.each_hit * greatest(10, leg_depth.k))::integer));

-- Returns to which depth the lexical leg of a hybrid search for k hits ranks. What a hybrid search
-- misses of the best ten is mostly deeper in the words than its leg goes (bench/results.md).
create or replace function ragdb_internal.worded_depth(k integer) returns integer
language sql immutable parallel safe
return ragdb_internal.leg_depth(worded_depth.k, 4.2);

-- Returns to which depth the semantic leg of a hybrid search for k hits ranks.
create or replace function ragdb_internal.near_depth(k integer) returns integer
language sql immutable parallel safe
return ragdb_internal.leg_depth(near_depth.k, 2.5);

-- Returns how many chunks the legs of a semantic or hybrid search for k hits look for together, as
-- the choice between a list and a filter counts them. A walk finds nearly all, and a list all:
-- where meaning alone decides, a walk has to take half as long.
create or replace function ragdb_internal.looked_for(mode text, k integer) returns integer
language sql immutable parallel safe
return case looked_for.mode when 'semantic' then 4 * looked_for.k
  else ragdb_internal.walked_depth(ragdb_internal.near_depth(looked_for.k))
    + ragdb_internal.worded_depth(looked_for.k) end;

-- Returns the ef_search of a hybrid search for k hits: where the convex fusion weighs words by 0.75
-- or more an eighth of that of the space, and at least 1.4 times what it asks for; else null, which
-- stands for that of the space. Where words weigh three times as much as meaning or more, a chunk
-- among the best whose words are not among the best is as near as few are, and a walk finds these
-- at an eighth of its width. It finds what it is asked for at two fifths more than that.
create or replace function ragdb_internal.hybrid_width(
  space ragdb.embedding_spaces, fusion text, lexical_weight float8, k integer)
returns integer
language sql immutable parallel safe
return case when hybrid_width.fusion = 'convex' and hybrid_width.lexical_weight >= 0.75
  then greatest((space).ef_search / 8, 7 * ragdb_internal.near_depth(hybrid_width.k) / 5) end;

-- A chunk near to a query: its similarity and its rank.
create type ragdb_internal.near as (chunk_no integer, score float8, rank integer);

-- Joins the legs of a hybrid search: what is near, and what has the words, of which those to a
-- depth are candidates; ascending are the scores of all of these.
create or replace function ragdb_internal.fused_legs(
  near ragdb_internal.near[], near_nos integer[], worded ragdb_internal.ranked[],
  ascending float8[], space ragdb.embedding_spaces, metric text, embedding vector, depth integer,
  fusion text, lexical_weight float8, is_exact boolean)
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  with worded as not materialized (
    select u.*, u.bm25 > 0 and u.score >= coalesce(fused_legs.ascending[
      pg_catalog.cardinality(fused_legs.ascending) + 1 - fused_legs.depth], 0) as is_best
    from pg_catalog.unnest(fused_legs.worded) u
  ), compared as (
    select n.* from pg_catalog.unnest(fused_legs.near) n
    union all
    select d.chunk_no, ragdb_internal.nearness(d.distance, fused_legs.metric), null
    from ragdb_internal.chunk_distances(fused_legs.space, fused_legs.metric, fused_legs.embedding,
      array(select w.chunk_no from worded w where w.is_best
        and w.chunk_no not in (select pg_catalog.unnest(fused_legs.near_nos)))) d
  )
  select (space).corpus_id, chunk_no, ragdb_internal.fused(fused_legs.fusion,
      fused_legs.lexical_weight, coalesce(w.score, 0), c.score, w.rank, c.rank),
    coalesce(w.score, 0), c.score, w.rank, c.rank, coalesce(w.bm25, 0), coalesce(w.coverage, 0),
    fused_legs.is_exact
  from compared c full join (
    select b.*, case when b.is_best then ragdb_internal.rank_among(b.score,
      (select fused_legs.ascending), pg_catalog.cardinality(fused_legs.ascending)) end as rank
    from worded b) w using (chunk_no)
  where c.rank is not null or w.rank is not null;
end;

-- Returns the candidates of both legs with their fused score: by words under a restriction, to
-- worded_depth(), and by meaning under one that holds what the query demands too, to near_depth();
-- what ties with the last of a leg, too. Planned once: what needs to see its arguments plans for
-- itself, inside. Raises RG410.
create or replace function ragdb_internal.rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces,
  embedding vector, k integer, among ragdb_internal.restriction,
  demanded ragdb_internal.restriction, fusion text, lexical_weight float8, typos boolean)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_metric constant text := (
    select e.metric from ragdb.embedders e where e.embedder_id = space.embedder_id);
  v_depth constant integer := ragdb_internal.worded_depth(k);
  v_near ragdb_internal.near[];
  v_near_nos integer[];
  v_is_exact boolean;
  v_worded ragdb_internal.ranked[];
  v_ascending float8[];
  v_fused ragdb_internal.ranked[];
  v_started timestamptz := clock_timestamp();
begin
  select array_agg(row(n.chunk_no, n.score, n.rank)::ragdb_internal.near),
      coalesce(array_agg(n.chunk_no), '{}'), coalesce(bool_and(n.is_exact), true)
    into v_near, v_near_nos, v_is_exact
    from ragdb_internal.nearest(
      corpus, space, embedding, ragdb_internal.near_depth(k), demanded,
      ragdb_internal.hybrid_width(space, fusion, lexical_weight, k)) n;
  v_started := ragdb_internal.note_stage('semantic', v_started);
  select l.ranked, array(select w.score from unnest(l.ranked) w order by 1)
    into v_worded, v_ascending
    from (
      select ragdb_internal.rank_lexical(
        corpus, statistics, query, v_depth, among, v_near_nos, typos) as ranked
      offset 0) l;
  v_started := ragdb_internal.note_stage('lexical', v_started);
  v_fused := array(
    select f from ragdb_internal.fused_legs(
      v_near, v_near_nos, v_worded, v_ascending, space, v_metric, embedding, v_depth, fusion,
      lexical_weight, v_is_exact) f);
  v_started := ragdb_internal.note_stage('fuse', v_started);
  return v_fused;
end $$;
