-- Lexical ranking: a strategy finds candidates by their scores in float4, and these are scored
-- exactly.
--
-- Where the chunks to look at are listed, all of them are scored (find_among). Where the corpus has
-- blocks that know nearly all of its chunks, and words are all that counts, the blocks say where to
-- look (find_in_blocks). Few postings are all scored (find_by_words). Otherwise a tsquery lets
-- through what can reach the k-th score (find_by_bounds); where the terms are too many for a
-- tsquery, every chunk is scored.
create or replace function ragdb_internal.find_among(
  corpus_id integer, question ragdb_internal.question, demand text, chunk_nos integer[], k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_demand constant tsquery := nullif(substr(demand, 2), '');
  v_looked_for integer := 2 * k + 32;
  v_found ragdb_internal.candidate[];
begin
  loop
    v_found := array(select c from ragdb_internal.candidates_among(find_among.corpus_id,
      find_among.chunk_nos, v_demand, v_weights, v_looked_for) c order by c.score desc);
    exit when not ragdb_internal.cuts_ties(v_found, k, v_looked_for);
    v_looked_for := 8 * v_looked_for;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.find_among(
  integer, ragdb_internal.question, text, integer[], integer) is
  'Returns the k best of the given chunks for a question that meet a demand (the rest of a '
  'tsquery), and what ties with the last, best first.';

create type ragdb_internal.scope as (
  chunk_nos integer[], restriction ragdb_internal.restriction, demand text);
comment on type ragdb_internal.scope is
  'The chunks that may be ranked: those of a list (null: all of the corpus) that meet a '
  'restriction (null: none) and a demand, the rest of a tsquery (null: no chunk meets it).';

create or replace function ragdb_internal.is_long(question ragdb_internal.question)
returns boolean
language sql immutable parallel safe
return coalesce(pg_catalog.cardinality((is_long.question).terms) > 256, false);
comment on function ragdb_internal.is_long(ragdb_internal.question) is
  'Whether a question has so many terms that a condition of them costs more than to score chunks.';

-- Of many chunks it is cheaper to look at those with the right words than at each one. When they
-- are listed already, that is so only of many more; when the words are many, of none. What phrases
-- and +words leave is mostly little.
create or replace function ragdb_internal.scope(
  corpus ragdb.corpora, query text, question ragdb_internal.question, filter jsonb,
  chunk_ids text[], among integer[])
returns ragdb_internal.scope
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_long constant boolean := ragdb_internal.is_long(question);
  v_most constant integer := case when chunk_ids is null and not v_is_long then 5001 end;
  v_scope ragdb_internal.scope;
  v_conditions jsonb[];
  v_demanded integer[];
begin
  v_scope.demand := ragdb_internal.query_condition(corpus, query);
  if filter is not null or chunk_ids is not null then
    v_scope.chunk_nos := ragdb_internal.filtered_chunks(
      corpus.corpus_id, filter, chunk_ids, v_most);
    if cardinality(v_scope.chunk_nos) = v_most then
      v_scope.chunk_nos := null;
      v_conditions := array(select to_jsonb(f) from ragdb_internal.filter_conditions(filter) f);
      v_scope.restriction := row(ragdb_internal.filter_joins(v_conditions), v_conditions, null);
    end if;
  elsif cardinality(among) > 20000 and not v_is_long then
    v_scope.restriction := row(' where x.chunk_no = any ($2)', null, among);
  else
    v_scope.chunk_nos := among;
  end if;
  if v_scope.demand like '%&(%' and v_scope.chunk_nos is null and v_scope.restriction is null
    and question.postings > 400
  then
    v_demanded := ragdb_internal.chunks_meeting(substr(v_scope.demand, 2)::tsquery, 5001);
    if cardinality(v_demanded) <= 5000 then
      v_scope.chunk_nos := v_demanded;
      v_scope.demand := '';
    end if;
  end if;
  return v_scope;
end $$;
comment on function ragdb_internal.scope(
  ragdb.corpora, text, ragdb_internal.question, jsonb, text[], integer[]) is
  'Returns which chunks of a corpus may be ranked for a query, under its clauses, a filter and '
  'chunk ids, or among the given (null: all). Raises RG400, RG410.';

create or replace function ragdb_internal.find_candidates(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.candidate[];
begin
  if scope.chunk_nos is not null then
    return ragdb_internal.find_among(
      corpus.corpus_id, question, scope.demand, scope.chunk_nos, k);
  end if;
  if question.postings > 400 and scope.restriction is null and scope.demand = '' then
    v_found := ragdb_internal.find_in_blocks(corpus, question, k);
    if v_found is not null then
      return v_found;
    end if;
  end if;
  if ragdb_internal.is_long(question) then
    return ragdb_internal.find_among(corpus.corpus_id, question, scope.demand,
      array(select x.chunk_no from ragdb.chunk_lexemes x where x.corpus_id = corpus.corpus_id), k);
  elsif question.postings <= 400 then
    return ragdb_internal.find_by_words(
      corpus.corpus_id, question, scope.demand, scope.restriction, k);
  end if;
  return ragdb_internal.find_by_bounds(
    corpus.corpus_id, question, scope.demand, scope.restriction, k);
end $$;
comment on function ragdb_internal.find_candidates(
  ragdb.corpora, ragdb_internal.question, ragdb_internal.scope, integer) is
  'Chooses how to find the k best chunks of a corpus for a question in a scope, and returns them '
  'and what ties with the last, best first.';

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
  v_scope := ragdb_internal.scope(corpus, query, v_question, filter, chunk_ids, among);
  if v_question.terms is null or v_scope.demand is null then
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
