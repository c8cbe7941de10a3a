-- Documents, their bytes and sources, their chunks, and the events that tell of them.

create table ragdb.blobs (
  cid text collate "C" constraint blobs_cid_is_unique primary key,
  -- file bytes are mostly compressed already: out of line and untouched
  bytes bytea storage external not null,
  size bigint not null
);
comment on table ragdb.blobs is
  'Original bytes of documents, kept once for all corpora. Read it through ragdb.get_blob.';
comment on column ragdb.blobs.cid is
  'sha256: and the SHA-256 of the bytes in hex. It equals the doc_cid of the document.';
comment on column ragdb.blobs.bytes is 'The bytes.';
comment on column ragdb.blobs.size is 'Number of bytes.';

create table ragdb.corpus_blobs (
  corpus_id integer not null
    constraint corpus_blobs_corpus_exists references ragdb.corpora on delete cascade,
  cid text collate "C" not null
    constraint corpus_blobs_blob_exists references ragdb.blobs on delete cascade,
  media_type text not null,
  brought_by text not null,
  brought_at timestamptz not null,
  constraint corpus_blobs_are_unique primary key (corpus_id, cid)
);
create index corpus_blobs_by_blob on ragdb.corpus_blobs (cid);
comment on table ragdb.corpus_blobs is
  'Which bytes were brought to which corpus; its readers may read them. Read it through '
  'ragdb.get_blob.';
comment on column ragdb.corpus_blobs.corpus_id is 'The corpus.';
comment on column ragdb.corpus_blobs.cid is 'The blob.';
comment on column ragdb.corpus_blobs.media_type is 'Media type that they were brought as.';
comment on column ragdb.corpus_blobs.brought_by is 'Role that brought the bytes.';
comment on column ragdb.corpus_blobs.brought_at is 'When they came to the corpus.';

-- What filters test stands first: a scan for one that no index serves reads no further.
create table ragdb.documents (
  corpus_id integer not null
    constraint documents_corpus_exists references ragdb.corpora on delete cascade,
  doc_no integer not null,
  chunks integer not null,
  metadata jsonb not null default '{}'
    constraint documents_metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  source text collate "C" not null,
  language text,
  title text,
  media_type text not null,
  doc_cid text collate "C" not null
    constraint documents_cid_is_a_sha256 check (doc_cid ~ '^sha256:[0-9a-f]{64}$'),
  name text collate "C" not null,
  external_id text collate "C",
  source_name text collate "C" not null,
  chunking jsonb not null,
  event_id uuid not null,
  size_bytes bigint not null,
  tokens bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  pages integer
);
-- Statistics of a corpus that is new since the last analyze say that it has no rows. Then any
-- index that begins with corpus_id looks as good as the right one: 10,000 lookups scanned the
-- corpus each. Without statistics of that column the planner takes a corpus for a two-hundredth of
-- the table, and a unique key for one row.
--
-- That does not help where the table was analyzed when it was nearly empty. So an index begins with
-- corpus_id only where a corpus is read in its order, and a key that is looked up begins with what
-- is asked for.
-- Where the table was analyzed while all its rows were dead (a first load that was rolled back, a
-- corpus that was dropped), every index costs nothing, and of equals the planner takes the newest.
-- So the key that is looked up for each row is made last.
alter table ragdb.documents alter corpus_id set statistics 0;
create index documents_by_metadata on ragdb.documents using gin (metadata jsonb_path_ops);
create index documents_by_source on ragdb.documents (corpus_id, source);
create index documents_by_external_id on ragdb.documents (external_id, corpus_id)
  where external_id is not null;
alter table ragdb.documents add constraint documents_name_is_unique_per_content
  unique (doc_cid, corpus_id, name);
alter table ragdb.documents add constraint documents_number_is_unique_per_corpus
  primary key (corpus_id, doc_no);
comment on table ragdb.documents is
  'One file, page or record of a corpus: bytes under a name. Read it through '
  'ragdb.list_documents, ragdb.get_document and bi.dim_source.';
comment on column ragdb.documents.corpus_id is 'The corpus.';
comment on column ragdb.documents.doc_no is 'Number of the document in its corpus.';
comment on column ragdb.documents.chunks is 'Number of chunks of the document.';
comment on column ragdb.documents.metadata is 'Metadata that filters test.';
comment on column ragdb.documents.source is
  'First of its sources in byte order; the only one without an external id, and then chunks are '
  'named after it.';
