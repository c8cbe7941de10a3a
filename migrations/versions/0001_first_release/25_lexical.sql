-- The lexical index of chunks, and what frequent lexemes score at most.

-- Derived, so without foreign keys: ragdb.repair_corpus rebuilds the lexical index from the chunks.
create table ragdb.lexemes (
  corpus_id integer not null,
  term_id integer not null,
  df integer not null,
  max_impact real not null,
  in_blocks boolean not null default false,
  lexeme text collate "C" not null,
  -- most lexemes are in one chunk or two, and an array begins with twenty bytes about itself
  chunk_nos bytea not null default '',
  -- not by corpus first: to find three hundred spellings it would look cheaper to read a corpus by
  -- it, where the planner knows of few lexemes yet
  constraint lexemes_term_id_is_unique_per_corpus unique (term_id, corpus_id)
-- Every batch of documents counts some of its lexemes anew. With room on its page for both versions
-- a row moves without touching an index. In a load of 200,000 chunks six tenths of them find it in
-- the tenth of a page that is left free. With two fifths free nine tenths do, but the load is no
-- faster (measured) and the table is a third larger.
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1);
-- as for ragdb.chunks
alter table ragdb.lexemes alter corpus_id set statistics 0, alter term_id set statistics 20,
  alter df set statistics 20, alter max_impact set statistics 20, alter in_blocks set statistics 20,
  alter lexeme set statistics 20, alter chunk_nos set statistics 20;
-- last, as that of ragdb.documents
alter table ragdb.lexemes add constraint lexemes_are_unique_per_corpus
  primary key (corpus_id, lexeme);
-- The few lexemes with accents, by their letters without them, as ragdb_internal.unaccented and
-- ragdb_internal.accented_letters say. Not by corpus first, as above.
create index lexemes_by_unaccented on ragdb.lexemes (
  translate(regexp_replace(normalize(lexeme, nfd), '[\u0300-\u036F]', '', 'g'),
    'đħıłøŧ', 'dhilot'), corpus_id)
  where lexeme ~ '[\u00E0-\u024F\u1E00-\u1EFF]';
-- the sample is as large as the column that asks for most needs
alter index ragdb.lexemes_by_unaccented alter column 1 set statistics 20;
comment on table ragdb.lexemes is
  'Dictionary of a corpus: every lexeme, its number, how many chunks have it and the largest '
  'impact it may have.';
comment on column ragdb.lexemes.corpus_id is 'The corpus.';
comment on column ragdb.lexemes.term_id is
  'Number of the lexeme in its corpus. It is the index into ragdb.chunk_lexemes.impacts.';
comment on column ragdb.lexemes.df is
  'Number of chunks of the corpus that have the lexeme, exact. A row with 0 stays until '
  'ragdb.optimize_corpus, or until writers make the blocks of the corpus anew.';
comment on column ragdb.lexemes.max_impact is
  'Upper bound of the lexeme''s impacts, 0 to k1 + 1. It is never too small.';
comment on column ragdb.lexemes.in_blocks is
  'Whether the lexeme has had 64 chunks at once: from then on ragdb.term_blocks says where it is.';
comment on column ragdb.lexemes.lexeme is 'The lexeme, as the lexical index stores it.';
comment on column ragdb.lexemes.chunk_nos is
  'The chunks that have the lexeme, four bytes each, big-endian; of one in blocks, those that '
  'the blocks may lack.';

create table ragdb.chunk_lexemes (
  corpus_id integer not null,
  chunk_no integer not null,
  lexeme_count integer not null,
  -- scoring reads it of every candidate
  impacts sparsevec storage main not null,
  word_order bytea,
  -- numbers are given in order
  constraint chunk_lexemes_chunk_is_unique primary key (corpus_id, chunk_no)
    with (fillfactor = 100)
-- what an edit leaves behind is half of what there may be
) with (autovacuum_vacuum_scale_factor = 0.05);
-- as for ragdb.chunks
alter table ragdb.chunk_lexemes alter corpus_id set statistics 0, alter chunk_no set statistics 20,
  alter lexeme_count set statistics 20, alter impacts set statistics 20,
  alter word_order set statistics 20;
comment on table ragdb.chunk_lexemes is
  'The lexical index, one row a chunk. It is derived from ragdb.chunks and ragdb.documents.';
