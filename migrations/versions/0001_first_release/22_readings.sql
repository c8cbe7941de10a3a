-- How files were read, which saves reading them again. Nothing is proved by it, and no other table
-- refers to it.

create table ragdb.document_readings (
  corpus_id integer not null,
  doc_no integer not null,
  event_id uuid not null,
  reading bytea not null,
  file_cid text collate "C",
  documents integer not null,
  empty integer not null,
  pages_without_text integer not null,
  bad_characters integer not null,
  cut integer not null,
  constraint document_readings_are_unique primary key (corpus_id, doc_no),
  constraint document_readings_document_exists foreign key (corpus_id, doc_no)
    references ragdb.documents on delete cascade
);
-- as for ragdb.documents
alter table ragdb.document_readings alter corpus_id set statistics 0;
comment on table ragdb.document_readings is
  'How the files of documents were read, so that a file that is as it was is not read again. It '
  'may be emptied: then all files are read again, once. Read it through ragdb.unchanged_sources.';
comment on column ragdb.document_readings.corpus_id is 'The corpus.';
comment on column ragdb.document_readings.doc_no is
  'Number in its corpus of the document that the file is, or of the first that it has.';
comment on column ragdb.document_readings.event_id is
  'Last event of the documents of the file then. Documents that have another now, or are fewer, '
  'are not what was read.';
comment on column ragdb.document_readings.reading is
  'SHA-256 of what shapes a document beside the bytes of its file: source, options and readers, as '
  'the client hashes them.';
comment on column ragdb.document_readings.file_cid is
  'sha256: and the SHA-256 of the file, where the document is the first of its conversations or '
  'records; null where the document is the file, whose identity it has.';
comment on column ragdb.document_readings.documents is 'How many documents the file has.';
comment on column ragdb.document_readings.empty is
  'How many of its records had nothing to be found.';
comment on column ragdb.document_readings.pages_without_text is
  'How many pages of the file had no text.';
comment on column ragdb.document_readings.bad_characters is
  'How many characters of the file no text has: U+FFFD stands for them.';
comment on column ragdb.document_readings.cut is
  'How many chunks of the file are found by the words of their first 65,536 characters only.';
