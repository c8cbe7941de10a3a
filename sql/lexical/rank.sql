-- Lexical ranking: candidates are found by their scores in float4, and these are scored exactly.

-- A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run or
-- lacks an embedding.
create type ragdb_internal.ranked as (
  corpus_id integer, chunk_no integer, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);

-- Returns at least the k best chunks of a corpus in a scope for a question, and those of also, in
-- no order: their score is BM25 over the most that its words could reach, and their coverage the
-- share of the weight of these that they have, also by what stands for them. The settings hold for
-- the strategies too, which nothing else calls.
create or replace function ragdb_internal.rank_question(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer,
  also integer[] default null, out ranked ragdb_internal.ranked[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_found ragdb_internal.candidate[];
begin
  if question.terms is null or scope.demands is null then
    ranked := '{}';
    return;
  end if;
  v_found := ragdb_internal.find_best(corpus, question, scope, k);
  -- what float4 puts clearly below the k-th cannot rank
  ranked := array(
    select row(corpus.corpus_id, b.chunk_no, b.score, b.score, null, null, null, b.bm25,
      least(1, b.matched / question.weight), true)::ragdb_internal.ranked
    from (
      select e.*, ragdb_internal.lexical_score(
        e.bm25, question.weight * (corpus.k1 + 1), question.is_widened) as score
      from ragdb_internal.exact_bm25(corpus, v_found,
        coalesce(ragdb_internal.at_least(v_found[k].score), 0), also, question.terms) e) b);
end $$;

-- Returns at least the k best chunks of a corpus under a restriction by BM25 over the most its
-- words could reach, and those of also, in no order, with the raw BM25 and the share of the query's
-- idf that the chunk has. A single expression, which becomes part of its callers. Raises RG400,
-- RG410.
create or replace function ragdb_internal.rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer,
  among ragdb_internal.restriction, also integer[] default null, typos boolean default false)
returns ragdb_internal.ranked[]
language sql stable parallel safe
return ragdb_internal.rank_question(rank_lexical.corpus,
  ragdb_internal.question(rank_lexical.corpus, rank_lexical.statistics, rank_lexical.query,
    rank_lexical.typos),
  ragdb_internal.scope(rank_lexical.corpus, rank_lexical.query, rank_lexical.among),
  rank_lexical.k, rank_lexical.also);
