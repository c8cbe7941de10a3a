-- Search among listed chunks: each is looked at, or, of many, first those whose groups may score
-- most, until no other can rank.

-- Whether a list of candidates, best first, ends where looking for more of them would find more
-- that may be better than, or tie with, the k-th of those that pass.
create or replace function ragdb_internal.cuts_ties(
  found ragdb_internal.candidate[], passing ragdb_internal.candidate[], k integer,
  looked_for integer)
returns boolean
language sql immutable parallel safe
return pg_catalog.cardinality(cuts_ties.found) = cuts_ties.looked_for
  and coalesce((cuts_ties.found[cuts_ties.looked_for]).score
    >= ragdb_internal.at_least((cuts_ties.passing[cuts_ties.k]).score), true);

-- Returns the k best in a scope of the given chunks, and of those after a number (null: none), and
-- what ties with the last, best first.
create or replace function ragdb_internal.best_among(
  corpus ragdb.corpora, scope ragdb_internal.scope, chunk_nos integer[], after integer,
  weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  -- to look for candidates again is to look into the same texts again
  v_looked_for integer := case when cardinality(scope.demands) > 0 and scope.restriction is null
    and ragdb_internal.has_phrases(scope) then 1000000 else 2 * k + 32 end;
  v_found ragdb_internal.candidate[];
  v_passing ragdb_internal.candidate[];
begin
  loop
    v_found := array(
      select c from ragdb_internal.candidates_among(corpus.corpus_id, best_among.chunk_nos,
        best_among.after, weights, scope.patterns, scope.orders, v_looked_for) c
      order by c.score desc);
    v_passing := case when ragdb_internal.is_free(scope) then v_found
      else ragdb_internal.passing(corpus, scope, v_found, k) end;
    exit when not ragdb_internal.cuts_ties(v_found, v_passing, k, v_looked_for);
    v_looked_for := 8 * v_looked_for;
  end loop;
  return v_passing;
end $$;

-- Returns those of some chunks that may score, those first whose group has the largest sum, and
-- that sum, negated: of blocks, by number, and without bound what comes after a number and some
-- others.
create or replace function ragdb_internal.by_bound(
  block_nos integer[], sums vector[], chunk_nos integer[], after integer, unbounded integer[])
returns table (chunk_nos integer[], negated float8[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(b.chunk_no order by b.negated, b.chunk_no),
    pg_catalog.array_agg(b.negated order by b.negated, b.chunk_no)
  from (
    select p.chunk_no, case
      when p.chunk_no > by_bound.after
        or p.chunk_no in (select pg_catalog.unnest(by_bound.unbounded)) then '-Infinity'
      when p.place <= vector_dims(by_bound.sums[p.n])
        then -vector_norm(subvector(by_bound.sums[p.n], p.place, 1)) end as negated
    from (
      select g.chunk_no, g.n,
        g.group_no - ragdb_internal.unit_groups() * by_bound.block_nos[g.n] + 1 as place
      from (
        select u.chunk_no, (u.chunk_no - 1) / 4 as group_no, pg_catalog.width_bucket(
          (u.chunk_no - 1) / ragdb_internal.unit_chunks(), by_bound.block_nos) as n
        from pg_catalog.unnest(by_bound.chunk_nos) u (chunk_no)
        offset 0) g
      offset 0) p
    offset 0) b
  where b.negated < 0;
end;

-- Returns the k best of some chunks and what ties with the last, best first: none scores more than
-- short times its sum, or than lack and its sum; those with the largest sums, which are negated,
-- come first.
create or replace function ragdb_internal.best_by_bound(
  corpus_id integer, chunk_nos integer[], negated float8[], short float8, lack float8,
  weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.candidate[] := '{}';
  v_seen integer := 0;
  v_until integer;
  v_kth float8 := 0;
  v_least float8 := 0;
begin
  while negated[v_seen + 1] <= -v_least loop
    -- each batch raises the bar for the next one
    v_until := least(3 * v_seen + case when v_seen = 0 then 2 * k + 4 else 0 end,
      width_bucket(-v_least, negated));
    v_found := array(
      select row(c.chunk_no, c.score)::ragdb_internal.candidate
      from (
        select a.chunk_no, a.score from ragdb_internal.candidates_among(
          best_by_bound.corpus_id, best_by_bound.chunk_nos[v_seen + 1 : v_until], null, weights,
          null, null, null) a
        union all
        select f.chunk_no, f.score from unnest(v_found) f) c
      where c.score >= v_kth
      order by c.score desc);
    v_seen := v_until;
    -- less by what float4 cannot tell apart, and by what its sums may fall short
    v_kth := coalesce(ragdb_internal.at_least(v_found[k].score, 2), 0);
    v_least := ragdb_internal.least_sum(v_kth, short, lack);
  end loop;
  return v_found;
end $$;

-- Returns the k best of some chunks for some terms and what ties with the last, best first, looking
-- at those that may rank as the blocks say, and at those that these do not know: by their state, or
-- listed for a term. Not in best_listed: a setting takes as long as the rest of it.
create or replace function ragdb_internal.listed_in_blocks(
  corpus ragdb.corpora, terms ragdb_internal.question_term[], chunk_nos integer[],
  state ragdb.block_states, listed integer[], weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
begin
  return (
    select ragdb_internal.best_by_bound(
      corpus.corpus_id, o.chunk_nos, o.negated, coalesce(s.short, 1), coalesce(s.lack, 0),
      weights, k)
    from ragdb_internal.block_sums(corpus.corpus_id, terms) s
      cross join lateral (
        select array_agg(u.block_no order by u.block_no) as block_nos,
          array_agg(u.sums order by u.block_no) as sums
        from unnest(s.block_nos, s.sums) u (block_no, sums)) b
      cross join lateral ragdb_internal.by_bound(b.block_nos, b.sums, listed_in_blocks.chunk_nos,
        coalesce(state.last_chunk_no, 0), state.stale_chunks || listed) o);
end $$;

-- Returns the k best for a question of the chunks that a scope lists and what ties with the last,
-- best first. To sum what all groups of a corpus score takes as long as to look at one in 200 of
-- its chunks.
create or replace function ragdb_internal.best_listed(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope,
  weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if question.in_blocks and ragdb_internal.is_free(scope)
    and cardinality(scope.chunk_nos) > greatest(500, corpus.chunks / 200)
  then
    return ragdb_internal.listed_in_blocks(corpus, question.terms, scope.chunk_nos,
      (select s from ragdb.block_states s where s.corpus_id = corpus.corpus_id),
      ragdb_internal.listed_numbers(question.listed), weights, k);
  end if;
  return ragdb_internal.best_among(corpus, scope, scope.chunk_nos, null, weights, k);
end $$;
