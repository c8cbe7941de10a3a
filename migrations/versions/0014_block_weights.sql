-- The blocks there are have other sizes; ragdb.optimize_corpus makes them anew, and until then searches do without.
delete from ragdb.block_states;
drop table ragdb.term_blocks;
create table ragdb.term_blocks (
  corpus_id integer not null
    constraint term_blocks_state_exists references ragdb.block_states on delete cascade,
  term_id integer not null,
  block_no integer not null,
  scores sparsevec not null,
  constraint term_blocks_are_unique primary key (corpus_id, term_id, block_no)
) with (toast_tuple_target = 8160);
alter table ragdb.term_blocks alter scores set storage external;
alter table ragdb.lexemes add column block_weight float8;
