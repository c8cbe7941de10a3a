-- Ranking by words and meaning together.
--
-- Each leg runs once. A candidate of one leg gets its exact score of the other leg by key. Both
-- scores have fixed bounds, so that a score, and a threshold on it, mean the same for every query.

-- Equal scores share a rank: an id is not evidence.
create or replace function ragdb_internal.rank_words(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer,
  among ragdb_internal.restriction, also integer[], typos boolean)
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  select (rank_words.corpus).corpus_id, t.chunk_no, t.score, t.score, null::float8,
    case when t.rank <= rank_words.k and t.bm25 > 0 then t.rank end,
    null::integer, t.bm25, t.coverage, true
  from (
    select r.*, pg_catalog.rank() over (order by r.score desc)::integer as rank
    from pg_catalog.unnest(ragdb_internal.rank_lexical(rank_words.corpus, rank_words.statistics,
      rank_words.query, rank_words.k, rank_words.among, rank_words.also, rank_words.typos)) r) t;
end;
comment on function ragdb_internal.rank_words(
  ragdb.corpora, ragdb.corpora, text, integer, ragdb_internal.restriction, integer[], boolean) is
  'Returns the k best chunks of a corpus for the words of a query, and what ties with the last, '
  'with their rank, under a restriction, and without a rank what follows them and the chunks of '
  'also, which have what the query demands. Raises RG410.';

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
comment on function ragdb_internal.fused(text, float8, float8, float8, integer, integer) is
  'Returns the score of a hybrid search, in [0, 1], rounded to 1e-6: convex (weight times lexical '
  'plus the rest times semantic) or rrf over its maximum; a leg without a score or rank counts 0.';

create or replace function ragdb_internal.leg_depth(k integer, each_hit float8) returns integer
language sql immutable parallel safe
return greatest(leg_depth.k,
  least(1000, pg_catalog.floor(leg_depth.each_hit * greatest(10, leg_depth.k))::integer));
comment on function ragdb_internal.leg_depth(integer, float8) is
  'Returns to which depth a leg of a hybrid search for k hits ranks: so many times k, or 10, and '
  'at most 1000, or k.';

-- What a hybrid search misses of the best ten is mostly deeper in the words than its leg goes
-- (bench/results.md).
create or replace function ragdb_internal.worded_depth(k integer) returns integer
language sql immutable parallel safe
return ragdb_internal.leg_depth(worded_depth.k, 4.2);
comment on function ragdb_internal.worded_depth(integer) is
  'Returns to which depth the lexical leg of a hybrid search for k hits ranks.';

create or replace function ragdb_internal.near_depth(k integer) returns integer
language sql immutable parallel safe
return ragdb_internal.leg_depth(near_depth.k, 2.5);
comment on function ragdb_internal.near_depth(integer) is
  'Returns to which depth the semantic leg of a hybrid search for k hits ranks.';

-- A walk finds nearly all, and a list all: where meaning alone decides, a walk has to take half as
-- long.
create or replace function ragdb_internal.looked_for(mode text, k integer) returns integer
language sql immutable parallel safe
return case looked_for.mode when 'semantic' then 4 * looked_for.k
  else ragdb_internal.walked_depth(ragdb_internal.near_depth(looked_for.k))
    + ragdb_internal.worded_depth(looked_for.k) end;
comment on function ragdb_internal.looked_for(text, integer) is
  'Returns how many chunks the legs of a semantic or hybrid search for k hits look for together, '
  'as the choice between a list and a filter counts them.';

-- Where words weigh three times as much as meaning or more, a chunk among the best whose words are
-- not among the best is as near as few are, and a walk finds these at an eighth of its width. It
-- finds what it is asked for at two fifths more than that.
create or replace function ragdb_internal.hybrid_width(
  space ragdb.embedding_spaces, fusion text, lexical_weight float8, k integer)
returns integer
language sql immutable parallel safe
return case when hybrid_width.fusion = 'convex' and hybrid_width.lexical_weight >= 0.75
  then greatest((space).ef_search / 8, 7 * ragdb_internal.near_depth(hybrid_width.k) / 5) end;
comment on function ragdb_internal.hybrid_width(
  ragdb.embedding_spaces, text, float8, integer) is
  'Returns the ef_search of a hybrid search for k hits: where the convex fusion weighs words by '
  '0.75 or more an eighth of that of the space, and at least 1.4 times what it asks for; else '
  'null, which stands for that of the space.';

-- Planned once: what needs to see its arguments plans for itself, inside.
create or replace function ragdb_internal.rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces,
  embedding vector, k integer, among ragdb_internal.restriction,
  demanded ragdb_internal.restriction, fusion text, lexical_weight float8, typos boolean)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_metric constant text := (
    select e.metric from ragdb.embedders e where e.embedder_id = space.embedder_id);
  v_near ragdb_internal.ranked[];
  v_near_nos integer[];
  v_worded ragdb_internal.ranked[];
  v_fused ragdb_internal.ranked[];
  v_started timestamptz := clock_timestamp();
begin
  select array_agg(s), array_agg(s.chunk_no) into v_near, v_near_nos
    from ragdb_internal.rank_semantic(
      corpus, space, embedding, ragdb_internal.near_depth(k), demanded,
      ragdb_internal.hybrid_width(space, fusion, lexical_weight, k)) s;
  v_started := ragdb_internal.note_stage('semantic', v_started);
  v_worded := array(
    select w from ragdb_internal.rank_words(corpus, statistics, query,
      ragdb_internal.worded_depth(k), among, v_near_nos, typos) w);
  v_started := ragdb_internal.note_stage('lexical', v_started);
  v_fused := array(
    with candidates as materialized (
      select chunk_no, coalesce(w.score, 0) as lexical_score, n.score as semantic_score,
        w.lexical_rank, n.semantic_rank, w.bm25, w.coverage
      from unnest(v_near) n full join unnest(v_worded) w using (chunk_no)
      where n.semantic_rank is not null or w.lexical_rank is not null
    ), scored as (
      select c.*, coalesce(c.semantic_score, s.score) as semantic
      from candidates c left join (
        select d.chunk_no, ragdb_internal.nearness(d.distance, v_metric) as score
        from ragdb_internal.chunk_distances(space, v_metric, embedding, array(
          select a.chunk_no from candidates a where a.semantic_rank is null)) d) s using (chunk_no)
    )
    select row(corpus.corpus_id, c.chunk_no, ragdb_internal.fused(fusion, lexical_weight,
        c.lexical_score, c.semantic, c.lexical_rank, c.semantic_rank),
      c.lexical_score, c.semantic, c.lexical_rank, c.semantic_rank, coalesce(c.bm25, 0),
      coalesce(c.coverage, 0), coalesce(v_near[1].is_exact, true))::ragdb_internal.ranked
    from scored c);
  v_started := ragdb_internal.note_stage('fuse', v_started);
  return v_fused;
end $$;
comment on function ragdb_internal.rank_hybrid(
  ragdb.corpora, ragdb.corpora, text, ragdb.embedding_spaces, vector, integer,
  ragdb_internal.restriction, ragdb_internal.restriction, text, float8, boolean) is
  'Returns the candidates of both legs, by words under a restriction to depth min(1000, max(42, '
  '4.2 k)) or k, by meaning under one that holds what the query demands too to min(1000, max(25, '
  '2.5 k)) or k, what ties with the last of a leg too, with their fused score. Raises RG410.';
