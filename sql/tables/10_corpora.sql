comment on table ragdb.settings is
  'Settings and counters of the whole database; only the owner writes it.';
comment on column ragdb.settings.key is
  'Name: allow_test_clock, corpora_created (the last corpus id given out) and those of later '
  'chapters.';
comment on column ragdb.settings.value is 'Value of the setting.';
comment on table ragdb.corpora is
  'Named sets of documents, with how they are searched and their exact counters. A writer of a '
  'corpus holds its row.';
comment on column ragdb.corpora.corpus_id is
  'Number of the corpus; never given out again, so that old traces stay its own.';
comment on column ragdb.corpora.name is 'Name, 1 to 64 of a-z, 0-9 and -.';
comment on column ragdb.corpora.personal_of is
  'Role whose corpus "personal" this is; null for a corpus that roles may share.';
comment on column ragdb.corpora.title is 'Title for people.';
comment on column ragdb.corpora.text_config is
  'Text configuration of pg_catalog by which its texts and queries become lexemes.';
comment on column ragdb.corpora.k1 is 'BM25 saturation of term frequency, 0 to 10.';
comment on column ragdb.corpora.b is 'BM25 weight of length, 0 to 1.';
comment on column ragdb.corpora.pivot is
  'Length in lexemes at which BM25 neither rewards nor punishes; pinned until '
  'ragdb.optimize_corpus.';
comment on column ragdb.corpora.record_query_text is
  'What traces keep of a query: full, hash or none.';
comment on column ragdb.corpora.version is
  'Raised once by every transaction that writes to the corpus.';
comment on column ragdb.corpora.version_xid is 'Transaction that raised the version last.';
comment on column ragdb.corpora.import_xid is
  'Transaction that imports the corpus, until it has finished; null otherwise.';
comment on column ragdb.corpora.documents is 'Documents of the corpus.';
comment on column ragdb.corpora.chunks is 'Chunks of the corpus: N of BM25.';
comment on column ragdb.corpora.lexeme_count is 'Lexemes of all chunks, each occurrence counted.';
comment on column ragdb.corpora.token_count is 'Tokens of all chunks, as the chunker counted them.';
comment on column ragdb.corpora.size_bytes is 'Bytes of all documents.';
comment on column ragdb.corpora.languages is
  'Documents by language, an object of counts over 0; those of no language are not in it.';
comment on column ragdb.corpora.next_doc_no is 'Number of the next document.';
comment on column ragdb.corpora.next_chunk_no is 'Number of the next chunk.';
comment on column ragdb.corpora.next_term_id is 'Number of the next lexeme.';
comment on column ragdb.corpora.created_at is 'When it was created.';
comment on column ragdb.corpora.updated_at is 'Start of the transaction that wrote to it last.';
comment on table ragdb.corpus_grants is
  'Rights of roles to a corpus. A corpus with no row here is open to ragdb_reader and '
  'ragdb_writer.';
comment on column ragdb.corpus_grants.corpus_id is 'The corpus.';
comment on column ragdb.corpus_grants.role is 'Database role; its members have the right too.';
comment on column ragdb.corpus_grants.privilege is
  'The right: read, write (reads too) or admin (writes too).';
