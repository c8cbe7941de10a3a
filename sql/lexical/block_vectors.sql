-- The arithmetic of blocks: dense and sparse vectors of pgvector, named here and nowhere else.
--
-- A group is four chunks that lie side by side, and a unit 64 groups. A block is made of some units
-- when their chunks are there; later blocks are merged, up to 240 units in one (pgvector has no
-- vectors wider than 16,000). Who changes one of these numbers makes all blocks anew.

-- Returns how many groups a unit of blocks has.
create or replace function ragdb_internal.unit_groups() returns integer
language sql immutable parallel safe
return 64;

-- Returns how many chunk numbers a unit of blocks has.
create or replace function ragdb_internal.unit_chunks() returns integer
language sql immutable parallel safe
return 4 * ragdb_internal.unit_groups();

-- Returns how many units a block has at most; blocks that are merged do not cross a multiple of
-- them.
create or replace function ragdb_internal.block_units() returns integer
language sql immutable parallel safe
return 240;

-- Makes the sparse vector of a block of so many units out of the entries "place:value,…", in any
-- order. The number is cast, because only what is immutable throughout is inlined.
create or replace function ragdb_internal.sparse_block(entries text, units integer)
returns sparsevec
language sql immutable parallel safe
return ('{' || sparse_block.entries || '}/'
  || (ragdb_internal.unit_groups() * sparse_block.units)::text)::sparsevec;

-- Returns a vector of one value so many times.
create or replace function ragdb_internal.one_value(value float8, times integer) returns vector
language sql immutable parallel safe
return pg_catalog.array_fill(one_value.value::real, array[one_value.times])::vector;

-- Returns one vector behind another.
create or replace function ragdb_internal.joined(a vector, b vector) returns vector
language sql immutable parallel safe
return joined.a || joined.b;

-- Returns the first places of a vector.
create or replace function ragdb_internal.first(a vector, size integer) returns vector
language sql immutable parallel safe
return subvector(first.a, 1, first.size);

-- Returns a vector of a size, a multiple of 64, with one value throughout. The vector is doubled,
-- because a long array takes ten times as long to become a vector.
create or replace function ragdb_internal.even(value float8, size integer, out even vector)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  even := ragdb_internal.one_value(value, size / 64);
  for v_i in 1..6 loop
    even := ragdb_internal.joined(even, even);
  end loop;
end $$;

-- Returns the product of a row of a block, dense, and a number.
create or replace function ragdb_internal.scaled(scores vector, factor float8) returns vector
language sql stable parallel safe
return scaled.scores * ragdb_internal.even(scaled.factor, vector_dims(scaled.scores));

-- Returns a vector without its zeros.
create or replace function ragdb_internal.sparsely(scores vector) returns sparsevec
language sql immutable parallel safe
return sparsely.scores::sparsevec;

-- Returns a row of a block, however it is stored, with its zeros.
create or replace function ragdb_internal.densely(scores sparsevec, dense_scores halfvec)
returns vector
language sql immutable parallel safe
return coalesce(densely.dense_scores::vector, densely.scores::vector);

-- Returns a row of a block in halves, none of them less than the score that it stands for; null
-- where that score is too small for a half. The factor is more than what a half may be rounded down
-- by.
create or replace function ragdb_internal.in_halves(scores vector) returns halfvec
language sql stable parallel safe
begin atomic
  select case when pg_catalog.bit_count(
      binary_quantize(in_halves.scores - h.halves::vector)) = 0 then h.halves end
  from (select ragdb_internal.scaled(in_halves.scores, 1.0005)::halfvec as halves offset 0) h;
end;

-- Returns a row of a block as it is stored: in halves where it is long and many groups have the
-- lexeme. An entry of a sparse vector takes eight bytes, and a half two. Where three tenths of the
-- groups have the lexeme, halves are also read as fast.
create or replace function ragdb_internal.stored(scores sparsevec)
returns table (scores sparsevec, dense_scores halfvec)
language sql stable parallel safe rows 1
begin atomic
  select case when h.halves is null then stored.scores end, h.halves
  from (
    select case when pg_catalog.pg_column_size(stored.scores) > 2000 then (
      select case when pg_catalog.pg_column_size(stored.scores) > 2.4 * vector_dims(d.scores)
        then ragdb_internal.in_halves(d.scores) end
      from (select stored.scores::vector as scores offset 0) d) end as halves
    offset 0) h;
