-- How the index writes the terms of a chunk: as a sparse vector of impacts by term id.
--
-- pgvector's type and operator are named here and in block_vectors.sql only, in bodies that are
-- bound when they are created: the schema of pgvector differs from host to host. The calls are
-- inlined into the statements that make them.

-- Makes a sparse vector of the entries "index:value,…", in any order.
create or replace function ragdb_internal.sparse(entries text) returns sparsevec
language sql immutable parallel safe
return ('{' || coalesce(sparse.entries, '') || '}/1000000000')::sparsevec;

-- Tells whether two sparse vectors are one.
create or replace function ragdb_internal.same_impacts(a sparsevec, b sparsevec) returns boolean
language sql immutable parallel safe
return same_impacts.a = same_impacts.b;

-- Returns the inner product of two sparse vectors, computed in float4.
create or replace function ragdb_internal.inner_product(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return -(inner_product.a <#> inner_product.b);

-- Returns the cosine of two sparse vectors without negative entries, rounded to 1e-4; NaN where one
-- is empty.
create or replace function ragdb_internal.cosine(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return pg_catalog.round(10000::float8 * (1 - (cosine.a <=> cosine.b))) / 10000::float8;

-- Returns the numbers of a list of four bytes each, big-endian, as those of the dictionary. One
-- expression, which becomes part of a statement: to call a function takes longer. Integers may be
-- written in hexadecimal since PostgreSQL 16.
create or replace function ragdb_internal.listed_numbers(list bytea) returns integer[]
language sql immutable parallel safe
return ('{' || pg_catalog.rtrim(pg_catalog.regexp_replace(
  pg_catalog.encode(listed_numbers.list, 'hex'), '(.{8})', '0x\1,', 'g'), ',') || '}')::integer[];

-- Returns the number, 0 to 250, that stands for a lexeme in the order of the words of a chunk. None
-- of the bytes 0, %, _ and \, so that an order of words may be matched by like, and not 1, which
-- stands for words that do not count. Words of one byte are told apart by the text.
create or replace function ragdb_internal.word_number(lexeme text) returns integer
language sql immutable parallel safe
return (pg_catalog.hashtext(word_number.lexeme) & 2147483647) % 251;

-- Returns the byte of the number of a lexeme.
create or replace function ragdb_internal.word_byte(number integer) returns bytea
language sql immutable parallel safe
return pg_catalog.substr(
  '\x02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324262728292a2b2c2d2e2f'
  '303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5d5e'
  '606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f'
  '909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf'
  'c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef'
  'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'::bytea,
  1 + word_byte.number, 1);

-- Returns a byte for every word in the order of their positions, and a 1 between two that others
-- which do not count stand between; null where two have the same position. A query in from is
-- inlined, which a subquery of a function is not, and costs half. A word is one number: its
-- position, and behind that its own number in eight bits. Beside each stands the one before it: a
-- window over the same rows costs twice as much. Positions end at 16,383: from there on all words
-- have one.
create or replace function ragdb_internal.word_order(words tsvector)
returns table (word_order bytea)
language sql immutable parallel safe rows 1
begin atomic
  select case when pg_catalog.bool_and(s.word > s.before | 255) then pg_catalog.string_agg(
    ragdb_internal.word_byte(s.word & 255),
    case when s.word > (s.before | 255) + 256 then '\x01'::bytea else ''::bytea end) end
  from (
    select pg_catalog.unnest(k.words) as word,
      pg_catalog.unnest(k.words[1] - 256 || k.words) as before
    from (select array(
        select 256 * pg_catalog.unnest(n.positions) + n.number
        from (select w.positions, ragdb_internal.word_number(w.lexeme) as number
          from pg_catalog.unnest(word_order.words) w offset 0) n
        order by 1) as words
      offset 0) k
    where k.words[pg_catalog.cardinality(k.words)] < 256 * 16383
    offset 0) s;
end;

-- Returns how often an order of words has a byte.
create or replace function ragdb_internal.times(word_order bytea, byte bytea) returns integer
language sql stable parallel safe
return pg_catalog.octet_length(times.word_order) - pg_catalog.length(pg_catalog.replace(
  pg_catalog.convert_from(times.word_order, 'LATIN1'),
  pg_catalog.convert_from(times.byte, 'LATIN1'), ''));

-- Returns the indexes and values of a sparse vector, {index, value, index, value, …}. The text of a
-- sparse vector is read as an array: nothing else that takes one apart is as fast.
create or replace function ragdb_internal.entries(impacts sparsevec) returns float8[]
language sql immutable parallel safe
return ('{' || pg_catalog.substr(pg_catalog.replace(
  pg_catalog.split_part(entries.impacts::text, '/', 1), ':', ','), 2))::float8[];
