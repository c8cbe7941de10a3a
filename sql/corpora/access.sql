-- Which reads are recorded, refusals that clients record, and the events of access: read by
-- auditors, dropped by admins when they are old.

create or replace function ragdb.record_reads(corpus text, mode text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin', true);
  v_ids constant integer[] := ragdb_internal.with_parts(v_corpus.corpus_id);
begin
  if mode is null or mode not in ('off', 'on', 'required') then
    raise exception 'mode is %, not off, on or required', ragdb_internal.quote(mode)
      using errcode = 'RG400',
        detail = 'on records where the transaction can write, required refuses where it cannot',
        hint = 'a read that is recorded waits for the disk as a write does';
  end if;
  update ragdb.corpora c set record_reads = record_reads.mode where c.corpus_id = any (v_ids);
  perform ragdb_internal.record_state('settings', i.id) from unnest(v_ids) i (id);
  perform ragdb_internal.lock_rights(v_corpus, true);
  perform ragdb_internal.record_access('record_reads', v_corpus.corpus_id, corpus, mode);
end $$;
comment on function ragdb.record_reads is
  'Says whether reads of a corpus and of all its parts are events of access: off (the default), '
  'on (recorded where the transaction can write, so not on a standby), or required (refused where '
  'they cannot be). A reader who rolls back takes the event back; a line of the server''s log '
  'stays. Raises RG400, RG401, RG404.';

-- Records that the caller was refused at a corpus, where there is one that can refuse them.
create or replace function ragdb_internal.note_refusal(corpus text, error_code text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into v_corpus from ragdb.corpora c
    where c.name = note_refusal.corpus and c.personal_of is null;
  if found and ragdb_internal.privilege(v_corpus) < 3 and ragdb_internal.may_record_failure() then
    perform ragdb_internal.record_access('refused', v_corpus.corpus_id, v_corpus.name, error_code);
  end if;
end $$;

-- A refusal is rolled back by its own error, so the client records it in its next transaction. The
-- answer is the same whether there is such a corpus or not.
create or replace function ragdb.record_refusal(corpus text, error_code text) returns void
language plpgsql security definer -- the table is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  if error_code is null or error_code not in ('RG401', 'RG404', '42501') then
    raise exception 'error_code is %', ragdb_internal.quote(error_code)
      using errcode = 'RG400', detail = 'it is the SQLSTATE of the refusal',
        hint = 'a refusal is RG401, RG404 or 42501';
  end if;
  perform ragdb_internal.check_failure_quota();
  perform ragdb_internal.note_refusal(corpus, error_code);
end $$;
comment on function ragdb.record_refusal is
  'Records that the caller was refused at a corpus by RG401, RG404 or 42501; a client calls it '
  'after the rollback. It records nothing where there is no such corpus or the caller has every '
  'right to it, and does not say so. Raises RG400, RG470, and 25006 where nothing can be written.';

create or replace function ragdb.list_access_events(
  corpus text default null, since timestamptz default null, count integer default 100)
returns setof ragdb.access_events
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first constant uuid := ragdb_internal.first_uuid7(coalesce(since, '1970-01-01 00:00:00+00'));
begin
  perform ragdb_internal.check_listed(count, 'events');
  return query
    select e.* from ragdb.access_events e
    where e.id >= v_first
      and (list_access_events.corpus is null or e.corpus = list_access_events.corpus)
    order by e.id desc limit list_access_events.count;
end $$;
comment on function ragdb.list_access_events is
  'Returns the latest events of access, newest first, of one corpus or of all, at or after since: '
  'read, refused, export, export_keys, grant, revoke, restrict, unrestrict, record_reads, '
  'bind_role, set_quota, create_token, revoke_token, drop_events. count is 1 to 10000. Raises '
  'RG400.';

create or replace function ragdb.drop_access_events_before(before date) returns bigint
language plpgsql security definer -- it changes a table of the owner
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows bigint;
begin
  perform ragdb_internal.check_ended(before, 'events');
  -- what is under way ends, and goes too
  perform ragdb_internal.await_writers('ragdb.access_events');
  v_rows := ragdb_internal.remove_rows('access_events', 'r.id < $1',
    ragdb_internal.first_uuid7(before::timestamp at time zone 'UTC'));
  -- no event is older, and a time before year 1 cannot be read in Python
  perform ragdb_internal.record_act(row(null, null, 'retention', null, '{access}'::text[], null,
    null, greatest(before, '1970-01-01')::timestamp at time zone 'UTC', null,
    format('%s events of access', v_rows))::ragdb.ledger_acts);
  perform ragdb_internal.record_access('drop_events', null, null,
    format('%s before %s', v_rows, to_char(before, 'YYYY-MM-DD')));
  return v_rows;
end $$;
comment on function ragdb.drop_access_events_before is
  'Drops the events of access before a day (UTC), records that as an event, and returns their '
  'number. It waits for who records one, and holds up nobody. Raises RG400.';
