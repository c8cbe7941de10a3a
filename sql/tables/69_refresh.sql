comment on table ragdb.source_readings is
  'When each source of a contract was read last, also where nothing had changed.';
comment on column ragdb.source_readings.corpus_id is 'Corpus of the source.';
comment on column ragdb.source_readings.source_name is 'Name of the source in its contract.';
comment on column ragdb.source_readings.tried_at is 'When it was tried last.';
comment on column ragdb.source_readings.read_at is
  'When something of it was read last, or it was found empty; null when it never could be.';
comment on column ragdb.source_readings.documents is
  'Documents found then, those that had not changed included.';
comment on column ragdb.source_readings.failed is 'Files and records that could not be read then.';
comment on column ragdb.source_readings.read_by is 'Role that tried.';
