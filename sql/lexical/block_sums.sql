-- What a question scores at most in every group of chunks: a sum of the vectors of its terms.
--
-- pgvector adds several numbers with one instruction. After the sums, only a few groups are left
-- whose chunks have to be looked at (block-max pruning: Mallia, Suel and Tonellotto, "Faster
-- Learned Sparse Retrieval with Block-Max Pruning", SIGIR 2024). Blocks hold impacts, so the
-- weights are those of the moment, whatever they were when the blocks were made.
create or replace function ragdb_internal.block_sums(
  corpus_id integer, terms ragdb_internal.question_term[])
returns table (block_nos integer[], sums vector[])
language sql stable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(b.block_no), pg_catalog.array_agg(b.sums)
  from (
    select t.block_no, sum(ragdb_internal.scaled(t.impacts, w.weight)) as sums
    from (
        select u.term_id, ragdb_internal.even(u.weight) as weight
        from pg_catalog.unnest(block_sums.terms) u where u.in_blocks
        offset 0) w
      cross join lateral (select k.block_no, k.impacts from ragdb.term_blocks k
        where k.corpus_id = block_sums.corpus_id and k.term_id = w.term_id offset 0) t
    group by t.block_no) b;
end;
comment on function ragdb_internal.block_sums(integer, ragdb_internal.question_term[]) is
  'Returns the blocks of a corpus that have some terms, and for each the sums, in float4, of what '
  'its groups score at most.';

create or replace function ragdb_internal.groups_above(sums vector[], need float8)
returns table (groups bigint, bits bit varying[])
language sql immutable parallel safe rows 1
begin atomic
  select sum(pg_catalog.bit_count(b.bits))::bigint, pg_catalog.array_agg(b.bits order by b.n)
  from (
    select n.n, binary_quantize(groups_above.sums[n.n] - e.need)::bit varying as bits
    from (select ragdb_internal.even(groups_above.need) as need offset 0) e
      cross join pg_catalog.generate_series(1, pg_catalog.cardinality(groups_above.sums)) n (n)
    offset 0) b;
end;
comment on function ragdb_internal.groups_above(vector[], float8) is
  'Counts the groups whose sum is over need, and returns a bit for each, block by block.';

create or replace function ragdb_internal.best_groups(
  block_nos integer[], sums vector[], bits bit varying[])
returns table (group_nos integer[], bounds float8[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(g.group_no order by g.bound desc, g.group_no),
    pg_catalog.array_agg(g.bound order by g.bound desc, g.group_no)
  from (
    select 1024 * best_groups.block_nos[b.n] + p.place - 1 as group_no,
      vector_norm(subvector(best_groups.sums[b.n], p.place, 1)) as bound
    from pg_catalog.unnest(best_groups.bits) with ordinality b (bits, n)
      cross join lateral pg_catalog.unnest(ragdb_internal.set_bits(b.bits)) p (place)
    where pg_catalog.bit_count(b.bits) > 0) g;
end;
comment on function ragdb_internal.best_groups(integer[], vector[], bit varying[]) is
  'Returns the groups that have a bit, best first, and the sum of each.';

create or replace function ragdb_internal.typical_spread(sums vector[]) returns float8
language sql immutable parallel safe
return (
  select avg(ragdb_internal.spread(typical_spread.sums[n]))
  from pg_catalog.generate_series(1, pg_catalog.cardinality(typical_spread.sums),
    1 + pg_catalog.cardinality(typical_spread.sums) / 4) n);
comment on function ragdb_internal.typical_spread(vector[]) is
  'Returns the mean of the standard deviations of some of the vectors.';
