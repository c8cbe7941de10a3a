-- What the ledger enters of recorded states, and of versions of corpora that keep their history.

-- Returns the hash of what was recorded of a state: all its columns.
create or replace function ragdb_internal.state_hash(state ragdb.recorded_states)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.state/1'::bytea, pg_catalog.uuid_send((state).state_id),
  pg_catalog.timestamptz_send((state).created_at), pg_catalog.int4send((state).corpus_id),
  ragdb_internal.utf8((state).kind), ragdb_internal.utf8((state).key),
  pg_catalog.int4send((state).nth), (state).hash,
  ragdb_internal.utf8((state).caller));

-- Tells whether a row of the past was erased by an act that names it.
create or replace function ragdb_internal.is_erased_on_record(past ragdb.past_rows)
returns boolean
language sql stable parallel safe
return (past).erased_hash is not null and 'history_erased' = any (ragdb_internal.acts_naming(
  ragdb_internal.erased_entry((past).corpus_id, (past).until, (past).erased_hash)));

-- Returns the hash of a version of a corpus: all its columns, then the rows as they were before it.
-- A row that an act erased counts as it was: the act excuses it, and nothing else of its version.
create or replace function ragdb_internal.version_hash(version ragdb.corpus_versions)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic array[
  'ragdb.version/1'::bytea, pg_catalog.int4send((version).corpus_id),
  pg_catalog.int8send((version).version), pg_catalog.timestamptz_send((version).began_at),
  ragdb_internal.utf8((version).before::text)]
  || array(
    select case
        when ragdb_internal.is_erased_on_record(p) then p.erased_hash
        else ragdb_internal.past_row_hash(p.kind, p.key, p.was) end
      from ragdb.past_rows p
      where p.corpus_id = (version).corpus_id and p.until = (version).version
        and p.kind = any (ragdb_internal.past_kinds())
      order by p.kind, p.key));
