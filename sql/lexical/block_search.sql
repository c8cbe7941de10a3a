-- Search by blocks: the groups that may hold one of the k best chunks, and what those chunks score.
--
-- First a need is looked for, a sum that slightly more than k groups exceed. The best of these
-- groups show what the k-th chunk scores at least; after that only groups that can reach as much
-- are looked at. Chunks that the blocks do not know (newer ones, or indexed anew), and chunks with
-- a term that has no blocks, are candidates in any case.
create or replace function ragdb_internal.candidates_outside_blocks(
  corpus ragdb.corpora, state ragdb.block_states, terms tsquery[], weights sparsevec)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_unknown integer[] := state.stale_chunks;
begin
  if state.last_chunk_no < corpus.next_chunk_no - 1 then
    v_unknown := v_unknown
      || array(select generate_series(state.last_chunk_no + 1, corpus.next_chunk_no - 1));
  end if;
  if terms is null and cardinality(v_unknown) = 0 then
    return '{}';
  end if;
  return array(
    select row(o.chunk_no, o.score)::ragdb_internal.candidate
    from (
      select u.chunk_no, u.score from ragdb_internal.candidates_among(
        corpus.corpus_id, v_unknown, null, weights, null) u
      union
      select c.chunk_no, c.score from unnest(terms) t (condition)
        cross join lateral ragdb_internal.candidates(t.condition, weights, null) c) o
    order by o.score desc);
end $$;
comment on function ragdb_internal.candidates_outside_blocks(
  ragdb.corpora, ragdb.block_states, tsquery[], sparsevec) is
  'Returns the chunks that the blocks of a corpus do not know, and those under one of some '
  'conditions (null: none), best first.';

-- Sums fall off about exponentially, at first as fast as their standard deviation says, then as the
-- counts of two needs say.
create or replace function ragdb_internal.wanted_need(
  sums vector[], groups integer, highest float8, k integer, out need float8,
  out bits bit varying[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fewest constant float8 := 1.2 * k;
  v_wanted constant float8 := 3 * k + 10;
  v_most constant float8 := 8 * k + 60;
  v_wanted_log constant float8 := ln(v_wanted);
  v_spread constant float8 := ragdb_internal.spread(sums[1]);
  v_low float8 := 0;  -- more groups than wanted are over it, their logarithm
  v_low_log float8 := ln(groups + v_wanted);
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
comment on function ragdb_internal.wanted_need(vector[], integer, float8, integer) is
  'Returns a sum that a few more than k of some number of groups exceed, none of them over '
  'highest, and a bit for each group that does.';

create or replace function ragdb_internal.best_in_groups(
  corpus_id integer, sums vector[], groups integer, unit_score float8, max_score float8,
  weights sparsevec, others ragdb_internal.candidate[], k integer)
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
  v_wanted record := ragdb_internal.wanted_need(sums, groups, max_score / unit_score, k);
  v_most float8 := v_wanted.need * unit_score;  -- what a chunk of no wanted group scores at most
begin
  loop
    select g.group_nos, g.bounds into v_group_nos, v_bounds
      from ragdb_internal.best_groups(sums, v_wanted.bits) g;
    while v_bounds[v_seen + 1] * unit_score >= v_kth loop
      v_until := case when v_seen = 0 then least(cardinality(v_group_nos), 2 * k + 4)
        else (select count(*) from unnest(v_bounds) b where b * unit_score >= v_kth) end;
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
    exit when v_wanted.need = 0 or v_kth >= v_most;
    -- a quotient times its divisor may be more than it was: v_most is not worked out of it
    v_most := case when v_kth > 0 then v_kth when v_most < max_score / 100 then 0
      else v_most / 2 end;
    v_wanted.need := v_most / unit_score;
    select g.bits into v_wanted.bits from ragdb_internal.groups_above(sums, v_wanted.need) g;
  end loop;
  return v_found;
end $$;
comment on function ragdb_internal.best_in_groups(
  integer, vector[], integer, float8, float8, sparsevec, ragdb_internal.candidate[], integer) is
  'Returns the k best chunks and what ties with the last, best first, out of some others and of '
  'the groups of the blocks; a sum of 1 scores at most unit_score, a chunk at most max_score.';

create or replace function ragdb_internal.find_in_blocks(
  corpus ragdb.corpora, question ragdb_internal.question, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_state ragdb.block_states;
  v_blocks record;
  v_others ragdb_internal.candidate[];
begin
  select s.* into v_state from ragdb.block_states s
    where s.corpus_id = corpus.corpus_id and s.last_chunk_no >= corpus.next_chunk_no - 4096;
  if not found then
    return null;
  end if;
  v_blocks := ragdb_internal.block_question(corpus.corpus_id, question.terms);
  v_others := ragdb_internal.candidates_outside_blocks(
    corpus, v_state, v_blocks.outside, v_weights);
  if v_blocks.levels is null then
    return v_others;
  end if;
  return ragdb_internal.best_in_groups(corpus.corpus_id,
    ragdb_internal.block_sums(corpus.corpus_id, v_state.last_chunk_no, v_blocks.levels),
    v_state.last_chunk_no / 4, v_blocks.unit_score, question.max_score, v_weights, v_others,
    k);
end $$;
comment on function ragdb_internal.find_in_blocks(
  ragdb.corpora, ragdb_internal.question, integer) is
  'Returns the k best chunks of a corpus for a question and what ties with the last, best first, '
  'by the blocks of the corpus; null unless they know nearly all of its chunks.';
