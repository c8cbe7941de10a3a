-- How much ragdb takes. Who checks a size, and who says in a hint what it may be, reads it here.

-- How much ragdb takes of each thing.
create type ragdb_internal.limits as (
  quoted_characters integer,
  call_documents integer,
  page_rows integer,
  export_rows integer,
  indexed_characters integer,
  chunk_lexemes integer,
  lexeme_bytes integer,
  glob_characters integer,
  glob_stars integer,
  filter_conditions integer,
  filter_bytes integer,
  chunk_characters integer,
  corpus_numbers integer,
  synonyms integer,
  contract_characters integer,
  page_bytes integer,
  peer_document_bytes integer);

-- Returns how much ragdb takes of each thing.
create or replace function ragdb_internal.limits() returns ragdb_internal.limits
language sql immutable parallel safe
return row(
  80,  -- quoted_characters: of a user's text in an error
  10000,  -- call_documents: documents in one call
  10000,  -- page_rows: in one page of a list, unless it says another number
  1000,  -- export_rows: chunks or embeddings in one page of an export or an import
  65536,  -- indexed_characters: of a text, from its beginning, that are searched
  16000,  -- chunk_lexemes: different lexemes of a chunk; a sparse vector holds as many
  2040,  -- lexeme_bytes: a tsvector holds words of up to 2,046
  1024,  -- glob_characters
  16,  -- glob_stars
  100,  -- filter_conditions: each becomes a part of a statement
  4000000,  -- filter_bytes: every condition is held with all of the filter
  10000000,  -- chunk_characters: of the text of one chunk
  2000000000,  -- corpus_numbers: that a corpus gives out to documents, and as many to chunks
  100000,  -- synonyms: pairs of them in a corpus
  10000000,  -- contract_characters: of the text of one contract
  4000000,  -- page_bytes: of documents in a page of an export or of events, if it is more than one
  32000000  -- peer_document_bytes: of a document as it is sent to peers
)::ragdb_internal.limits;
