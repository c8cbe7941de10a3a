-- The rows that functions of documents return: what became of a document, a document, a chunk, and
-- the bytes of an original.

create type ragdb.put_result as (
  "position" integer,
  doc_cid text,
  chunks_indexed integer,
  tokens_indexed bigint,
  ingest_event_id uuid,
  was_duplicate boolean,
  ms float8);
comment on type ragdb.put_result is
  'What became of one document of ragdb.put_documents; ms is the time of the whole call.';

create type ragdb.document as (
  doc_cid text,
  source text,
  sources text[],
  title text,
  language text,
  media_type text,
  metadata jsonb,
  chunking jsonb,
  external_id text,
  source_name text,
  size_bytes bigint,
  pages integer,
  chunks integer,
  tokens bigint,
  event_id uuid,
  created_at timestamptz,
  updated_at timestamptz);
comment on type ragdb.document is
  'A document with its sources, the first of them in byte order as source. Its bytes (doc_cid) and '
  'its name (the external id, else the source) are its identity.';

create type ragdb.chunk as (
  chunk_id text,
  doc_cid text,
  ordinal integer,
  source text,
  title text,
  heading text[],
  page integer,
  start_offset integer,
  end_offset integer,
  tokens integer,
  text text,
  citation jsonb,
  content_hash text,
  metadata jsonb);
comment on type ragdb.chunk is
  'A chunk with what a citation needs; offsets are characters, content_hash is hex.';

create type ragdb.blob as (
  cid text,
  media_type text,
  size bigint,
  bytes bytea);
comment on type ragdb.blob is 'The original bytes of a document.';
