-- Search by blocks: the groups that may hold one of the k best chunks, and what those chunks score.
--
-- First a need is looked for, a sum that slightly more than k groups exceed. The best of these
-- groups show what the k-th chunk scores at least; after that only groups that can reach as much
-- are looked at. Chunks that the blocks do not know (newer ones, or indexed anew), and chunks that
-- the dictionary lists for a term, are candidates in any case.

-- Returns those of the chunks of some groups, but others, that score at least so much and are in a
-- scope, best first; once k are, those that rank below are left out.
create or replace function ragdb_internal.passing_in_groups(
  corpus ragdb.corpora, scope ragdb_internal.scope, group_nos integer[], other_nos integer[],
  weights sparsevec, kth float8, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.passing(corpus, scope, array(
    select row(g.chunk_no, g.score)::ragdb_internal.candidate
    from ragdb_internal.candidates_in_groups(
      corpus.corpus_id, passing_in_groups.group_nos, weights, scope.patterns, scope.orders) g
    where g.score > 0 and g.score >= passing_in_groups.kth and g.chunk_no <> all (other_nos)
    order by g.score desc), k);
end $$;

-- Returns the k best chunks in a scope and what ties with the last, best first, out of some others
-- and of the groups of the blocks that masks have (null: all), none of which scores more than short
-- times its sum, than lack and its sum, or than highest; null where it would look at so many that
-- to list what a filter leaves takes less time.
create or replace function ragdb_internal.best_in_groups(
  corpus ragdb.corpora, scope ragdb_internal.scope, block_nos integer[], sums vector[],
  masks bit varying[], short float8, lack float8, highest float8, weights sparsevec,
  others ragdb_internal.candidate[], k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_free constant boolean := ragdb_internal.is_free(scope);
  v_other_nos integer[] := '{}';
  v_found ragdb_internal.candidate[] := others;
  v_passing ragdb_internal.candidate[];
  v_group_nos integer[];
  v_nos integer[];
  v_negated float8[];  -- the sums of the groups
  v_seen integer := 0;
  v_until integer;
  v_patience constant integer :=
    case when not v_is_free then ragdb_internal.patience(corpus, scope.restriction) end;
  -- less by what float4 cannot tell apart, and by what its sums may fall short
  v_kth float8 := greatest(ragdb_internal.at_least(others[k].score, 2), scope.lowest, 0);
  v_least float8 := ragdb_internal.least_sum(v_kth, short, lack);
  v_highest constant float8 := highest / short;
  -- who looks for all chunks looks for more than an integer holds
  v_looked_for integer := least(100000000, k::bigint * coalesce(
    1 + corpus.chunks / 2 / ragdb_internal.restricted_count(scope.restriction),
    case when v_is_free then 1 else 2 end));
  v_wanted record := ragdb_internal.wanted_need(sums, masks, v_least, v_highest, v_looked_for);
begin
  if others <> '{}' then
    v_other_nos := array(select o.chunk_no from unnest(others) o);
  end if;
  loop
    select g.group_nos, g.negated into v_group_nos, v_negated
      from ragdb_internal.best_groups(block_nos, sums, v_wanted.bits) g;
    while v_negated[v_seen + 1] <= -v_least loop
      -- each batch raises the bar for the next one
      v_until := least(2 * v_seen + case when v_seen = 0 then 2 * v_looked_for + 4 else 0 end,
        width_bucket(-v_least, v_negated));
      v_nos := v_group_nos[v_seen + 1 : v_until];
      -- what is looked at by then, or until k have passed where they pass as often as until now
      if 4 * greatest(v_until, v_seen * k::float8 / greatest(cardinality(v_found), 1))
        > v_patience
      then
        return null;
      end if;
      if not v_is_free then
        v_passing := ragdb_internal.passing_in_groups(
          corpus, scope, v_nos, v_other_nos, weights, v_kth, k);
      end if;
      v_found := array(
        select row(c.chunk_no, c.score)::ragdb_internal.candidate
        from (
          select g.chunk_no, g.score from ragdb_internal.candidates_in_groups(
            corpus.corpus_id, case when v_is_free then v_nos end, weights, null, null) g
          where g.chunk_no <> all (v_other_nos)
          union all
          select (f.found).chunk_no, (f.found).score
          from (select unnest(v_found || v_passing) as found) f) c
        where c.score > 0 and c.score >= v_kth
        order by c.score desc);
      v_seen := v_until;
      v_kth := greatest(ragdb_internal.at_least(v_found[k].score, 2), scope.lowest, 0);
      v_least := ragdb_internal.least_sum(v_kth, short, lack);
    end loop;
    exit when v_wanted.need = 0 or v_least >= v_wanted.need;
    v_looked_for := least(8 * v_looked_for, 100000000);
    select n.need, n.bits into v_wanted.need, v_wanted.bits from ragdb_internal.next_need(
      sums, masks, v_highest, v_looked_for, v_least, v_wanted.need) n;
  end loop;
  return v_found;
end $$;

-- Returns the k best chunks in a scope for a question and what ties with the last, best first, out
-- of some others and of the blocks; where words are demanded, of the groups that have a bit; null
-- where to list what a filter leaves takes less time. The sums go from one statement into the next
-- function: a record of them is copied twice.
create or replace function ragdb_internal.find_in_blocks(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope,
  block_nos integer[], bits bit varying[], weights sparsevec, others ragdb_internal.candidate[],
  k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
declare
  v_found ragdb_internal.candidate[];
begin
  if scope.patterns is null then
    select ragdb_internal.best_in_groups(
        corpus, scope, b.block_nos, b.sums, null, b.short, b.lack, question.max_score, weights,
        others, k)
      into v_found
      from ragdb_internal.block_sums(corpus.corpus_id, question.terms) b
      where b.sums is not null;
  else
    select ragdb_internal.best_in_groups(
        corpus, scope, m.block_nos, m.sums, m.masks, m.short, m.lack, question.max_score, weights,
        others, k)
      into v_found
      from (
        select array_agg(b.block_no) as block_nos, ragdb_internal.gathered(b.sums) as sums,
          array_agg(g.bits) as masks, min(s.short) as short, min(s.lack) as lack
        from ragdb_internal.block_sums(corpus.corpus_id, question.terms) s
          cross join lateral unnest(s.block_nos, s.sums) b (block_no, sums)
          join unnest(find_in_blocks.block_nos, find_in_blocks.bits) g (block_no, bits)
            on g.block_no = b.block_no) m
      where m.sums is not null;
  end if;
  return case when found then v_found else others end;
end $$;

-- Returns the k best in a scope for a question and what ties with the last, best first, by a list
-- of the chunks that meet its filter.
create or replace function ragdb_internal.best_met(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope,
  weights sparsevec, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  scope.chunk_nos := ragdb_internal.filtered_chunks(
    corpus.corpus_id, (scope.restriction).filter, null);
  scope.restriction := null;
  return ragdb_internal.best_listed(corpus, question, scope, weights, k);
end $$;

-- Returns the k best chunks of a corpus in a scope for a question and what ties with the last, best
-- first. A term that is in no blocks is listed, so the chunks that the blocks do not know matter
-- only where a term is in blocks.
create or replace function ragdb_internal.find_best(
  corpus ragdb.corpora, question ragdb_internal.question, scope ragdb_internal.scope, k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weights constant ragdb.chunk_lexemes.impacts%type := ragdb_internal.sparse(question.weights);
  v_state ragdb.block_states;
  v_listed integer[] := scope.listed || ragdb_internal.listed_numbers(question.listed);
  v_after integer;
  v_block_nos integer[];
  v_bits bit varying[];
  v_groups bigint;
  v_others ragdb_internal.candidate[];
begin
  if scope.chunk_nos is not null then
    return ragdb_internal.best_listed(corpus, question, scope, v_weights, k);
  end if;
  if question.in_blocks then
    select s.* into v_state from ragdb.block_states s where s.corpus_id = corpus.corpus_id;
    v_after := coalesce(v_state.last_chunk_no, 0);
    v_listed := v_listed || v_state.stale_chunks;
    if v_listed <> '{}' and v_after < corpus.next_chunk_no - 1 then
      v_listed := array(select n from unnest(v_listed) n where n <= v_after);
    end if;
  end if;
  if scope.patterns is not null and v_after > 0 then
    select h.block_nos, h.bits, h.groups into v_block_nos, v_bits, v_groups
      from ragdb_internal.groups_demanded(corpus.corpus_id, scope.demands) h;
    -- few chunks may pass: to look at each takes less time than to prune
    if v_groups <= (case when ragdb_internal.has_phrases(scope) then 1000 else 200 end) then
      return ragdb_internal.best_among(corpus, scope, v_listed
        || ragdb_internal.chunks_of_groups(v_block_nos, v_bits), v_after, v_weights, k);
    end if;
  end if;
  v_others := case when v_listed <> '{}' or v_after < corpus.next_chunk_no - 1
    then ragdb_internal.best_among(corpus, scope, v_listed, v_after, v_weights, k)
    else '{}' end;
  if v_after > 0 then
    return coalesce(ragdb_internal.find_in_blocks(corpus, question, scope, v_block_nos, v_bits,
        v_weights, v_others, k),
      ragdb_internal.best_met(corpus, question, scope, v_weights, k));
  end if;
  return v_others;
end $$;
