-- What writers of evidence leave for the ledger: a note of each row, and acts, which say what was
-- taken away on purpose. sql/ledger seals them.

-- Notes a row of evidence for the ledger, with its hash where the writer has it; does nothing while
-- the ledger is off. The settings are read by whoever writes evidence, so this is one statement
-- with a kept plan.
create or replace function ragdb_internal.note(kind text, id text, hash bytea default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.ledger_pending
    select note.kind, note.id, note.hash
    where not exists (select from ragdb.settings s
      where s.key = 'ledger_is_on' and s.value = 'false'::jsonb);
end $$;

-- Notes some rows of one kind for the ledger; does nothing while it is off.
create or replace function ragdb_internal.note_all(kind text, ids text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.ledger_pending
    select note_all.kind, i.id, null from unnest(ids) with ordinality i (id, n)
    where not exists (select from ragdb.settings s
      where s.key = 'ledger_is_on' and s.value = 'false'::jsonb)
    order by i.n;
end $$;

-- Records what was done to evidence on purpose, by whom and when. Noted even while the ledger is
-- off: that it is off is such an act.
create or replace function ragdb_internal.record_act(act ragdb.ledger_acts) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  act.act_id := ragdb_internal.uuid7(ragdb_internal.now());
  act.created_at := ragdb_internal.now();
  act.caller := ragdb_internal.caller();
  act.kinds := coalesce(act.kinds, '{}');
  act.entries := coalesce(act.entries, '{}');
  insert into ragdb.ledger_acts values (act.*);
  insert into ragdb.ledger_pending values ('act', act.act_id::text, null);
end $$;

-- Records that the traces of a month (its first day, UTC), and what hangs from them, were dropped
-- by their age.
create or replace function ragdb_internal.record_retention(month date, reason text) returns void
language sql
return ragdb_internal.record_act(row(null, null, 'retention', null,
  '{answer,feedback,gate,rerank,trace}'::text[], null, month::timestamp at time zone 'UTC',
  (month + interval '1 month') at time zone 'UTC', null, reason)::ragdb.ledger_acts);

-- Records that some rows, each named kind:id, were erased or redacted.
create or replace function ragdb_internal.record_erased(entries text[], reason text) returns void
language sql
return ragdb_internal.record_act(row(null, null, 'erasure', null, array(
    select distinct pg_catalog.split_part(e.entry, ':', 1)
    from pg_catalog.unnest(record_erased.entries) e (entry) order by 1),
  null, null, null, record_erased.entries, reason)::ragdb.ledger_acts);

-- Returns what an act calls a document: by its event.
create or replace function ragdb_internal.document_entry(corpus_id integer, event_id text)
returns text
language sql immutable parallel safe
return 'document:' || document_entry.corpus_id || '/' || document_entry.event_id;

-- Records that documents of a corpus (each by its event) or rows of its history went, and why.
-- Documents are not rows of the ledger, and what an act calls them excuses nothing there. Their
-- sources are for those who may read the corpus: the events have them.
create or replace function ragdb_internal.record_deletion(
  act text, corpus ragdb.corpora, documents text[], reason text)
returns void
language sql
return ragdb_internal.record_act(row(null, null, record_deletion.act, null, null,
  (corpus).corpus_id, null, null, record_deletion.documents, record_deletion.reason
  )::ragdb.ledger_acts);

-- Returns the acts that name a row. By the index, whatever the planner believes and whoever asks
-- has switched off for itself: acts are few, one may name all that a source had, and each row asks.
create or replace function ragdb_internal.acts_naming(entry text) returns text[]
language sql stable parallel safe
set enable_seqscan = off
set enable_bitmapscan = on
begin atomic
  select array(select a.act from ragdb.ledger_acts a where a.entries @> array[acts_naming.entry]);
end;

-- Tells whether an act says that a document of this event was deleted. Not one of an erasure, which
-- names what an admin likes: a document would be called deleted that is there.
create or replace function ragdb_internal.is_deleted_on_record(corpus_id integer, event_id uuid)
returns boolean
language sql stable parallel safe
return 'erasure' <> any (ragdb_internal.acts_naming(ragdb_internal.document_entry(
  is_deleted_on_record.corpus_id, is_deleted_on_record.event_id::text)));

-- Records that a corpus was dropped with what hangs from it.
create or replace function ragdb_internal.record_corpus_dropped(corpus ragdb.corpora) returns void
language sql
return ragdb_internal.record_act(row(null, null, 'corpus_dropped', null,
  '{atom,decision,event,proposal,slice,version}'::text[], (corpus).corpus_id, null, null, null,
  'corpus ' || (corpus).name)::ragdb.ledger_acts);

-- Records that the traces of a dropped corpus, what hangs from them, and its runs were erased.
create or replace function ragdb_internal.record_traces_erased(corpus_id integer, reason text)
returns void
language sql
return ragdb_internal.record_act(row(null, null, 'traces_erased', null,
  '{answer,feedback,gate,rerank,run,trace}'::text[], record_traces_erased.corpus_id, null, null,
  null, pg_catalog.concat('what a dropped corpus left', ': ' || record_traces_erased.reason)
  )::ragdb.ledger_acts);

-- Records that rows of a role, each named kind:id, were erased, 10000 in an act: who verifies reads
-- an act at once. It does not name the role, which is to be forgotten.
create or replace function ragdb_internal.record_caller_erased(entries text[], reason text)
returns void
language sql
begin atomic
  select ragdb_internal.record_act(row(null, null, 'caller_erased', null, array(
      select distinct pg_catalog.split_part(e.entry, ':', 1)
      from pg_catalog.unnest(a.entries) e (entry) order by 1),
    null, null, null, a.entries,
    pg_catalog.concat('what one role asked and said', ': ' || record_caller_erased.reason)
    )::ragdb.ledger_acts)
  from (
    select pg_catalog.array_agg(e.entry order by e.n) as entries
    from pg_catalog.unnest(record_caller_erased.entries) with ordinality e (entry, n)
    group by (e.n - 1) / 10000 order by (e.n - 1) / 10000) a;
end;

-- Returns what the ledger and an act call a row of evidence.
create or replace function ragdb_internal.row_entry(kind text, corpus_id integer, id uuid)
returns text
language sql immutable parallel safe
return row_entry.kind || ':' || row_entry.corpus_id || '/' || row_entry.id;

-- Tells whether an act says that a row of evidence was erased.
create or replace function ragdb_internal.is_row_erased(
  kind text, corpus_id integer, id uuid)
returns boolean
language sql stable parallel safe
return ragdb_internal.acts_naming(ragdb_internal.row_entry(
  is_row_erased.kind, is_row_erased.corpus_id, is_row_erased.id)) <> '{}';

-- Returns the name of this database in the checkpoints of its ledger; null before it has one. The
-- name is given when it is first needed and not when ragdb is installed: the dump of an extension
-- brings its own.
create or replace function ragdb_internal.ledger_origin() returns text
language sql stable parallel safe
return (select s.value #>> '{}' from ragdb.settings s where s.key = 'ledger_origin');

-- Names this database in checkpoints by its id where it has no name there; returns the name, which
-- stays until the transaction ends.
create or replace function ragdb_internal.name_ledger() returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.make_origin();
  insert into ragdb.settings (key, value)
    select 'ledger_origin', to_jsonb('ragdb.invalid/' || o.id) from ragdb.origin() o
    on conflict on constraint settings_key_is_unique do nothing;
  perform from ragdb.settings s where s.key = 'ledger_origin' for share;
  return ragdb_internal.ledger_origin();
end $$;
