comment on table ragdb.lexemes is
  'Dictionary of a corpus: every lexeme with its number, the chunks that have it (df, exact) and '
  'the largest impact it may have (never too small).';
comment on column ragdb.lexemes.corpus_id is 'The corpus.';
comment on column ragdb.lexemes.lexeme is 'The lexeme as ragdb_internal.lexemes writes it.';
comment on column ragdb.lexemes.term_id is
  'Number of the lexeme in its corpus; the index of ragdb.chunk_lexemes.impacts.';
comment on column ragdb.lexemes.df is
  'Chunks of the corpus that have the lexeme; 0 until the next ragdb.optimize_corpus once the last '
  'one is gone.';
comment on column ragdb.lexemes.max_impact is 'Upper bound of the lexeme''s impacts, 0 to k1 + 1.';
comment on column ragdb.lexemes.block_weight is
  'Its idf when ragdb.term_blocks was made; null where it has no blocks.';
comment on table ragdb.chunk_lexemes is
  'The lexical index, one row a chunk, derived from ragdb.chunks and ragdb.documents.';
comment on column ragdb.chunk_lexemes.corpus_id is 'The corpus.';
comment on column ragdb.chunk_lexemes.chunk_no is 'The chunk.';
comment on column ragdb.chunk_lexemes.lexeme_count is
  'Length of the chunk: its lexemes, each occurrence counted.';
comment on column ragdb.chunk_lexemes.impacts is 'Impact of every lexeme of the chunk, by term id.';
comment on column ragdb.chunk_lexemes.lexemes is
  'Term ids of the chunk with their positions, as hex(corpus id).hex(term id).';
comment on table ragdb.block_states is
  'Which chunks of a corpus ragdb.term_blocks speaks of, as of the last ragdb.optimize_corpus; no '
  'row where it has none.';
comment on column ragdb.block_states.corpus_id is 'The corpus.';
comment on column ragdb.block_states.last_chunk_no is
  'The blocks know the chunks up to this number.';
comment on column ragdb.block_states.stale_chunks is
  'Those of them that were indexed anew since, 1,000 at most.';
comment on table ragdb.term_blocks is
  'What each frequent lexeme of a corpus scores at most in groups of four chunks, up to 16,000 '
  'groups at a time; derived from ragdb.chunk_lexemes.';
comment on column ragdb.term_blocks.corpus_id is 'The corpus.';
comment on column ragdb.term_blocks.term_id is 'The lexeme''s number in its corpus.';
comment on column ragdb.term_blocks.block_no is
  'Block of groups: the group''s number, from 0, modulo the number of blocks.';
comment on column ragdb.term_blocks.scores is
  'The lexeme''s block_weight times its largest impact in a group, by the group''s place in the '
  'block, from 1.';
