-- How the index writes the terms of a chunk: as a sparse vector of impacts by term id.
--
-- pgvector's type and operator are named here and in block_vectors.sql only, in bodies that are
-- bound when they are created: the schema of pgvector differs from host to host. The calls are
-- inlined into the statements that make them.
create or replace function ragdb_internal.sparse(entries text) returns sparsevec
language sql immutable parallel safe
return ('{' || coalesce(sparse.entries, '') || '}/1000000000')::sparsevec;
comment on function ragdb_internal.sparse(text) is
  'Makes a sparse vector of the entries "index:value,…", in any order.';

create or replace function ragdb_internal.inner_product(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return -(inner_product.a <#> inner_product.b);
comment on function ragdb_internal.inner_product(sparsevec, sparsevec) is
  'Returns the inner product of two sparse vectors, computed in float4.';

create or replace function ragdb_internal.cosine(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return pg_catalog.round(10000::float8 * (1 - (cosine.a <=> cosine.b))) / 10000::float8;
comment on function ragdb_internal.cosine(sparsevec, sparsevec) is
  'Returns the cosine of two sparse vectors without negative entries, rounded to 1e-4; NaN where '
  'one is empty.';

-- The text of a sparse vector is read as an array: nothing else that takes one apart is as fast.
create or replace function ragdb_internal.entries(impacts sparsevec) returns float8[]
language sql immutable parallel safe
return ('{' || pg_catalog.substr(pg_catalog.replace(
  pg_catalog.split_part(entries.impacts::text, '/', 1), ':', ','), 2))::float8[];
comment on function ragdb_internal.entries(sparsevec) is
  'Returns the indexes and values of a sparse vector, {index, value, index, value, …}.';
