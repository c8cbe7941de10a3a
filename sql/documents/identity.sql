-- What a chunk is called. The same text at the same source has the same id in every database, so
-- an id is made of the corpus, the source and the hash of the text, and of nothing that depends on
-- when or how often something was put.

-- Returns the SHA-256 of a text's canonical form: CRLF and CR as LF, outer white space (space and
-- \t to \r) trimmed, UTF-8. Deterministic, but convert_to is declared stable, and PostgreSQL does
-- not inline an immutable function that calls a stable one. Trimmed as bytes, which looks at the
-- ends alone; the letters of a text are all looked at.
create or replace function ragdb_internal.content_hash(text text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(pg_catalog.btrim(pg_catalog.convert_to(
  case when pg_catalog.strpos(content_hash.text, E'\r') = 0 then content_hash.text
    else pg_catalog.replace(pg_catalog.replace(content_hash.text, E'\r\n', E'\n'), E'\r', E'\n')
  end, 'UTF8'), '\x20090a0d0c0b'::bytea));

-- Returns the readable part of a chunk id: lower-case ASCII letters and digits, - for the rest, the
-- last 64 characters.
create or replace function ragdb_internal.slug(name text) returns text
language sql immutable parallel safe
return coalesce(nullif(pg_catalog.btrim(pg_catalog.right(pg_catalog.regexp_replace(
  pg_catalog.lower(slug.name collate "C"), '[^a-z0-9]+', '-', 'g'), 64), '-'), ''), 'document');

-- Returns the readable part of the chunk ids of a source.
create or replace function ragdb_internal.source_slug(source_name text, source text)
returns text
language sql immutable parallel safe
return ragdb_internal.slug(case source_slug.source_name
  when '' then source_slug.source
  else source_slug.source_name || '/' || source_slug.source end);

-- Returns the bytes that are hashed first for the chunk ids of a source of a corpus.
create or replace function ragdb_internal.source_bytes(
  corpus text, source_name text, source text)
returns bytea
language sql stable parallel safe
return ragdb_internal.packed('ragdb-chunk-1') || ragdb_internal.packed(source_bytes.corpus)
  || ragdb_internal.packed(source_bytes.source_name) || ragdb_internal.packed(source_bytes.source);

-- Returns the id of a chunk from what those of its source share and from its content; nth is how
-- many chunks before it in its document have that content.
create or replace function ragdb_internal.chunk_id(
  source_slug text, source_bytes bytea, content_hash bytea, nth bigint)
returns text
language sql stable parallel safe
return chunk_id.source_slug || ':'
  || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(chunk_id.source_bytes
      || ragdb_internal.packed(pg_catalog.encode(chunk_id.content_hash, 'hex'))
      || ragdb_internal.packed(chunk_id.nth::text)), 'hex'), 24);

-- Tells whether the chunks of a document are the turns of a conversation, which have ids and edges
-- of their own.
create or replace function ragdb_internal.has_turns(chunking jsonb) returns boolean
language sql immutable parallel safe
return has_turns.chunking ->> 'chunker' is not distinct from 'turns/1';

-- Returns what a chunk is called: the id of its turn; else the external id of its document, with
-- #1, #2, … where that has several chunks; else ragdb_internal.chunk_id.
create or replace function ragdb_internal.chunk_name(
  own_id text, external_id text, chunks integer, ordinal integer,
  source_slug text, source_bytes bytea, content_hash bytea, nth bigint)
returns text
language sql stable parallel safe
return case
  when chunk_name.own_id is not null then chunk_name.own_id
  when chunk_name.external_id is null then ragdb_internal.chunk_id(
    chunk_name.source_slug, chunk_name.source_bytes, chunk_name.content_hash, chunk_name.nth)
  when chunk_name.chunks = 1 then chunk_name.external_id
  else chunk_name.external_id || '#' || chunk_name.ordinal + 1
end;
