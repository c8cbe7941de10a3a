-- What a question scores at most in every group of chunks: a sum of the vectors of its terms.
--
-- PL/pgSQL takes the array of array_append as it is, and one of array_agg it copies once more: the
-- sums of a million chunks are a megabyte.

-- Returns some vectors as an array.
create or replace aggregate ragdb_internal.gathered(vector) (
  sfunc = pg_catalog.array_append, stype = vector[], parallel = safe);

-- Returns the blocks of a corpus that have some terms, for each the sums, in float4, of what its
-- groups score, and by what factor and by how much a group scores more than its sum at most.
-- pgvector adds several numbers with one instruction. After the sums, only a few groups are left
-- whose chunks have to be looked at (block-max pruning: Mallia, Suel and Tonellotto, "Faster
-- Learned Sparse Retrieval with Block-Max Pruning", SIGIR 2024). To multiply a vector takes three
-- times as long as to add it. So the scores of a term are taken as they are while it weighs about
-- what it does in the block, and twice for a word that a query has twice. Where it weighs more by
-- now, sums are too small: a group scores at most `short` times its sum, the largest ratio of a
-- term's weights, and at most `lack` more than its sum, what the most that each term scores has
-- grown by. Mostly one of several terms has grown, and `lack` says less than `short`. The blocks
-- come in any order: to sort is to hold what is to be summed, a megabyte, instead of the sums
-- (callers set enable_sort = off).
create or replace function ragdb_internal.block_sums(
  corpus_id integer, terms ragdb_internal.question_term[])
returns table (block_nos integer[], sums vector[], short float8, lack float8)
language sql stable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(b.block_no), ragdb_internal.gathered(b.sums),
    max(b.short), max(b.lack)
  from (
    select t.block_no, sum(case t.times when 1 then t.scores when 2 then t.scores + t.scores
        else ragdb_internal.scaled(t.scores, t.ratio) end) as sums,
      max(case when t.times > 0 then t.ratio / t.times else 1 end) as short,
      sum(case when t.times > 0 then greatest(0, 1 - t.times / t.ratio) * w.max_score
        else 0 end) as lack
    from (
        select (u.term).term_id, (u.term).weight, (u.term).max_score
        from (select pg_catalog.unnest(block_sums.terms) as term) u where (u.term).in_blocks
        offset 0) w
      cross join lateral (
        select k.block_no, k.ratio, k.scores, case
          when ragdb_internal.is_near_one(k.ratio) then 1
          when ragdb_internal.is_near_one(k.ratio / 2) then 2 else 0 end as times
        from (
          select r.block_no, w.weight / r.weight as ratio,
            ragdb_internal.densely(r.scores, r.dense_scores) as scores
          from ragdb.term_blocks r
          where r.corpus_id = block_sums.corpus_id and r.term_id = w.term_id offset 0) k
        offset 0) t
    group by t.block_no) b;
end;

-- Returns the least sum of a group that may score so much, by how short sums are.
create or replace function ragdb_internal.least_sum(score float8, short float8, lack float8)
returns float8
language sql immutable parallel safe
return greatest(least_sum.score / least_sum.short, least_sum.score - least_sum.lack);

-- Counts the groups whose sum is over need and that masks have (null: all), and returns a bit for
-- each, block by block.
create or replace function ragdb_internal.groups_above(
  sums vector[], masks bit varying[], need float8)
returns table (groups bigint, bits bit varying[])
language sql immutable parallel safe rows 1
begin atomic
  select sum(pg_catalog.bit_count(b.bits))::bigint, pg_catalog.array_agg(b.bits order by b.n)
  from (
    select n.n, case when groups_above.masks is null
        then s.bits else s.bits & groups_above.masks[n.n] end as bits
    from (select ragdb_internal.even(groups_above.need,
          ragdb_internal.unit_groups() * ragdb_internal.block_units()) as need offset 0) e
      cross join (select pg_catalog.generate_subscripts(groups_above.sums, 1) as n) n
      cross join lateral (
        select binary_quantize(v.sums - case
          when vector_dims(v.sums) = vector_dims(e.need) then e.need
          else ragdb_internal.first(e.need, vector_dims(v.sums)) end)::bit varying as bits
        from (select groups_above.sums[n.n] as sums offset 0) v) s
    offset 0) b;
end;

-- Returns the groups that have a bit, best first, and the sum of each, negated. Negated sums
-- ascend, so that width_bucket() counts those up to a bar without a statement.
create or replace function ragdb_internal.best_groups(
  block_nos integer[], sums vector[], bits bit varying[])
returns table (group_nos integer[], negated float8[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(g.group_no order by g.negated, g.group_no),
    pg_catalog.array_agg(g.negated order by g.negated, g.group_no)
  from (
    select ragdb_internal.unit_groups() * best_groups.block_nos[b.n] + p.place - 1 as group_no,
      -vector_norm(subvector(best_groups.sums[b.n], p.place, 1)) as negated
    from (
        select pg_catalog.unnest(best_groups.bits) as bits,
          pg_catalog.generate_subscripts(best_groups.bits, 1) as n) b
      cross join lateral ragdb_internal.set_bits(b.bits) p
    where pg_catalog.bit_count(b.bits) > 0) g;
end;

-- Returns a sum that a few more than k groups that masks have (null: all) exceed, none of them over
-- highest, or lowest where fewer do, and a bit for each group that does. Sums fall off about
-- exponentially, at first as fast as their standard deviation says, then as the counts of two needs
-- say.
create or replace function ragdb_internal.wanted_need(
  sums vector[], masks bit varying[], lowest float8, highest float8, k integer, out need float8,
  out bits bit varying[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fewest constant float8 := 1.2::float8 * k;
  v_wanted constant float8 := 2 * k + 10;
  v_most constant float8 := 8 * k + 60;
  v_wanted_log constant float8 := ln(v_wanted);
  v_spread float8;
  v_low float8 := lowest;  -- more groups than wanted are over it, their logarithm
  v_low_log float8;
  v_high float8 := highest;  -- fewer than wanted
  v_high_log float8;
  v_guess float8;
  v_count bigint;
begin
  select s.groups, s.spread into v_count, v_spread from ragdb_internal.shape(sums, masks) s;
  v_guess := case when v_count > v_most
    then v_spread * (ln(v_count + v_wanted) - v_wanted_log) else lowest end;
  for v_try in 1..10 loop
    -- nearly all groups exceed 0: a bad guess leads half the way there
    need := case when v_guess <= lowest and (lowest > 0 or v_high_log is null) then lowest
      else greatest(v_low + (v_high - v_low) * case when v_low_log is not null then 0.1::float8
          when v_high_log is not null then 0.5 else 0 end,
        least(v_high - 0.1 * (v_high - v_low), v_guess)) end;
    select g.groups, g.bits into v_count, bits
      from ragdb_internal.groups_above(sums, masks, need) g;
    exit when v_count between v_fewest and v_most or need = lowest and v_count < v_fewest
      or need < highest / 100;
    if v_count < v_fewest then
      v_high := need;
      v_high_log := ln(v_count + 0.5::float8);
    else
      v_low := need;
      v_low_log := ln(v_count);
    end if;
    v_guess := case
      when v_high_log is null or v_low_log is null
        then need + v_spread * (ln(v_count + 0.5::float8) - v_wanted_log)
      else v_low + (v_high - v_low) * (v_low_log - v_wanted_log) / (v_low_log - v_high_log)
    end;
  end loop;
end $$;

-- Returns what sums have to exceed after a need, and a bit for each group that does: the score of
-- the k-th chunk, or where it is not known (0), what a few more than k groups exceed. Where fewer
-- than k pass, more groups are wanted; at last all that have a term.
create or replace function ragdb_internal.next_need(
  sums vector[], masks bit varying[], highest float8, k integer, kth float8,
  inout need float8, out bits bit varying[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant float8 := need;
begin
  if kth > 0 then
    need := kth;
  else
    select w.need, w.bits into need, bits
      from ragdb_internal.wanted_need(sums, masks, 0, highest, k) w;
    if need < v_last then
      return;
    end if;
    need := case when v_last < highest / 100 then 0 else v_last / 2 end;
  end if;
  select g.bits into bits from ragdb_internal.groups_above(sums, masks, need) g;
end $$;
