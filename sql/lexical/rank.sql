-- Lexical ranking: candidates are found by their scores in float4, and these are scored exactly.

-- A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run or
-- lacks an embedding.
create type ragdb_internal.ranked as (
  corpus_id integer, chunk_no integer, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);

-- Returns a question of which only some alternatives are left.
create or replace function ragdb_internal.chosen_question(
  question ragdb_internal.question, alternatives integer[])
returns ragdb_internal.question
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  select array_agg(row(t.term_id, w.weight, w.weight * t.max_score / t.weight, t.in_blocks)
      ::ragdb_internal.question_term),
    string_agg(t.term_id || ':' || w.weight::real, ','),
    sum(w.weight * t.max_score / t.weight), bool_or(t.in_blocks)
  into question.terms, question.weights, question.max_score, question.in_blocks
  from unnest(question.terms) t
    join (
      select p.term_id, sum(p.weight) as weight from unnest(question.parts) p
      where p.alternative = any (chosen_question.alternatives)
      group by p.term_id) w on w.term_id = t.term_id;
  return question;
end $$;

-- Returns a list for each way to choose one alternative for each word of a question; null where
-- these are more than 50.
create or replace function ragdb_internal.choices(parts ragdb_internal.question_part[])
returns jsonb[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_choices jsonb[] := '{[]}';
  v_alternatives integer[];
begin
  for v_alternatives in
    select array_agg(distinct p.alternative) from unnest(parts) p group by p.asked
  loop
    if cardinality(v_choices) * cardinality(v_alternatives) > 50 then
      return null;
    end if;
    v_choices := array(select c || to_jsonb(a)
      from unnest(v_choices) c cross join unnest(v_alternatives) a);
  end loop;
  return v_choices;
end $$;

-- Returns among others the k best chunks of a corpus in a scope for a question where other terms
-- stand for some of its words. What ranks is among the best for some choice of alternatives, and to
-- find the best for one takes as long as without synonyms. Where there are too many choices, all
-- whose sum is no less than the lowest score of the scope are returned, which may be a large part
-- of the corpus.
create or replace function ragdb_internal.find_chosen(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_choices constant jsonb[] := ragdb_internal.choices(question.parts);
  v_choice jsonb;
  v_found integer[] := '{}';
begin
  if v_choices is null then
    return array(
      select f.chunk_no
      from unnest(ragdb_internal.find_best(corpus, question, scope, corpus.chunks + 1)) f
      where f.score >= scope.lowest);
  end if;
  foreach v_choice in array v_choices loop
    v_found := v_found || array(
      select f.chunk_no
      from unnest(ragdb_internal.find_best(corpus, ragdb_internal.chosen_question(question,
        array(select a::integer from jsonb_array_elements(v_choice) a)), scope, k)) f);
  end loop;
  return array(select distinct n from unnest(v_found) n);
end $$;

-- Returns some chunks of a corpus, those that score no less than the lowest (null: all), as they
-- rank for a question where other terms stand for some of its words.
create or replace function ragdb_internal.ranked_widened(
  corpus ragdb.corpora, question ragdb_internal.question, chunk_nos integer[], lowest float8)
returns ragdb_internal.ranked[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(corpus.corpus_id, b.chunk_no, s.score, s.score, null, null, null, b.bm25,
      least(1, b.matched / question.weight), true)::ragdb_internal.ranked
    from ragdb_internal.widened_bm25(corpus, chunk_nos, question.parts) b
      cross join lateral (
        select b.bm25 / (question.weight * (corpus.k1 + 1)) as score offset 0) s
    where lowest is null or b.bm25 >= lowest);
end $$;

-- Returns what ragdb_internal.rank_question does for a question where other terms stand for some of
-- its words. Found first are the best by the sum of all terms, which is no less than what counts.
-- Mostly no other sum reaches the k-th of them by what counts, and these are the best.
create or replace function ragdb_internal.rank_widened(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer,
  also integer[])
returns ragdb_internal.ranked[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_depth constant integer := 2 * k + 60;
  v_found constant ragdb_internal.candidate[] :=
    ragdb_internal.find_best(corpus, question, scope, v_depth);
  v_last constant float8 := v_found[v_depth].score;
  v_ranked ragdb_internal.ranked[] := ragdb_internal.ranked_widened(corpus, question,
    array(select f.chunk_no from unnest(v_found) f), null);
  v_kth constant float8 := (
    select r.bm25 from unnest(v_ranked) r order by r.bm25 desc offset k - 1 limit 1);
begin
  -- what ties with the last is found: half of what float4 cannot tell apart
  if v_kth <= (v_last + ragdb_internal.at_least(v_last)) / 2 then
    scope.lowest := ragdb_internal.at_least(v_kth, 2);
    v_ranked := ragdb_internal.ranked_widened(corpus, question,
      ragdb_internal.find_chosen(corpus, question, scope, k), v_kth);
  end if;
  return v_ranked || ragdb_internal.ranked_widened(corpus, question, array(
    select a from unnest(also) a
    where a not in (select r.chunk_no from unnest(v_ranked) r)), null);
end $$;

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
  elsif question.parts is not null then
    ranked := ragdb_internal.rank_widened(corpus, question, scope, k, also);
    return;
  end if;
  v_found := ragdb_internal.find_best(corpus, question, scope, k);
  -- what float4 puts clearly below the k-th cannot rank
  ranked := array(
    select row(corpus.corpus_id, b.chunk_no, b.score, b.score, null, null, null, b.bm25,
      least(1, b.matched / question.weight), true)::ragdb_internal.ranked
    from (
      select e.*, e.bm25 / (question.weight * (corpus.k1 + 1)) as score
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
