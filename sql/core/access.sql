-- Events of access: who read, exported, granted, revoked or was refused what.

select ragdb_internal.make_append_only('access_events');

-- Returns the sha256 of an event of access: all its columns but event_hash, in their order.
create or replace function ragdb_internal.access_event_hash(event ragdb.access_events)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.access/1'::bytea, pg_catalog.uuid_send((event).id),
  pg_catalog.timestamptz_send((event).created_at), ragdb_internal.utf8((event).kind),
  ragdb_internal.utf8((event).role), pg_catalog.oidsend((event).role_oid),
  ragdb_internal.utf8((event).session_role), pg_catalog.int4send((event).corpus_id),
  ragdb_internal.utf8((event).corpus), ragdb_internal.utf8((event).what));

-- Writes a read, an export or a refusal of the caller into the server's log. Not to a client,
-- however much of the log it asks for: a refusal names what is hidden from it.
create or replace function ragdb_internal.log_access(kind text, corpus text, what text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set client_min_messages = 'notice'
as $$
begin
  raise log 'ragdb access: %', jsonb_build_object('kind', kind, 'corpus', corpus, 'what', what,
    'role', ragdb_internal.caller(), 'session_role', session_user);
end $$;

-- Writes an event of access of the caller, and a line of the server's log where it is a read or a
-- refusal. A transaction that is rolled back takes its event with it, and one that is read-only, as
-- on a standby, cannot write any. The line in the server's log stays.
create or replace function ragdb_internal.record_access(
  kind text, corpus_id integer, corpus text, what text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant uuid := ragdb_internal.uuid7(ragdb_internal.now());
  v_event ragdb.access_events;
begin
  if kind in ('read', 'refused', 'export', 'export_keys') then
    perform ragdb_internal.log_access(kind, corpus, what);
  end if;
  if current_setting('transaction_read_only') = 'off' then
    v_event := row(v_id, ragdb_internal.uuid_time(v_id), kind, ragdb_internal.caller(),
      ragdb_internal.caller_oid(), session_user, corpus_id, corpus, what, null);
    v_event.event_hash := ragdb_internal.access_event_hash(v_event);
    insert into ragdb.access_events values (v_event.*);
    perform ragdb_internal.note('access', v_event.id::text, v_event.event_hash);
  end if;
end $$;

-- Returns the name of the public function that a call stack began with. The outermost public
-- function of the call, of the lines "PL/pgSQL function ragdb.search(…) …".
create or replace function ragdb_internal.called_function(context text) returns text
language sql immutable parallel safe
return coalesce((
  select m.found[1] from pg_catalog.regexp_matches(called_function.context,
    '^PL/pgSQL function ragdb\.([a-z0-9_]+)\(', 'gn') with ordinality m (found, n)
  order by m.n desc limit 1), 'a function in SQL');

-- Records that the caller reads a corpus. A session that has a primary to ask instead sets
-- ragdb.record_reads to required: its reads then leave their events, as they do without a standby.
-- Raises RG471.
create or replace function ragdb_internal.record_read(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_context text;
begin
  get diagnostics v_context = pg_context;
  if 'required' in (corpus.record_reads, current_setting('ragdb.record_reads', true))
      and current_setting('transaction_read_only') = 'on' then
    raise exception 'reads of corpus % are recorded, and this transaction cannot write',
        ragdb_internal.quote(corpus.name)
      using errcode = 'RG471',
        detail = 'record_reads of the corpus or of the session is required: what cannot be '
          'recorded is not read',
        hint = case when pg_is_in_recovery() then 'ask the primary; a standby cannot write'
          else 'read in a transaction that is not read-only' end;
  end if;
  perform ragdb_internal.record_access('read', corpus.corpus_id, corpus.name,
    ragdb_internal.called_function(v_context));
end $$;
