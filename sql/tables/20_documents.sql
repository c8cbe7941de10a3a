comment on table ragdb.blobs is 'Original bytes of documents, kept once for all corpora.';
comment on column ragdb.blobs.cid is
  'sha256: and the SHA-256 of the bytes in hex; the doc_cid of the document.';
comment on column ragdb.blobs.bytes is 'The bytes.';
comment on column ragdb.blobs.media_type is 'Media type of the bytes.';
comment on column ragdb.blobs.size is 'Number of bytes.';
comment on table ragdb.documents is
  'One file, page or record of a corpus, whatever the number of places it is found at.';
comment on column ragdb.documents.corpus_id is 'The corpus.';
comment on column ragdb.documents.doc_no is 'Number of the document in its corpus.';
comment on column ragdb.documents.doc_cid is
  'Identity: sha256: and the SHA-256 of its bytes in hex.';
comment on column ragdb.documents.title is 'Title; searched with every chunk.';
comment on column ragdb.documents.language is
  'Language code; that of the corpus''s text configuration when none was given.';
comment on column ragdb.documents.media_type is 'Media type of the bytes.';
comment on column ragdb.documents.metadata is 'What filters ask for.';
comment on column ragdb.documents.chunking is
  'How it was cut: chunker, strategy, max_tokens, overlap, unit.';
comment on column ragdb.documents.external_id is
  'Id that the caller gave it; its chunks are named after it.';
comment on column ragdb.documents.source_name is
  'Name of the contract''s source that its first source came from, or empty.';
comment on column ragdb.documents.source is
  'First of its sources in byte order; its chunks are named after it.';
comment on column ragdb.documents.size_bytes is 'Number of bytes of the original.';
comment on column ragdb.documents.pages is 'Number of pages, where it has pages.';
comment on column ragdb.documents.chunks is 'Number of its chunks.';
comment on column ragdb.documents.tokens is 'Tokens of its chunks.';
comment on column ragdb.documents.event_id is 'Event of its last change.';
comment on column ragdb.documents.created_at is 'When it was put first.';
comment on column ragdb.documents.updated_at is 'When it was changed last.';
comment on table ragdb.document_sources is
  'Where documents were found; a document goes with its last source.';
comment on column ragdb.document_sources.corpus_id is 'The corpus.';
comment on column ragdb.document_sources.uri is
  'Path, URL, or file and record ("corpus.jsonl#17").';
comment on column ragdb.document_sources.doc_no is 'The document found there.';
comment on column ragdb.document_sources.source_name is 'Name of the contract''s source, or empty.';
comment on column ragdb.document_sources.etag is 'Version that the store gave the object.';
comment on column ragdb.document_sources.seen_at is 'When this document was first found there.';
comment on table ragdb.chunks is 'The unit of retrieval: a range of a document''s text.';
comment on column ragdb.chunks.corpus_id is 'The corpus.';
comment on column ragdb.chunks.chunk_no is
  'Number of the chunk in its corpus; stays with it through changes around it.';
comment on column ragdb.chunks.doc_no is 'The document.';
comment on column ragdb.chunks.ordinal is 'Position in the document, from 0.';
comment on column ragdb.chunks.chunk_id is
  'Identity: the same text at the same source has the same id in every database.';
comment on column ragdb.chunks.source is 'Source of the document, for display.';
comment on column ragdb.chunks.heading is
  'Headings above the start of the chunk, outermost first; searched with it.';
comment on column ragdb.chunks.page is 'Page of its start, from 1.';
comment on column ragdb.chunks.start_offset is 'First character in the document''s text, from 0.';
comment on column ragdb.chunks.end_offset is 'Character after its last.';
comment on column ragdb.chunks.token_count is 'Tokens of its text.';
comment on column ragdb.chunks.content_hash is
  'SHA-256 of its text in UTF-8 with CRLF and CR as LF and outer white space trimmed.';
comment on column ragdb.chunks.citation is
  'What a citation of it carries; null means {"uri": source}.';
comment on column ragdb.chunks.text is 'Its text.';
comment on table ragdb.edges is 'Typed links between chunks.';
comment on column ragdb.edges.corpus_id is 'The corpus.';
comment on column ragdb.edges.parent_no is 'Chunk that the edge leaves.';
comment on column ragdb.edges.child_no is 'Chunk that it points to.';
comment on column ragdb.edges.edge_type is
  'default: next chunk; branch: chunk of the section, or head of a section below; reference: '
  'hyperlink; reply: answer in a conversation.';
comment on column ragdb.edges.child_salience is 'Salience of the child, 0 to 1.';
comment on table ragdb.document_links is
  'Hyperlinks of chunks, as written; those whose target is in the corpus are edges too.';
comment on column ragdb.document_links.corpus_id is 'The corpus.';
comment on column ragdb.document_links.chunk_no is 'Chunk that holds the link.';
comment on column ragdb.document_links.target is 'Path or URL it leads to, without fragment.';
comment on table ragdb.event_clock is
  'One row: the clock of events. Whoever writes an event holds it, so events are seen in order.';
comment on column ragdb.event_clock.id is 'Always true.';
comment on column ragdb.event_clock.lamport is 'Tick of the last event.';
comment on column ragdb.event_clock.at is 'Time in the last event''s id.';
comment on table ragdb.events is
  'What happened to documents, for consumers that poll ragdb.events_after.';
comment on column ragdb.events.lamport is
  'Tick; without gaps for the reader who has seen the one before.';
comment on column ragdb.events.event_id is 'UUID of version 7, in the order of the ticks.';
comment on column ragdb.events.kind is 'rag.document.ingested.';
comment on column ragdb.events.created_at is 'Wall clock.';
comment on column ragdb.events.author is 'Role that did it.';
comment on column ragdb.events.corpus_id is 'The corpus.';
comment on column ragdb.events.corpus is 'Name of the corpus.';
comment on column ragdb.events.doc_cid is 'The document.';
comment on column ragdb.events.title is 'Title of the document then.';
comment on column ragdb.events.language is 'Language of the document then.';
comment on column ragdb.events.chunks is 'Chunks of the document then.';
