-- The blocks there are have other sizes; ragdb.optimize_corpus makes them anew, and until then searches do without.
delete from ragdb.block_states;
alter table ragdb.term_blocks drop column weight;
alter table ragdb.lexemes add column block_weight float8;
