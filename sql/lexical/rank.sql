-- Lexical ranking: candidates are found by their scores in float4, and these are scored exactly.

-- The settings hold for the strategies too, which nothing else calls.
create or replace function ragdb_internal.rank_question(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer,
  also integer[] default null)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe rows 20
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_found ragdb_internal.candidate[];
  v_least float8;
  v_chunk_nos integer[];
begin
  if question.terms is null or scope.demands is null then
    return;
  end if;
  v_found := ragdb_internal.find_best(corpus, question, scope, k);
  -- what float4 puts clearly below the k-th cannot rank
  v_least := coalesce(ragdb_internal.at_least(v_found[k].score), 0);
  -- a subquery among its arguments would keep exact_bm25 from becoming part of the statement, and
  -- PostgreSQL 16 would plan it at each call
  v_chunk_nos := array(select (f.found).chunk_no from (select unnest(v_found) as found) f
    where (f.found).score >= v_least) || also;
  return query
    select b.chunk_no, b.bm25 / (question.weight * (corpus.k1 + 1)), b.bm25,
      b.matched / question.weight
    from ragdb_internal.exact_bm25(corpus, v_chunk_nos, question.terms) b;
end $$;
comment on function ragdb_internal.rank_question(
  ragdb.corpora, ragdb_internal.question, ragdb_internal.scope, integer, integer[]) is
  'Returns at least the k best chunks of a corpus in a scope for a question, and those of '
  'also, in no order: BM25 over the most that the question could reach, the raw BM25, and '
  'the share of the weight of the terms that the chunk has.';

-- A single statement, which becomes part of its callers.
create or replace function ragdb_internal.rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer,
  among ragdb_internal.restriction, also integer[] default null, typos boolean default false)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language sql stable parallel safe
begin atomic
  select r.* from ragdb_internal.rank_question(rank_lexical.corpus,
    ragdb_internal.question(rank_lexical.corpus, rank_lexical.statistics, rank_lexical.query,
      rank_lexical.typos),
    ragdb_internal.scope(rank_lexical.corpus, rank_lexical.query, rank_lexical.among),
    rank_lexical.k, rank_lexical.also) r;
end;
comment on function ragdb_internal.rank_lexical(
  ragdb.corpora, ragdb.corpora, text, integer, ragdb_internal.restriction, integer[], boolean) is
  'Returns at least the k best chunks of a corpus under a restriction by BM25 over the most the '
  'query could reach, and those of also, in no order, with the raw BM25 and the share of the '
  'query''s idf that the chunk has. Raises RG400, RG410.';
