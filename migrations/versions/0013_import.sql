-- Which transaction imports a corpus: its events come at the end.

alter table ragdb.corpora add column import_xid xid8;
