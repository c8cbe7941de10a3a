-- Search by a tsquery over the terms: by all of their postings where these are few, else by bounds,
-- a condition that lets through only the chunks that can reach a need.
--
-- The k-th best score is guessed first. Every chunk with a score of at least the need is looked at,
-- and the k-th score that is found is a lower bound of the true one: so what follows a guess that
-- was too high is right.

-- The condition is exact down to `depth` terms; below that it is "one of the terms without which
-- the rest cannot". GIN evaluates the tree at every posting that it cannot skip, so a small tree
-- that lets some more chunks through beats the exact one (measured: three levels).
create or replace function ragdb_internal.bound_condition(
  tokens text[], bounds float8[], rests float8[], place integer, need float8, depth integer)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last integer := cardinality(tokens);
  v_without text;
  v_with text;
begin
  if need <= 0 then
    return '';
  elsif rests[place] < need then
    return null;
  elsif depth = 0 or place = v_last then
    while rests[v_last] < need loop
      v_last := v_last - 1;
    end loop;
    return '(' || array_to_string(tokens[place:v_last], '|') || ')';
  end if;
  v_without := ragdb_internal.bound_condition(tokens, bounds, rests, place + 1, need, depth - 1);
  v_with := ragdb_internal.bound_condition(
    tokens, bounds, rests, place + 1, need - bounds[place], depth - 1);
  if v_with = '' then
    v_with := tokens[place];
  elsif v_with = v_without then
    return v_with;
  else
    v_with := '(' || tokens[place] || '&' || v_with || ')';
  end if;
  return case
    when v_without is null then v_with
    when v_with is null then v_without
    else '(' || v_with || '|' || v_without || ')'
  end;
end $$;
comment on function ragdb_internal.bound_condition(
  text[], float8[], float8[], integer, float8, integer) is
  'Returns a tsquery, as text, that is true of every chunk whose terms, by their bounds from place '
  'on, can reach need; rests[i] is the sum of bounds from i on. Empty is always true, null never.';

create or replace function ragdb_internal.cuts_ties(
  found ragdb_internal.candidate[], k integer, looked_for integer)
returns boolean
language sql immutable parallel safe
return pg_catalog.cardinality(cuts_ties.found) = cuts_ties.looked_for
  and (cuts_ties.found[cuts_ties.looked_for]).score
    >= ragdb_internal.at_least((cuts_ties.found[cuts_ties.k]).score);
comment on function ragdb_internal.cuts_ties(ragdb_internal.candidate[], integer, integer) is
  'Whether a list of candidates, best first, ends where looking for more of them would find more '
  'that may tie with the k-th.';

create type ragdb_internal.restriction as (
  joins text, conditions jsonb[], chunk_nos integer[]);
comment on type ragdb_internal.restriction is
  'What chunks must meet besides words: joins and a where clause for rows x of '
  'ragdb.chunk_lexemes, with the conditions of a filter as $1 and a list of chunks as $2.';

