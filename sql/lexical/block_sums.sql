-- What a question scores at most in every group of chunks: a sum of the vectors of its terms.
--
-- pgvector adds several numbers with one instruction. After the sums, only a few groups are left
-- whose chunks have to be looked at (block-max pruning: Mallia, Suel and Tonellotto, "Faster
-- Learned Sparse Retrieval with Block-Max Pruning", SIGIR 2024). Instead of scaling vectors, a term
-- that weighs n times its weight in the blocks is added n times: the i-th level lists the terms
-- with n ≥ i. All sums are in units of the blocks; unit_score turns them into scores.
create or replace function ragdb_internal.block_question(
  corpus_id integer, terms ragdb_internal.question_term[],
  out levels text[], out unit_score float8, out outside tsquery[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_term_ids integer[];
  v_times integer[];
  v_tokens text[];
begin
  select array_agg(t.term_id) filter (where t.times is not null),
    array_agg(t.times) filter (where t.times is not null),
    coalesce(max(t.weight / (t.times * t.block_weight)), 1),
    array_agg(ragdb_internal.token(block_question.corpus_id, t.term_id))
      filter (where t.times is null)
  into v_term_ids, v_times, unit_score, v_tokens
  from (
    select u.*, case when u.block_weight is not null
      then greatest(1, least(100, round(u.weight / u.block_weight)))::integer end as times
    from unnest(block_question.terms) u) t;
  if 2 > all (v_times) then
    levels := array[v_term_ids::text];
  elsif v_times is not null then
    levels := array(
      select array_agg(t.term_id)::text
      from unnest(v_term_ids, v_times) t (term_id, times)
        cross join lateral generate_series(1, t.times) l (level)
      group by l.level);
  end if;
  -- in pieces: GIN looks at every word of a condition for every chunk that has one of them, and the
  -- server's stack must hold what a condition nests
  if v_tokens is not null then
    outside := array(
      select string_agg(t.token, '|')::tsquery
      from unnest(v_tokens) with ordinality t (token, n)
      group by (t.n - 1) / 64);
  end if;
end $$;
comment on function ragdb_internal.block_question(integer, ragdb_internal.question_term[]) is
  'Returns how the blocks of a corpus answer a question: in levels the terms to add once, twice '
  'and so on, each list the text of an array (null: no term has blocks); how much a sum of 1 '
  'scores at most; and as conditions the terms that have no blocks (null: none).';

-- The scores of all terms are read in one scan and added up block by block, so that all sums use
-- the same memory in turn; added up side by side, each would touch new memory. A block without any
-- of the terms has no row of theirs.
create or replace function ragdb_internal.block_sums(
  corpus_id integer, last_chunk_no integer, levels text[])
returns vector[]
language sql stable parallel safe
return array(
  select coalesce(sum(o.scores::vector), ragdb_internal.sparse_block('',
    ragdb_internal.block_size(block_sums.last_chunk_no))::vector)
  from (
    select n.block_no, b.scores
    from pg_catalog.generate_series(0, ragdb_internal.blocks(block_sums.last_chunk_no) - 1)
        n (block_no)
      left join (
        select k.block_no, k.scores
        from pg_catalog.unnest(block_sums.levels) l (term_ids)
          cross join lateral (
            select t.block_no, t.scores from ragdb.term_blocks t
            where t.corpus_id = block_sums.corpus_id and t.term_id = any (l.term_ids::integer[])
            offset 0) k
        offset 0) b on b.block_no = n.block_no
    order by n.block_no
    offset 0) o
  group by o.block_no
  order by o.block_no);
comment on function ragdb_internal.block_sums(integer, integer, text[]) is
  'Returns the sums, in float4, of the scores of every group in some terms, a vector for each '
  'block; the blocks were made for the chunks up to a number.';

create or replace function ragdb_internal.groups_above(sums vector[], need float8)
returns table (groups bigint, bits bit varying[])
language sql immutable parallel safe rows 1
begin atomic
  select sum(pg_catalog.bit_count(b.bits))::bigint, pg_catalog.array_agg(b.bits order by b.n)
  from (
    select n.n, binary_quantize(groups_above.sums[n.n] - e.need)::bit varying as bits
    from (
        select ragdb_internal.even(groups_above.need, vector_dims(groups_above.sums[1])) as need
        offset 0) e
      cross join pg_catalog.generate_series(1, pg_catalog.cardinality(groups_above.sums)) n (n)
    offset 0) b;
end;
comment on function ragdb_internal.groups_above(vector[], float8) is
  'Counts the groups whose sum is over need, and returns a bit for each, block by block.';

create or replace function ragdb_internal.best_groups(sums vector[], bits bit varying[])
returns table (group_nos integer[], bounds float8[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(g.group_no order by g.bound desc, g.group_no),
    pg_catalog.array_agg(g.bound order by g.bound desc, g.group_no)
  from (
    select (p.place - 1) * pg_catalog.cardinality(best_groups.sums) + b.n - 1 as group_no,
      vector_norm(subvector(best_groups.sums[b.n], p.place, 1)) as bound
    from pg_catalog.unnest(best_groups.bits) with ordinality b (bits, n)
      cross join lateral pg_catalog.unnest(ragdb_internal.set_bits(b.bits)) p (place)
    where pg_catalog.bit_count(b.bits) > 0) g;
end;
comment on function ragdb_internal.best_groups(vector[], bit varying[]) is
  'Returns the groups that have a bit, best first, and the sum of each.';
