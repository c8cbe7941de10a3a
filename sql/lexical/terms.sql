-- How the index writes a term: as a number in the sparse vectors of impacts, and as a word in the
-- lexemes that the GIN index is over.
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

create or replace function ragdb_internal.token(corpus_id integer, term_id integer) returns text
language sql immutable parallel safe
return pg_catalog.to_hex(token.corpus_id) || '.' || pg_catalog.to_hex(token.term_id);
comment on function ragdb_internal.token(integer, integer) is
  'Returns the word that stands for a term of a corpus in ragdb.chunk_lexemes.lexemes.';

create or replace function ragdb_internal.term_id(token text) returns integer
language sql immutable parallel safe
return ('x' || pg_catalog.lpad(pg_catalog.split_part(term_id.token, '.', 2), 8, '0'))
  ::bit(32)::integer;
comment on function ragdb_internal.term_id(text) is
  'Returns the term id in a word made by ragdb_internal.token.';
