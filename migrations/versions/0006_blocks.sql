-- The blocks there are were made of single chunks; ragdb.optimize_corpus makes them anew, of groups of four, and until
-- then searches do without.
delete from ragdb.block_states;
-- a row is read whole: inside its page it costs a third of what it does beside it
alter table ragdb.term_blocks set (toast_tuple_target = 8160);
-- every batch of documents counts most of its lexemes anew: with room on its page a row moves without touching an index
alter table ragdb.lexemes set (fillfactor = 60);