comment on column ragdb.documents.language is
  'Language code. Without one, the language of the corpus''s text configuration.';
comment on column ragdb.documents.title is
  'Title of the document. It is searched with every chunk.';
comment on column ragdb.documents.media_type is 'Media type of the bytes.';
comment on column ragdb.documents.doc_cid is
  'sha256: and the SHA-256 of its bytes in hex. With name, its identity.';
comment on column ragdb.documents.name is
  'What tells it from others of the same bytes: "id " and its external id; without one "source " '
  'and its source; of a conversation, whose messages have ids, "turns".';
comment on column ragdb.documents.external_id is
  'Id that the caller gave: "id" in front matter, "_id" in JSONL. Chunks are named after it. No '
  'other document of the corpus has it.';
comment on column ragdb.documents.source_name is
  'Source of the contract that the first source of the document came from; empty without one.';
comment on column ragdb.documents.chunking is
  'How the text was cut: {"chunker", "strategy", "max_tokens", "overlap", "unit"}.';
comment on column ragdb.documents.event_id is 'Event of its last change.';
comment on column ragdb.documents.size_bytes is 'Number of bytes of the original.';
comment on column ragdb.documents.tokens is 'Tokens of its chunks.';
comment on column ragdb.documents.created_at is 'When the document was put first.';
comment on column ragdb.documents.updated_at is 'When the document was changed last.';
comment on column ragdb.documents.pages is 'Number of pages; null for a document without pages.';

create table ragdb.document_sources (
  corpus_id integer not null,
  uri text collate "C" not null,
  doc_no integer not null,
  source_name text collate "C" not null default '',
  root text collate "C",
  etag text,
  seen_at timestamptz not null,
  constraint document_sources_uri_is_unique_per_corpus primary key (corpus_id, uri),
  constraint document_sources_document_exists foreign key (corpus_id, doc_no)
    references ragdb.documents on delete cascade
);
-- as for ragdb.documents
alter table ragdb.document_sources alter corpus_id set statistics 0;
create index document_sources_by_document on ragdb.document_sources (doc_no, corpus_id);
comment on table ragdb.document_sources is
  'Where documents were found: one row each, more where a record with an external id, or a '
  'conversation, is found at several. A document is deleted with its last source. Read it through '
  'ragdb.get_source and ragdb.list_documents.';
comment on column ragdb.document_sources.corpus_id is 'The corpus.';
comment on column ragdb.document_sources.uri is
  'Path, URL, or file and record ("corpus.jsonl#17").';
comment on column ragdb.document_sources.doc_no is 'The document found there.';
comment on column ragdb.document_sources.source_name is
  'Name of the contract''s source; empty without one.';
comment on column ragdb.document_sources.root is
  'Where it was brought from: the folder that was read, the folder of a file, or a contract''s '
  'source. Null where nobody said. A source from another root does not replace it.';
comment on column ragdb.document_sources.etag is 'Version that the store gave the object.';
comment on column ragdb.document_sources.seen_at is 'When this document was first found there.';

create table ragdb.chunks (
  corpus_id integer not null,
  chunk_no integer not null,
  doc_no integer not null,
  ordinal integer not null,
  start_offset integer not null,
  end_offset integer not null,
  token_count integer not null,
  page integer,  -- before the texts: filters test it
  content_hash bytea not null,
  chunk_id text collate "C" not null,
  source text collate "C" not null,
  heading text[] not null default '{}',
  citation jsonb,
  text text not null,
  constraint chunks_id_is_unique_per_corpus unique (corpus_id, chunk_id) include (chunk_no),
  -- the number takes no room there: a filter reads no more of a document's chunks
  constraint chunks_ordinal_is_unique_per_document
    unique (doc_no, corpus_id, ordinal) include (chunk_no) deferrable initially immediate,
  constraint chunks_document_exists foreign key (corpus_id, doc_no)
    references ragdb.documents on delete cascade,
  constraint chunks_offsets_are_a_range check (0 <= start_offset and start_offset <= end_offset),
  -- as ragdb_internal.content_hash. A constraint and not a trigger: no setting switches it off
  constraint chunks_content_hash_is_of_the_text check (content_hash = sha256(btrim(
    convert_to(replace(replace(text, E'\r\n', E'\n'), E'\r', E'\n'), 'UTF8'),
    '\x20090a0d0c0b'::bytea)))
);
-- The first as for ragdb.documents. Of the others a fifth of what is usual: look-ups go by key
-- whatever statistics say, and to analyze all tables that grow in a load took 7 of 324 microseconds
-- of the processor a chunk.
alter table ragdb.chunks alter corpus_id set statistics 0, alter chunk_no set statistics 20,
  alter doc_no set statistics 20, alter ordinal set statistics 20, alter chunk_id set statistics 20,
  alter source set statistics 20, alter heading set statistics 20, alter page set statistics 20,
  alter start_offset set statistics 20, alter end_offset set statistics 20,
  alter token_count set statistics 20, alter content_hash set statistics 20,
  alter citation set statistics 20, alter text set statistics 20;
