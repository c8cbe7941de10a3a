-- They always give the same, but convert_to is marked stable, and nothing that calls it and says
-- immutable is inlined.
create or replace function ragdb_internal.content_hash(text text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.btrim(
  pg_catalog.replace(pg_catalog.replace(content_hash.text, E'\r\n', E'\n'), E'\r', E'\n'),
    E' \t\n\r\f\v'), 'UTF8'));
comment on function ragdb_internal.content_hash(text) is
  'Returns the SHA-256 of a text''s canonical form: CRLF and CR as LF, outer white space (space '
  'and \t to \r) trimmed, UTF-8.';

create or replace function ragdb_internal.slug(name text) returns text
language sql immutable parallel safe
return coalesce(nullif(pg_catalog.btrim(pg_catalog.right(pg_catalog.regexp_replace(
  pg_catalog.lower(slug.name collate "C"), '[^a-z0-9]+', '-', 'g'), 64), '-'), ''), 'document');
comment on function ragdb_internal.slug(text) is
  'Returns the readable part of a chunk id: lower-case ASCII letters and digits, - for the rest, '
  'the last 64 characters.';

create or replace function ragdb_internal.chunk_id(corpus text, source_name text, source text,
  content_hash bytea, n bigint)
returns text
language sql stable parallel safe
return ragdb_internal.slug(pg_catalog.concat_ws('/', nullif(chunk_id.source_name, ''), chunk_id.source))
  || ':'
  || pg_catalog.left(
    pg_catalog.encode(pg_catalog.sha256(ragdb_internal.packed('ragdb-chunk-1')
      || ragdb_internal.packed(chunk_id.corpus)
    || ragdb_internal.packed(chunk_id.source_name) || ragdb_internal.packed(chunk_id.source)
    || ragdb_internal.packed(pg_catalog.encode(chunk_id.content_hash, 'hex'))
      || ragdb_internal.packed(chunk_id.n::text)), 'hex'), 24);
comment on function ragdb_internal.chunk_id(text, text, text, bytea, bigint) is
  'Returns the id of a chunk from its corpus, source and content; n is how many chunks before it '
  'in its document have that content.';
