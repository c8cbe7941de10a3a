-- Search by blocks: the groups that may hold one of the k best chunks, and what those chunks score.
--
-- First a need is looked for, a sum that slightly more than k groups exceed. The best of these
-- groups show what the k-th chunk scores at least; after that only groups that can reach as much
-- are looked at. Chunks that the blocks do not know (newer ones, or indexed anew), and chunks that
-- the dictionary lists for a term, are candidates in any case.
-- Sums fall off about exponentially, at first as fast as their standard deviation says, then as the
-- counts of two needs say.
create or replace function ragdb_internal.wanted_need(
  sums vector[], highest float8, k integer, out need float8, out bits bit varying[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fewest constant float8 := 1.2 * k;
  v_wanted constant float8 := 3 * k + 10;
  v_most constant float8 := 8 * k + 60;
  v_wanted_log constant float8 := ln(v_wanted);
  v_spread constant float8 := ragdb_internal.typical_spread(sums);
  v_low float8 := 0;  -- more groups than wanted are over it, their logarithm
  v_low_log float8 := ln(1024 * cardinality(sums) + v_wanted);
  v_high float8 := highest;  -- fewer than wanted
  v_high_log float8;
  v_guess float8 := v_spread * (v_low_log - v_wanted_log);
  v_count bigint;
begin
  for v_try in 1..10 loop
    need := greatest(v_low + 0.1 * (v_high - v_low),
      least(v_high - 0.1 * (v_high - v_low), v_guess));
    select g.groups, g.bits into v_count, bits from ragdb_internal.groups_above(sums, need) g;
    exit when v_count between v_fewest and v_most or need < highest / 100;
    if v_count < v_fewest then
      v_high := need;
      v_high_log := ln(v_count + 0.5);
    else
      v_low := need;
      v_low_log := ln(v_count);
    end if;
    v_guess := case
      when v_high_log is null or v_low = 0 then need + v_spread * (ln(v_count + 0.5) - v_wanted_log)
      else v_low + (v_high - v_low) * (v_low_log - v_wanted_log) / (v_low_log - v_high_log)
    end;
  end loop;
end $$;
comment on function ragdb_internal.wanted_need(vector[], float8, integer) is
  'Returns a sum that a few more than k groups exceed, none of them over highest, and a bit for '
  'each group that does.';

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

create or replace function ragdb_internal.best_among(
  corpus_id integer, chunk_nos integer[], after integer, weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_looked_for integer := 2 * k + 32;
  v_found ragdb_internal.candidate[];
begin
  loop
    v_found := array(select c from ragdb_internal.candidates_among(best_among.corpus_id,
      best_among.chunk_nos, best_among.after, weights, v_looked_for) c order by c.score desc);
    exit when not ragdb_internal.cuts_ties(v_found, k, v_looked_for);
    v_looked_for := 8 * v_looked_for;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.best_among(integer, integer[], integer, sparsevec, integer) is
  'Returns the k best of the given chunks, and of those after a number (null: none), and what ties '
  'with the last, best first.';

create or replace function ragdb_internal.best_in_groups(
  corpus_id integer, block_nos integer[], sums vector[], highest float8, weights sparsevec,
  others ragdb_internal.candidate[], k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.candidate[] := others;
  v_other_nos constant integer[] := array(select o.chunk_no from unnest(others) o);
  v_group_nos integer[];
  v_bounds float8[];
  v_seen integer := 0;
  v_until integer;
  v_kth float8 := 0;
  v_wanted record := ragdb_internal.wanted_need(sums, highest, k);
begin
  loop
    select g.group_nos, g.bounds into v_group_nos, v_bounds
      from ragdb_internal.best_groups(block_nos, sums, v_wanted.bits) g;
    while v_bounds[v_seen + 1] >= v_kth loop
      v_until := case when v_seen = 0 then least(cardinality(v_group_nos), 2 * k + 4)
        else (select count(*) from unnest(v_bounds) b where b >= v_kth) end;
      v_found := array(
        select row(c.chunk_no, c.score)::ragdb_internal.candidate
        from (
          select g.chunk_no, g.score from ragdb_internal.candidates_in_groups(
            best_in_groups.corpus_id, v_group_nos[v_seen + 1 : v_until], weights) g
          where g.chunk_no <> all (v_other_nos)
          union all
          select f.chunk_no, f.score from unnest(v_found) f) c
        where c.score > 0 and c.score >= v_kth
        order by c.score desc);
      v_seen := v_until;
      -- less by what float4 cannot tell apart, and by what its sums may fall short
      v_kth := coalesce(ragdb_internal.at_least(v_found[k].score, 2), 0);
    end loop;
    exit when v_wanted.need = 0 or v_kth >= v_wanted.need;
    v_wanted.need := case when v_kth > 0 then v_kth
      when v_wanted.need < highest / 100 then 0 else v_wanted.need / 2 end;
    select g.bits into v_wanted.bits from ragdb_internal.groups_above(sums, v_wanted.need) g;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.best_in_groups(
  integer, integer[], vector[], float8, sparsevec, ragdb_internal.candidate[], integer) is
  'Returns the k best chunks and what ties with the last, best first, out of some others and of '
  'the groups of the blocks; none scores more than highest.';

-- A term that is in no blocks is listed, so the chunks that the blocks do not know matter only
-- where a term is in blocks.
create or replace function ragdb_internal.find_best(
  corpus ragdb.corpora, question ragdb_internal.question, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_state ragdb.block_states;
  v_listed integer[] := array(
    select n from unnest(question.terms) t cross join lateral unnest(t.chunk_nos) n);
  v_after integer;
  v_others ragdb_internal.candidate[];
  v_blocks record;
begin
  if (select bool_or(t.in_blocks) from unnest(question.terms) t) then
    select s.* into v_state from ragdb.block_states s where s.corpus_id = corpus.corpus_id;
    v_after := coalesce(v_state.last_chunk_no, 0);
    v_listed := array(select n from unnest(v_listed || v_state.stale_chunks) n where n <= v_after);
  end if;
  v_others := case when v_listed <> '{}' or v_after < corpus.next_chunk_no - 1
    then ragdb_internal.best_among(corpus.corpus_id, v_listed, v_after, v_weights, k)
    else '{}' end;
  if v_after > 0 then
    select b.* into v_blocks from ragdb_internal.block_sums(corpus.corpus_id, question.terms) b;
    if v_blocks.sums is not null then
      return ragdb_internal.best_in_groups(corpus.corpus_id, v_blocks.block_nos, v_blocks.sums,
        question.max_score, v_weights, v_others, k);
    end if;
  end if;
  return v_others;
end $$;
comment on function ragdb_internal.find_best(
  ragdb.corpora, ragdb_internal.question, integer) is
  'Returns the k best chunks of a corpus for a question and what ties with the last, best first.';