end;

-- Returns the product of a row of a block and a number, as it is stored.
create or replace function ragdb_internal.rescaled(
  scores sparsevec, dense_scores halfvec, factor float8)
returns table (scores sparsevec, dense_scores halfvec)
language sql stable parallel safe rows 1
begin atomic
  select s.scores, s.dense_scores
  from ragdb_internal.stored(ragdb_internal.sparsely(ragdb_internal.scaled(
    ragdb_internal.densely(rescaled.scores, rescaled.dense_scores), rescaled.factor))) s;
end;

-- Returns the product of a row of a block and a number, with zeros around it: as a row of so many
-- units, before of which come first. In vectors because a row has thousands of entries, and its
-- text takes twenty times as long.
create or replace function ragdb_internal.placed(
  scores sparsevec, dense_scores halfvec, factor float8, before integer, units integer,
  zeros vector)
returns vector
language sql stable parallel safe
begin atomic
  select case when r.after = 0 then r.scores
    else ragdb_internal.joined(r.scores, ragdb_internal.first(placed.zeros, r.after)) end
  from (
    select case when placed.before = 0 then d.scores else ragdb_internal.joined(
        ragdb_internal.first(placed.zeros, ragdb_internal.unit_groups() * placed.before),
        d.scores) end as scores,
      ragdb_internal.unit_groups() * (placed.units - placed.before) - vector_dims(d.scores)
        as after
    from (
      select case when placed.factor = 1 then s.scores
        else ragdb_internal.scaled(s.scores, placed.factor) end as scores
      from (select ragdb_internal.densely(placed.scores, placed.dense_scores) as scores offset 0) s
      offset 0) d
    offset 0) r;
end;

-- Returns so many places of a row of a block, dense, from one on, or those that it has; null for
-- none.
create or replace function ragdb_internal.some_scores(scores vector, first integer, size integer)
returns real[]
language sql immutable parallel safe
return case when some_scores.first <= vector_dims(some_scores.scores)
  then subvector(some_scores.scores, some_scores.first, some_scores.size)::real[] end;

-- Returns the standard deviation of the values of a vector, none of them under 0.
create or replace function ragdb_internal.spread(sums vector) returns float8
language sql immutable parallel safe
return sqrt(greatest(1e-12::float8, (vector_norm(spread.sums) ^ 2
  - l1_distance(spread.sums,
      ragdb_internal.sparse_block('',
        vector_dims(spread.sums) / ragdb_internal.unit_groups())::vector) ^ 2
    / vector_dims(spread.sums))
  / vector_dims(spread.sums)));

-- Returns how many groups blocks have that masks have (null: all), and the standard deviation of
-- the sums of the one that has most.
create or replace function ragdb_internal.shape(sums vector[], masks bit varying[])
returns table (groups bigint, spread float8)
language sql immutable parallel safe rows 1
begin atomic
  select w.groups, ragdb_internal.spread(shape.sums[w.widest[2]])
  from (
    select sum(coalesce(pg_catalog.bit_count(shape.masks[s.n]),
        vector_dims(shape.sums[s.n])))::bigint as groups,
      max(array[vector_dims(shape.sums[s.n]), s.n]) as widest
    from (select pg_catalog.generate_subscripts(shape.sums, 1) as n) s
    offset 0) w;
end;

-- Returns the places of the ones among some bits, from 1, in ascending order. The bits as a text
-- are cut at every one, and the pieces are as long as the zeros between. They come in their order:
-- a window that sorts them costs twice as much.
create or replace function ragdb_internal.set_bits(bits bit varying) returns table (place integer)
language sql immutable parallel safe
begin atomic
  select p.place
  from (
    select sum(pg_catalog.octet_length(z.zeros) + 1) over (rows unbounded preceding)::integer
      as place
    from (
      select pg_catalog.unnest(pg_catalog.string_to_array(set_bits.bits::text, '1')) as zeros) z) p
  where p.place <= pg_catalog.length(set_bits.bits);
end;
