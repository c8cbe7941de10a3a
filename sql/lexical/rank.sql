-- Lexical ranking: candidates are found by their scores in float4, and these are scored exactly.
--
-- Where the chunks to look at are listed, all of them are scored. Else the best chunks of the
-- corpus are found by lists and blocks (find_best); where not all of them may be ranked, more are
-- looked for until enough may.
create type ragdb_internal.restriction as (
  joins text, conditions jsonb[], chunk_nos integer[]);
comment on type ragdb_internal.restriction is
  'What chunks must meet besides words: joins and a where clause for rows x of '
  'ragdb.chunk_lexemes, with the conditions of a filter as $1 and a list of chunks as $2.';

create type ragdb_internal.scope as (
  chunk_nos integer[], restriction ragdb_internal.restriction, demands ragdb_internal.demand[]);
comment on type ragdb_internal.scope is
  'The chunks that may be ranked: those of a list (null: all of the corpus) that meet a '
  'restriction (null: none) and demands (null: no chunk meets them).';

create or replace function ragdb_internal.restricted(
  corpus_id integer, restriction ragdb_internal.restriction, chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk_nos integer[];
begin
  if restriction is null then
    return chunk_nos;
  end if;
  execute 'select array(select x.chunk_no from ragdb.chunk_lexemes x' || restriction.joins
    || ' and x.corpus_id = $3'
    || case when chunk_nos is null then '' else ' and x.chunk_no = any ($4)' end || ')'
    into v_chunk_nos
    using restriction.conditions, restriction.chunk_nos, restricted.corpus_id, chunk_nos;
  return v_chunk_nos;
end $$;
comment on function ragdb_internal.restricted(
  integer, ragdb_internal.restriction, integer[]) is
  'Returns those of some chunks of a corpus (null: of all) that meet a restriction; with none '
  '(null), what it was given.';

-- Of many chunks under a filter it is cheaper to look at the best than at each one. What phrases
-- and +words leave is mostly little.
create or replace function ragdb_internal.scope(
  corpus ragdb.corpora, query text, filter jsonb, chunk_ids text[], among integer[])
returns ragdb_internal.scope
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := case when chunk_ids is null then 5001 end;
  v_scope ragdb_internal.scope;
  v_conditions jsonb[];
begin
  v_scope.demands := ragdb_internal.demands(corpus, query);
  if filter is not null or chunk_ids is not null then
    v_scope.chunk_nos := ragdb_internal.filtered_chunks(
      corpus.corpus_id, filter, chunk_ids, v_most);
    if cardinality(v_scope.chunk_nos) = v_most then
      v_scope.chunk_nos := null;
      v_conditions := array(select to_jsonb(f) from ragdb_internal.filter_conditions(filter) f);
      v_scope.restriction := row(ragdb_internal.filter_joins(v_conditions), v_conditions, null);
    end if;
  elsif cardinality(among) > 20000 then
    v_scope.restriction := row(' where x.chunk_no = any ($2)', null, among);
  else
    v_scope.chunk_nos := among;
  end if;
  if v_scope.chunk_nos is null and v_scope.demands <> '{}' then
    v_scope.chunk_nos := ragdb_internal.chunks_demanded(corpus.corpus_id, v_scope.demands);
    if v_scope.chunk_nos is not null then
      v_scope.chunk_nos := ragdb_internal.restricted(
        corpus.corpus_id, v_scope.restriction, v_scope.chunk_nos);
    end if;
  end if;
  return v_scope;
end $$;
comment on function ragdb_internal.scope(ragdb.corpora, text, jsonb, text[], integer[]) is
  'Returns which chunks of a corpus may be ranked for a query, under its clauses, a filter and '
  'chunk ids, or among the given (null: all). Raises RG400, RG410.';

-- How many of the best chunks have to be looked at shows as they are.
create or replace function ragdb_internal.find_candidates(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_is_free constant boolean := scope.demands = '{}'
    and (scope.chunk_nos is not null or scope.restriction is null);
  v_among integer[] := scope.chunk_nos;
  -- to look for a phrase in a text costs more than to rank some hundred chunks
  v_looked_for integer := case when v_is_free then k
    when scope.chunk_nos is not null then 2 * k else 4 * k + 100 end;
  v_found ragdb_internal.candidate[];
  v_chunk_nos integer[];
  v_passing ragdb_internal.candidate[];
begin
  loop
    if v_among is null and v_looked_for > 5000 and scope.restriction is not null then
      v_among := ragdb_internal.restricted(corpus.corpus_id, scope.restriction, null);
    end if;
    v_found := case when v_among is null
      then ragdb_internal.find_best(corpus, question, v_looked_for)
      else ragdb_internal.best_among(corpus.corpus_id, v_among, null, v_weights, v_looked_for) end;
    if v_is_free then
      return v_found;
    end if;
    v_chunk_nos := array(select f.chunk_no from unnest(v_found) f);
    if scope.chunk_nos is null then
      v_chunk_nos := ragdb_internal.restricted(corpus.corpus_id, scope.restriction, v_chunk_nos);
    end if;
    v_chunk_nos := ragdb_internal.meeting(corpus, scope.demands, v_chunk_nos);
    v_passing := array(select f from unnest(v_found) f
      where f.chunk_no = any (v_chunk_nos) order by f.score desc);
    exit when cardinality(v_found) < v_looked_for
      or v_passing[k].score >= v_found[v_looked_for].score;
    v_looked_for := 8 * v_looked_for;
  end loop;
  return v_passing;
end $$;
comment on function ragdb_internal.find_candidates(
  ragdb.corpora, ragdb_internal.question, ragdb_internal.scope, integer) is
  'Returns the k best chunks of a corpus for a question in a scope and what ties with the last, '
  'best first.';

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
  v_found constant ragdb_internal.candidate[] :=
    ragdb_internal.find_candidates(corpus, question, scope, k);
  -- what float4 puts clearly below the k-th cannot rank
  v_least constant float8 := coalesce(ragdb_internal.at_least(v_found[k].score), 0);
  v_chunk_nos constant integer[] :=
    array(select f.chunk_no from unnest(v_found) f where f.score >= v_least) || also;
  -- Worked out once a session, when it is planned. A piece of two megabytes that was given back
  -- makes the C library of most servers keep what later calls give back. Without it, each of them
  -- asks the system for its memory again, page by page; that took a fifth of the time (measured).
  v_primed constant integer := length(repeat(' ', 2000000));
begin
  return query
    select b.chunk_no, b.bm25 / (question.weight * (corpus.k1 + 1)), b.bm25,
      b.matched / question.weight
    from ragdb_internal.exact_bm25(corpus, v_chunk_nos, question.terms) b;
end $$;
comment on function ragdb_internal.rank_question(
  ragdb.corpora, ragdb_internal.question, ragdb_internal.scope, integer, integer[]) is
  'Returns at least the k best chunks of a corpus in a scope for a question that has terms, and '
  'those of also, in no order: BM25 over the most that the question could reach, the raw BM25, and '
  'the share of the weight of the terms that the chunk has.';

create or replace function ragdb_internal.rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, filter jsonb,
  chunk_ids text[], among integer[] default null, also integer[] default null,
  typos boolean default false)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe rows 20
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_question constant ragdb_internal.question :=
    ragdb_internal.question(corpus, statistics, query, typos);
  v_scope ragdb_internal.scope;
begin
  v_scope := ragdb_internal.scope(corpus, query, filter, chunk_ids, among);
  if v_question.terms is null or v_scope.demands is null then
    return;
  end if;
  return query
    select r.* from ragdb_internal.rank_question(corpus, v_question, v_scope, k, also) r;
end $$;
comment on function ragdb_internal.rank_lexical(
  ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[], integer[], integer[], boolean) is
  'Returns at least the k best chunks of a corpus (under a filter and chunk ids, or among the '
  'given) by BM25 over the most the query could reach, and those of also, in no order, with the '
  'raw BM25 and the share of the query''s idf that the chunk has. Raises RG400, RG410.';
