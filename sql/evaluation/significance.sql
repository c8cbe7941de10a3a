-- A paired test whose every bit is fixed by its seed, and the interval of a mean.

-- Returns, for each eight differences and each byte, their sum with the signs of its bits. Values
-- are whole billionths: sums of whole numbers do not depend on their order. The table has, for
-- every eight differences and every byte, the sum with the signs that the bits of the byte say.
create or replace function ragdb_internal.sign_table(differences bigint[]) returns bigint[]
language sql immutable parallel safe
return array(
  select (select coalesce(
    pg_catalog.sum(case when (b >> i) & 1 = 1 then sign_table.differences[8 * g + i + 1]
      else -sign_table.differences[8 * g + i + 1] end), 0)::bigint
    from pg_catalog.generate_series(0, 7) i
      where 8 * g + i < pg_catalog.cardinality(sign_table.differences))
  from pg_catalog.generate_series(0, (pg_catalog.cardinality(sign_table.differences) - 1) / 8) g
    cross join pg_catalog.generate_series(0, 255) b
  order by g, b);

-- Returns blocks of 64 random bytes for each replicate that a seed decides: sha512 of the seed's
-- sha256 and the two numbers.
create or replace function ragdb_internal.random_blocks(seed text, resamples integer,
  blocks integer)
returns table (replicate integer, block integer, bytes bytea)
language sql immutable parallel safe
begin atomic
  select r, b, pg_catalog.sha512(s.key || pg_catalog.int4send(r) || pg_catalog.int4send(b))
  from pg_catalog.generate_series(1, random_blocks.resamples) r
    cross join pg_catalog.generate_series(0, random_blocks.blocks - 1) b
    cross join (select pg_catalog.sha256(pg_catalog.convert_to(random_blocks.seed, 'UTF8')) as key
      offset 0) s
  offset 0;
end;

-- Returns the two-sided p of a paired sign-flip randomisation test of differences, in billionths;
-- the same everywhere for the same seed. Exact for up to 16 pairs, where all signs are tried.
create or replace function ragdb_internal.sign_flip_p(differences bigint[], seed text,
  resamples integer) returns float8
language sql immutable parallel safe
return (
  with t as materialized (
    select ragdb_internal.sign_table(sign_flip_p.differences) as sums,
      (pg_catalog.cardinality(sign_flip_p.differences) + 7) / 8 as groups,
      abs((select pg_catalog.sum(d) from pg_catalog.unnest(sign_flip_p.differences) d)) as observed
  ), flips as (
    select pg_catalog.sum(t.sums[256 * g + pg_catalog.get_byte(r.bytes, g % 64) + 1]) as total,
      pg_catalog.min(t.observed) as observed
    from t cross join lateral (
      select x.replicate, x.block, x.bytes
      from ragdb_internal.random_blocks(sign_flip_p.seed, sign_flip_p.resamples,
        (t.groups + 63) / 64) x
      where pg_catalog.cardinality(sign_flip_p.differences) > 16
      union all
      select i, 0, pg_catalog.substr(pg_catalog.int4send(i), 4, 1)
        || pg_catalog.substr(pg_catalog.int4send(i), 3, 1)
      from pg_catalog.generate_series(0,
        (1 << pg_catalog.cardinality(sign_flip_p.differences)) - 1) i
      where pg_catalog.cardinality(sign_flip_p.differences) <= 16) r
      cross join lateral pg_catalog.generate_series(64 * r.block,
        least(64 * r.block + 63, t.groups - 1)) g
    group by r.replicate
  )
  select case when pg_catalog.cardinality(sign_flip_p.differences) <= 16
    then pg_catalog.count(*) filter (where abs(f.total) >= f.observed) / pg_catalog.count(*)::float8
    else (1 + pg_catalog.count(*) filter (where abs(f.total) >= f.observed))
      / (1 + pg_catalog.count(*))::float8 end
  from flips f);

-- Returns the percentile bootstrap interval (95 %) of the mean of differences, given in billionths;
-- of up to 65,536 differences.
create or replace function ragdb_internal.bootstrap(differences bigint[], seed text,
  resamples integer, out low float8, out high float8)
language sql immutable parallel safe
begin atomic
  select pg_catalog.percentile_disc(0.025) within
    group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(bootstrap.differences)),
    pg_catalog.percentile_disc(0.975) within
      group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(bootstrap.differences))
  from (
    select pg_catalog.sum(
      bootstrap.differences[1
        + (256 * pg_catalog.get_byte(b.bytes, 2 * (i % 32)) + pg_catalog.get_byte(b.bytes,
          2 * (i % 32) + 1))
      % pg_catalog.cardinality(bootstrap.differences)]) as total
    from ragdb_internal.random_blocks(bootstrap.seed || ':bootstrap', bootstrap.resamples,
      (pg_catalog.cardinality(bootstrap.differences) + 31) / 32) b
      cross join lateral pg_catalog.generate_series(32 * b.block,
        least(32 * b.block + 31, pg_catalog.cardinality(bootstrap.differences) - 1)) i
    group by b.replicate) m;
end;