-- last, as that of ragdb.documents: foreign keys look it up. It includes the id, all that a slice
-- reads of a neighbour; that of the ids includes the number, else a vacuum has an id sought in this
alter table ragdb.chunks add constraint chunks_number_is_unique_per_corpus
  primary key (corpus_id, chunk_no) include (chunk_id);
comment on table ragdb.chunks is
  'The unit of retrieval: a range of a document''s text. Read it through ragdb.document_chunks and '
  'ragdb.get_chunk.';
comment on column ragdb.chunks.corpus_id is 'The corpus.';
comment on column ragdb.chunks.chunk_no is
  'Number of the chunk in its corpus. The chunk keeps it when chunks around it change.';
comment on column ragdb.chunks.doc_no is 'The document.';
comment on column ragdb.chunks.ordinal is 'Position in the document, from 0.';
comment on column ragdb.chunks.start_offset is 'First character in the document''s text, from 0.';
comment on column ragdb.chunks.end_offset is 'Character after its last.';
comment on column ragdb.chunks.token_count is 'Tokens of its text.';
comment on column ragdb.chunks.page is 'Page on which the chunk starts, from 1.';
comment on column ragdb.chunks.content_hash is
  'SHA-256 of its text in UTF-8, with CRLF and CR as LF and outer white space trimmed.';
comment on column ragdb.chunks.chunk_id is
  'Identity. The same text at the same source has the same id in every database.';
comment on column ragdb.chunks.source is 'Source of the document, for display.';
comment on column ragdb.chunks.heading is
  'Headings that at least three quarters of the chunk stand under, outermost first. They are '
  'searched with it.';
comment on column ragdb.chunks.citation is
  'What a citation of the chunk contains, as it was given; null means {"uri": source}.';
comment on column ragdb.chunks.text is 'Text of the chunk.';

create table ragdb.events (
  corpus_id integer not null,
  lamport bigint not null,
  event_id uuid not null,
  kind text not null,
  created_at timestamptz not null,
  author text not null,
  corpus text not null,
  doc_cid text not null,
  source text collate "C" not null,
  title text,
  language text,
  chunks integer not null,
  document_hash bytea not null,
  chunks_hash bytea not null,
  constraint events_lamport_is_unique_per_corpus primary key (corpus_id, lamport),
  constraint events_id_is_unique_per_corpus unique (corpus_id, event_id)
);
create index events_by_source on ragdb.events (corpus_id, source, lamport);
comment on table ragdb.events is
  'What happened to documents, for consumers that poll. Read it through ragdb.corpus_events and '
  'ragdb.events_after.';
comment on column ragdb.events.corpus_id is 'The corpus.';
comment on column ragdb.events.lamport is
  'Tick of the corpus: microseconds since 1970, and more than the tick before. A reader who has '
  'seen one has seen all before it.';
comment on column ragdb.events.event_id is 'UUID of version 7, in the order of the ticks.';
comment on column ragdb.events.kind is 'Kind of event: rag.document.ingested.';
comment on column ragdb.events.created_at is 'Time of the wall clock.';
comment on column ragdb.events.author is 'Role that made the change.';
comment on column ragdb.events.corpus is 'Name of the corpus.';
comment on column ragdb.events.doc_cid is 'Sha256 of the document''s bytes.';
comment on column ragdb.events.source is 'First source of the document at that time.';
comment on column ragdb.events.title is 'Title of the document at that time.';
comment on column ragdb.events.language is 'Language of the document at that time.';
comment on column ragdb.events.chunks is 'Number of chunks of the document at that time.';
comment on column ragdb.events.document_hash is
  'SHA-256 of the row of the document at that time and of its sources.';
comment on column ragdb.events.chunks_hash is
  'SHA-256 of its chunks at that time, chunk onto chunk: number, place, id, source, headings, '
  'citation, the hash of the text, who said it, and links.';
