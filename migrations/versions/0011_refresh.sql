-- When the sources of contracts were read, also where nothing had changed since.

create table ragdb.source_readings (
  corpus_id integer not null
    constraint source_readings_corpus_exists references ragdb.corpora on delete cascade,
  source_name text collate "C" not null,
  tried_at timestamptz not null,
  -- null until something of it could be read
  read_at timestamptz,
  documents integer not null constraint source_readings_documents_are_counted check (documents >= 0),
  failed integer not null constraint source_readings_failures_are_counted check (failed >= 0),
  read_by text collate "C" not null,
  constraint source_readings_are_unique primary key (corpus_id, source_name)
);
