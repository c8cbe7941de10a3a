-- What a query scores at most in every group of chunks is a sum of vectors, which pgvector adds
-- several numbers an instruction: a few groups remain whose chunks have to be looked at (block-max
-- pruning: Mallia, Suel and Tonellotto, "Faster Learned Sparse Retrieval with Block-Max Pruning",
-- SIGIR 2024). Vectors are no longer weighed here: a level holds the terms that count once more, as
-- the text of an array. Sums are kept while a search looks for the need that leaves the right
-- number of groups.
create or replace function ragdb_internal.levels(term_ids integer[], times integer[]) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if 2 > all (times) then
    return array[term_ids::text];
  end if;
  return array(
    select array_agg(t.term_id)::text
    from unnest(levels.term_ids, levels.times) t (term_id, times)
      cross join lateral generate_series(1, t.times) l (level)
    group by l.level);
end $$;
comment on function ragdb_internal.levels(integer[], integer[]) is
  'Returns the terms that count at least once, twice and so on, each the text of an array.';

-- The scores of all terms are read in one scan and added up in the order of the blocks, so that the
-- sums of all use the same memory in turn; added up side by side they would touch new memory each.
-- A block without any of the terms has no row of theirs.
create or replace function ragdb_internal.block_sums(corpus_id integer, last_chunk_no integer,
  levels text[]) returns vector[]
language sql stable parallel safe
return array(
  select coalesce(sum(o.scores::vector),
    ragdb_internal.sparse_block('', ragdb_internal.block_size(block_sums.last_chunk_no))::vector)
  from (
    select n.block_no, b.scores
    from pg_catalog.generate_series(0, ragdb_internal.blocks(block_sums.last_chunk_no) - 1) n (block_no)
      left join (
        select k.block_no, k.scores
        from pg_catalog.unnest(block_sums.levels) l (term_ids)
          cross join lateral (select t.block_no, t.scores from ragdb.term_blocks t
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
    from (select ragdb_internal.even(groups_above.need, vector_dims(groups_above.sums[1])) as need
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
  'Returns the groups that have a bit, and their sums, best first.';
