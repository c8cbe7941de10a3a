-- What stands in them was made for another size of block; ragdb.optimize_corpus makes them anew, and until then
-- searches do without.
delete from ragdb.block_states;
-- a row is read whole: inside its page it costs a third of what it does beside it
alter table ragdb.term_blocks set (toast_tuple_target = 8160);