create or replace function ragdb_internal.candidates_under(
  restriction ragdb_internal.restriction, condition tsquery, weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.candidate[];
begin
  execute 'select array(select row(q.chunk_no, q.score)::ragdb_internal.candidate from ('
    'select x.chunk_no, ragdb_internal.inner_product(x.impacts, $4) as score'
    ' from ragdb.chunk_lexemes x' || restriction.joins
    || ' and x.lexemes @@ $3 order by 2 desc limit $5) q order by q.score desc)'
    into v_found using restriction.conditions, restriction.chunk_nos, condition, weights, k;
  return v_found;
end $$;
comment on function ragdb_internal.candidates_under(
  ragdb_internal.restriction, tsquery, sparsevec, integer) is
  'Returns the k best chunks under a condition and a restriction, best first.';

create or replace function ragdb_internal.best_under(
  condition tsquery, restriction ragdb_internal.restriction, weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_looked_for integer := 2 * k + 32;
  v_found ragdb_internal.candidate[];
begin
  loop
    if restriction is null then
      v_found := array(select c from ragdb_internal.candidates(condition, weights, v_looked_for) c
        order by c.score desc);
    else
      v_found := ragdb_internal.candidates_under(restriction, condition, weights, v_looked_for);
    end if;
    exit when not ragdb_internal.cuts_ties(v_found, k, v_looked_for);
    v_looked_for := 8 * v_looked_for;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.best_under(
  tsquery, ragdb_internal.restriction, sparsevec, integer) is
  'Returns the k best chunks under a condition and a restriction (null: none), and what ties with '
  'the last, best first.';

create or replace function ragdb_internal.find_by_words(
  corpus_id integer, question ragdb_internal.question, demand text,
  restriction ragdb_internal.restriction, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_any constant text := (
    select string_agg(ragdb_internal.token(find_by_words.corpus_id, t.term_id), '|')
    from unnest(question.terms) t);
begin
  return ragdb_internal.best_under(('(' || v_any || ')' || demand)::tsquery, restriction,
    ragdb_internal.sparse(question.weights), k);
end $$;
comment on function ragdb_internal.find_by_words(
  integer, ragdb_internal.question, text, ragdb_internal.restriction, integer) is
  'Returns the k best chunks for a question that meet a demand (the rest of a tsquery) and a '
  'restriction (null: none), and what ties with the last, best first, by all of its postings.';

create or replace function ragdb_internal.by_bound(
  corpus_id integer, terms ragdb_internal.question_term[],
  out tokens text[], out bounds float8[], out rests float8[])
language sql stable parallel safe
begin atomic
  select pg_catalog.array_agg(ragdb_internal.token(by_bound.corpus_id, t.term_id)
      order by t.max_score desc, t.place),
    pg_catalog.array_agg(t.max_score order by t.max_score desc, t.place),
    pg_catalog.array_agg(t.rest order by t.max_score desc, t.place)
  from (
    select u.*, sum(u.max_score) over (order by u.max_score, u.place desc) as rest
    from pg_catalog.unnest(by_bound.terms) with ordinality
      u (term_id, weight, max_score, block_weight, place)) t;
end;
comment on function ragdb_internal.by_bound(integer, ragdb_internal.question_term[]) is
  'Returns the terms of a question as tokens, by how much they add to a score at most, that most, '
  'and what each adds at most with all that follow it.';

create or replace function ragdb_internal.find_by_bounds(
  corpus_id integer, question ragdb_internal.question, demand text,
  restriction ragdb_internal.restriction, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_tokens text[];
  v_bounds float8[];
  v_rests float8[];
  v_share float8 := 0.65;  -- what the k-th score is guessed to be of the highest
  v_need float8 := v_share * question.max_score;
  v_condition text;
  v_found ragdb_internal.candidate[];
  v_kth float8;
begin
  select b.tokens, b.bounds, b.rests into v_tokens, v_bounds, v_rests
    from ragdb_internal.by_bound(find_by_bounds.corpus_id, question.terms) b;
  loop
    v_condition := ragdb_internal.bound_condition(v_tokens, v_bounds, v_rests, 1, v_need,
      case when cardinality(v_tokens) > 16 then 2 else 3 end);
    if v_condition = '' then
      v_condition := '(' || array_to_string(v_tokens, '|') || ')';
    end if;
    v_found := ragdb_internal.best_under(
      (v_condition || demand)::tsquery, restriction, v_weights, k);
    v_kth := v_found[k].score;
    exit when v_need = 0 or ragdb_internal.at_least(v_kth) >= v_need;
    if v_kth is not null then
      v_need := ragdb_internal.at_least(v_kth, 2);
    else
      v_share := 0.65 * v_share;
      v_need := case when v_share < 0.1 then 0
        else least(0.65 * v_need, v_share * question.max_score) end;
    end if;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.find_by_bounds(
  integer, ragdb_internal.question, text, ragdb_internal.restriction, integer) is
  'Returns the k best chunks for a question that meet a demand (the rest of a tsquery) and a '
  'restriction (null: none), and what ties with the last, best first.';
