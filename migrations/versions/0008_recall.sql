-- Measured when the index is built, so that it finds what a scan finds: data differ more than any constant allows.
-- Runs once, as ragdb_owner. Comments live in sql/.

alter table ragdb.embedding_spaces add column ef_search integer not null default 240
  constraint embedding_spaces_ef_search_is_in_range check (ef_search between 1 and 1000);
