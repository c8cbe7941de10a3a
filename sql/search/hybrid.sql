-- Ranking by meaning, and by words and meaning together.
--
-- Each leg runs once, to the same depth; a candidate of one leg gets its exact score of the other
-- by key. Both scores have fixed bounds, so that a score, and a threshold on it, mean the same for
-- every query.

-- Planned once: what needs to see its arguments plans for itself, inside. A leg without a score
-- counts 0.
create or replace function ragdb_internal.rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces,
    embedding vector,
  k integer, among integer[], chunk_nos integer[], fusion text, lexical_weight float8)
returns setof ragdb_internal.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_depth constant integer := least(1000, greatest(25, 5 * k / 2));
  v_demanded constant integer[] := ragdb_internal.demanded_chunks(corpus, query, null);
  v_metric text;
begin
  select e.metric into strict v_metric from ragdb.embedders e
    where e.embedder_id = space.embedder_id;
  return query
    with near as materialized (
      select s.chunk_no, s.semantic_score as score, s.semantic_rank as rank, s.is_exact
      from ragdb_internal.rank_semantic(corpus, space, embedding, v_depth, chunk_nos) s
    ), scored as materialized (
      select t.chunk_no, t.score, t.bm25, t.coverage,
        row_number() over (order by t.score desc, t.chunk_id)::integer as rank
      from (
        select r.chunk_no, r.score, r.bm25, r.coverage,
          case when r.bm25 > 0 and count(*) over (partition by r.score) > 1 then (select c.chunk_id
            from ragdb.chunks c where c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no)
              end as chunk_id
        from ragdb_internal.rank_lexical(corpus, statistics, query, v_depth, null, null, among,
            array(select n.chunk_no from near n)) r) t
    ), legs as materialized (
      select s.chunk_no, s.score as lexical_score, s.bm25, s.coverage,
        case when s.rank <= v_depth and s.bm25 > 0
          and (v_demanded is null or s.chunk_no = any (v_demanded))
          then s.rank end as lexical_rank,
        null::float8 as semantic_score, null::integer as semantic_rank
      from scored s
      union all
      select n.chunk_no, null, null, null, null, n.score, n.rank from near n
    ), candidates as (
      select l.chunk_no, coalesce(max(l.lexical_score), 0) as lexical_score,
        coalesce(max(l.bm25), 0) as bm25,
        coalesce(max(l.coverage), 0) as coverage, max(l.lexical_rank) as lexical_rank,
        max(l.semantic_score) as semantic_score, max(l.semantic_rank) as semantic_rank
      from (
        select g.* from legs g
        union all
        select a.chunk_no, null, null, null, null, a.score, null
        from ragdb_internal.score_chunks(space, v_metric, embedding, array(
          select g.chunk_no from legs g group by g.chunk_no
          having max(g.lexical_rank) is not null and max(g.semantic_rank) is null)) a) l
      group by l.chunk_no
      having max(l.lexical_rank) is not null or max(l.semantic_rank) is not null
    )
    select c.chunk_no,
      round(1000000::float8 * case fusion
        when 'rrf' then 61::float8 * (coalesce(lexical_weight / (60 + c.lexical_rank), 0)
          + coalesce((1 - lexical_weight) / (60 + c.semantic_rank), 0))
        else lexical_weight * c.lexical_score + (1 - lexical_weight) * coalesce(c.semantic_score, 0)
      end) / 1000000::float8,
      c.lexical_score, c.semantic_score, c.lexical_rank, c.semantic_rank, c.bm25, c.coverage,
      coalesce((select bool_and(n.is_exact) from near n), true)
    from candidates c;
end $$;
comment on function ragdb_internal.rank_hybrid(ragdb.corpora, ragdb.corpora, text, ragdb.embedding_spaces,
  vector, integer, integer[], integer[], text, float8) is
  'Returns the candidates of both legs, each to depth min(1000, max(25, 2.5 k)), by words among '
  'some chunks and by meaning among others (null: all of the corpus), with their fused score: '
  'convex (weight times lexical plus the rest times semantic) or rrf over its maximum. Raises '
  'RG410.';
