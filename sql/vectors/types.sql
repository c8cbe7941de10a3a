-- Vectors as numbers, and what two of them are to each other.
--
-- Callers speak real[]. pgvector's types and operators stay in bodies that are bound when they are
-- created, because the schema of pgvector differs from host to host.

-- Makes a vector of numbers.
create or replace function ragdb_internal.pgvector(embedding real[]) returns vector
language sql immutable parallel safe
return pgvector.embedding::vector;

-- Returns the numbers of a vector.
create or replace function ragdb_internal.numbers(embedding vector) returns real[]
language sql immutable parallel safe
return numbers.embedding::real[];

-- Returns a vector in half precision.
create or replace function ragdb_internal.halves(embedding vector) returns halfvec
language sql immutable parallel safe
return halves.embedding::halfvec;

-- Returns a vector scaled to length 1 where its length is off by more than a thousandth. A half
-- holds no number over 65504, and takes what is under 3e-8 for zero. A cosine is the same at any
-- length, and a vector of length 1 stays as it is, to its last digit.
create or replace function ragdb_internal.unit_length(embedding vector) returns vector
language sql immutable parallel safe
return case when abs(vector_norm(unit_length.embedding) - 1) <= 0.001::float8
  then unit_length.embedding else l2_normalize(unit_length.embedding) end;

-- Returns the similarity in [0, 1], rounded to 1e-6, of what has a distance by a metric of
-- pgvector: max(0, cosine), max(0, inner product) or max(0, 1 - distance² / 2). Rounded to 1e-6:
-- the last digits of pgvector's sums differ from CPU to CPU.
create or replace function ragdb_internal.nearness(distance float8, metric text) returns float8
language sql immutable parallel safe
return pg_catalog.round(1000000::float8 * greatest(0::float8, least(1::float8,
  case metric
    when 'cosine' then 1::float8 - nearness.distance
    when 'ip' then -nearness.distance
    else 1::float8 - nearness.distance * nearness.distance / 2::float8
  end))) / 1000000::float8;

-- Returns the similarity of two vectors in [0, 1], rounded to 1e-6.
create or replace function ragdb_internal.similarity(a vector, b vector, metric text)
returns float8
language sql immutable parallel safe
return ragdb_internal.nearness(
  case metric when 'cosine' then a <=> b when 'ip' then a <#> b else a <-> b end, metric);

-- Returns the similarity of two vectors of halves in [0, 1], rounded to 1e-6.
create or replace function ragdb_internal.similarity(a halfvec, b halfvec, metric text)
returns float8
language sql immutable parallel safe
return ragdb_internal.nearness(
  case metric when 'cosine' then a <=> b when 'ip' then a <#> b else a <-> b end, metric);

-- Returns the sha256 of an embedding: its numbers as big-endian float4.
create or replace function ragdb_internal.vector_hash(embedding real[]) returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(
    pg_catalog.string_agg(pg_catalog.float4send(e.value), ''::bytea order by e.n))
  from pg_catalog.unnest(vector_hash.embedding) with ordinality as e (value, n));

-- Cuts a row of numbers into vectors of a width, with their norms.
create or replace function ragdb_internal.cut(embeddings real[], dims integer)
returns table (n integer, embedding vector, norm float8)
language sql immutable parallel safe
begin atomic
  select v.n, v.embedding, vector_norm(v.embedding)
  from (
    select i.n, (cut.embeddings[b.before + (i.n - 1) * cut.dims + 1 : b.before + i.n * cut.dims])
      ::vector as embedding
    from (select pg_catalog.array_lower(cut.embeddings, 1) - 1 as before offset 0) b
      cross join pg_catalog.generate_series(
        1, pg_catalog.cardinality(cut.embeddings) / cut.dims) i (n)
    offset 0) v;
end;

-- Returns the schema that pgvector is installed in. Dynamic statements name pgvector where it is.
-- Who builds them has no schema of pgvector in the search path, so the name of a type has its
-- schema.
create or replace function ragdb_internal.vector_schema() returns text
language sql stable parallel safe
return (pg_catalog.parse_ident(pg_catalog.pg_typeof(null::vector)::text))[1];
