-- A need that some more groups reach than have to be looked at is sought by counting: sums fall off
-- about exponentially, as fast as their standard deviation says. The best of these groups show what
-- k chunks score; after them only groups that reach as much are looked at. Chunks that the blocks
-- do not know (newer, or indexed anew), and those with a word that no block has, are candidates
-- anyway.
create or replace function ragdb_internal.find_in_blocks(
  corpus ragdb.corpora, state ragdb.block_states, sums vector[], most float8, loose tsquery,
    vector sparsevec,
  reach float8, k integer, out chunk_nos integer[], out scores float8[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_others integer[] := '{}';
  -- how many groups to find, and logarithms of such numbers
  v_fewest constant float8 := 1.2 * k;
  v_wanted constant float8 := 3 * k + 10;
  v_plenty constant float8 := 8 * k + 60;
  v_wanted_log constant float8 := ln(v_wanted);
  v_spread float8;
  v_low float8 := 0;
  v_low_log float8 := ln(state.last_chunk_no / 4 + v_wanted);
  v_high float8 := reach / most;
  v_high_log float8;
  v_guess float8;
  v_need float8;
  v_count bigint;
  v_bits bit varying[];
  v_group_nos integer[];
  v_bounds float8[];
  v_seen integer := 0;
  v_until integer;
  v_kth float8 := 0;
begin
  if loose is not null or state.last_chunk_no < corpus.next_chunk_no - 1
    or cardinality(state.stale_chunks) > 0 then
    select coalesce(array_agg(o.chunk_no order by o.score desc), '{}'),
      array_agg(o.score order by o.score desc)
    into v_others, scores
    from (
      select u.chunk_no, u.score
      from ragdb_internal.candidates_among(corpus.corpus_id, state.stale_chunks
        || array(select generate_series(state.last_chunk_no + 1, corpus.next_chunk_no - 1)), null,
          vector, null) u
      union
      select l.chunk_no, l.score from ragdb_internal.candidates(loose, vector, null) l) o;
    chunk_nos := v_others;
  end if;
  if sums is null then
    return;
  end if;
  v_spread := ragdb_internal.spread(sums[1]);
  v_guess := v_spread * (v_low_log - v_wanted_log);
  for v_i in 1..10 loop
    v_need := greatest(v_low + 0.1 * (v_high - v_low),
      least(v_high - 0.1 * (v_high - v_low), v_guess));
    select g.groups, g.bits into v_count, v_bits from ragdb_internal.groups_above(sums, v_need) g;
    exit when v_count between v_fewest and v_plenty or v_need * most < reach / 100;
    if v_count < v_fewest then
      v_high := v_need;
      v_high_log := ln(v_count + 0.5);
    else
      v_low := v_need;
      v_low_log := ln(v_count);
    end if;
    v_guess := case when v_high_log is null
      or v_low = 0 then v_need + v_spread * (ln(v_count + 0.5) - v_wanted_log)
      else v_low + (v_high - v_low) * (v_low_log - v_wanted_log) / (v_low_log - v_high_log) end;
  end loop;
  loop
    select g.group_nos, g.bounds into v_group_nos, v_bounds from ragdb_internal.best_groups(sums, v_bits) g;
    v_count := coalesce(cardinality(v_group_nos), 0);
    while v_seen < v_count and v_bounds[v_seen + 1] * most >= v_kth loop
      v_until := case when v_seen = 0 then least(v_count, 2 * k + 4)
        else (select count(*) from unnest(v_bounds) b where b * most >= v_kth) end;
      select array_agg(c.chunk_no order by c.score desc),
        array_agg(c.score order by c.score desc) into chunk_nos, scores
      from (
        select g.chunk_no, g.score
        from ragdb_internal.candidates_in_groups(corpus.corpus_id, v_group_nos[v_seen + 1 : v_until],
          vector) g
        where g.chunk_no <> all (v_others)
        union all
        select o.chunk_no, o.score from unnest(chunk_nos, scores) o (chunk_no, score)) c
      where c.score > 0 and c.score >= v_kth;
      v_seen := v_until;
      -- less by what float4 cannot tell apart, and by what its sums may fall short
      v_kth := coalesce(scores[k] * (1 - 2e-5::float8), 0);
    end loop;
    exit when v_need = 0 or v_kth >= v_need * most;
    v_need := case when v_kth > 0 then v_kth / most when v_need * most < reach / 100 then 0
      else v_need / 2 end;
    select g.bits into v_bits from ragdb_internal.groups_above(sums, v_need) g;
  end loop;
end $$;
comment on function ragdb_internal.find_in_blocks(ragdb.corpora, ragdb.block_states, vector[], float8,
  tsquery, sparsevec, float8, integer) is
  'Returns the k best chunks and what ties with the last by their scores in float4, best first: '
  'out of the groups of the blocks by their sums times most (null: there are none), of chunks that '
  'the blocks do not know and of those under the condition loose (null: none); reach is what a '
  'chunk can score at most.';