comment on column ragdb.chunk_lexemes.corpus_id is 'The corpus.';
comment on column ragdb.chunk_lexemes.chunk_no is 'The chunk.';
comment on column ragdb.chunk_lexemes.lexeme_count is
  'Length of the chunk: its lexemes, each occurrence counted.';
comment on column ragdb.chunk_lexemes.impacts is 'Impact of every lexeme of the chunk, by term id.';
comment on column ragdb.chunk_lexemes.word_order is
  'A byte for every word of the chunk, in their order, and a 1 for words between that do not '
  'count: most phrases that it has or lacks show here. Null where words do not have an order.';

create table ragdb.block_states (
  corpus_id integer constraint block_states_corpus_is_unique primary key
    constraint block_states_corpus_exists references ragdb.corpora on delete cascade,
  last_chunk_no integer not null,
  stale_chunks integer[] not null default '{}',
  gone_chunks integer not null default 0,
  swept_to integer,
  block_nos integer[] not null default '{}'
);
comment on table ragdb.block_states is
  'Which chunks of a corpus ragdb.term_blocks covers. A corpus without blocks does not have a row.';
comment on column ragdb.block_states.corpus_id is 'The corpus.';
comment on column ragdb.block_states.last_chunk_no is 'Largest chunk number that the blocks cover.';
comment on column ragdb.block_states.stale_chunks is
  'Covered chunks that have been indexed again since, at most 1,000.';
comment on column ragdb.block_states.block_nos is 'Numbers of its blocks.';
comment on column ragdb.block_states.gone_chunks is
  'Number of covered chunks that have been taken away since all blocks were made, or since writers '
  'began to make them anew.';
comment on column ragdb.block_states.swept_to is
  'Chunk number up to which writers have made the blocks anew; null where they are at none.';

create table ragdb.term_blocks (
  corpus_id integer not null
    constraint term_blocks_state_exists references ragdb.block_states on delete cascade,
  term_id integer not null,
  block_no integer not null,
  weight real not null,
  scores sparsevec storage external,
  dense_scores halfvec storage external,
  constraint term_blocks_are_unique primary key (corpus_id, term_id, block_no),
  constraint term_blocks_have_scores check ((scores is null) <> (dense_scores is null))
-- A row is read whole: inside its page it costs a third of what it does beside it. Merged rows
-- leave half as much room behind as there is, which a load needs again a few seconds later: the
-- server looks for a twentieth, not a fifth.
) with (toast_tuple_target = 8160,
  autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05,
  toast.autovacuum_vacuum_threshold = 200, toast.autovacuum_vacuum_scale_factor = 0.05);
comment on table ragdb.term_blocks is
  'The most that each frequent lexeme of a corpus scores in each group of four chunks. A row '
  'covers the groups of 256 chunk numbers, or of up to 240 times as many. It is derived from '
  'ragdb.chunk_lexemes.';
comment on column ragdb.term_blocks.corpus_id is 'The corpus.';
comment on column ragdb.term_blocks.term_id is 'Number of the lexeme in its corpus.';
comment on column ragdb.term_blocks.block_no is
  'Block of the groups: the number of its first group, from 0, divided by 64.';
comment on column ragdb.term_blocks.weight is
  'What impacts are multiplied by: what the lexeme weighed when the row was written.';
comment on column ragdb.term_blocks.scores is
  'Weight times the largest impact in each group, by the group''s place in the block, from 1; null '
  'where dense_scores says it.';
comment on column ragdb.term_blocks.dense_scores is
  'The same, rounded up to halves, in a row where many groups have the lexeme; null in others.';

create table ragdb.synonyms (
  corpus_id integer not null
    constraint synonyms_corpus_exists references ragdb.corpora on delete cascade,
  word text collate "C" not null,
  means text collate "C" not null,
  lexeme text collate "C" not null,
  constraint synonyms_are_unique_per_corpus primary key (corpus_id, word, means)
);
create index synonyms_by_lexeme on ragdb.synonyms (corpus_id, lexeme);
comment on table ragdb.synonyms is
  'Words of a corpus and what stands for them in a query. Read it through ragdb.list_synonyms.';
comment on column ragdb.synonyms.corpus_id is 'The corpus.';
comment on column ragdb.synonyms.word is 'The word, as it was given.';
comment on column ragdb.synonyms.means is 'What stands for it: a word or several.';
comment on column ragdb.synonyms.lexeme is 'Lexeme of the word, by which a query finds it.';
