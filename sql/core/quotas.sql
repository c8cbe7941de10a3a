-- How much a role may take: of bytes, of chunks, of recorded failures, of calls at once.

-- Returns the quota of a role, else that of public; null where there is neither.
create or replace function ragdb_internal.quota_of(role text, role_oid oid)
returns ragdb.role_quotas
language sql stable parallel safe
return (select q from ragdb.role_quotas q
  where q.role = 'public' or q.role = quota_of.role and q.role_oid = quota_of.role_oid
  order by q.role_oid desc limit 1);

-- Returns the quota of the caller's role, else that of public; null where there is neither.
create or replace function ragdb_internal.quota() returns ragdb.role_quotas
language sql stable parallel safe
return ragdb_internal.quota_of(ragdb_internal.caller(), ragdb_internal.caller_oid());

-- Refuses what is over a quota. The message has the figures, because it alone goes through every
-- door. Raises RG470.
create or replace function ragdb_internal.refuse_quota(
  what text, taken bigint, quota bigint, role text default ragdb_internal.caller())
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'role % has no %: it may have % and has %', ragdb_internal.quote(role), what,
      quota, taken
    using errcode = 'RG470', detail = 'a role without a quota of its own has that of public',
      hint = 'an admin lists quotas by ragdb.list_quotas() and sets one by ragdb.set_quota()';
end $$;

-- Takes one of the concurrent calls of the caller's role until the transaction ends. Every call of
-- a corpus passes here, and hardly any database has such a quota. Raises RG470.
create or replace function ragdb_internal.take_call() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most integer;
begin
  v_most := (ragdb_internal.quota()).concurrent_calls;
  if v_most is not null and not ragdb_internal.take_slot_of('call', v_most) then
    perform ragdb_internal.refuse_quota('concurrent call left', v_most, v_most);
  end if;
end $$;

-- Refuses a blob of so many bytes from a role that has as many as it may. Raises RG470.
create or replace function ragdb_internal.check_blob_quota(size bigint) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant bigint := (ragdb_internal.quota()).blob_bytes;
  v_taken bigint;
begin
  if v_most is null then
    return;
  end if;
  select coalesce(sum(b.size), 0) into v_taken
    from ragdb.blob_uploads u join ragdb.blobs b on b.cid = u.cid
    where u.role = ragdb_internal.caller() and u.role_oid = ragdb_internal.caller_oid();
  if v_taken + size > v_most then
    perform ragdb_internal.refuse_quota(format('room for %s more bytes of blobs', size), v_taken,
      v_most);
  end if;
end $$;

-- Refuses so many chunks more in a corpus where a role may not have as many there. What takes away
-- as much as it brings passes, however full the corpus is. Raises RG470.
create or replace function ragdb_internal.check_chunk_quota(
  corpus ragdb.corpora, added integer, role text default ragdb_internal.caller(),
  role_oid oid default ragdb_internal.caller_oid())
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer :=
    (ragdb_internal.quota_of(check_chunk_quota.role, check_chunk_quota.role_oid)).corpus_chunks;
begin
  if added > 0 and corpus.chunks + added > v_most then
    perform ragdb_internal.refuse_quota(format('room for %s in corpus %s',
      ragdb_internal.counted(added, 'more chunk'), ragdb_internal.quote(corpus.name)),
      corpus.chunks, v_most, check_chunk_quota.role);
  end if;
end $$;

-- Returns how many failures and refusals of the caller were recorded in the last hour.
create or replace function ragdb_internal.failures_of_hour() returns bigint
language sql stable parallel safe
return (select count(*) from ragdb.retrieval_traces t
    -- what was recorded while the clock was ahead is of no hour that there is
    where t.created_at between ragdb_internal.now() - interval '1 hour' and ragdb_internal.now()
      and t.error_code is not null
      and t.caller = ragdb_internal.caller() and t.caller_oid = ragdb_internal.caller_oid())
  + (select count(*) from ragdb.access_events e
    where e.id >= ragdb_internal.first_uuid7(ragdb_internal.now() - interval '1 hour')
      and e.created_at <= ragdb_internal.now()
      and e.kind = 'refused' and e.role = ragdb_internal.caller()
      and e.role_oid = ragdb_internal.caller_oid());

-- Whether the caller's role may have another failure recorded in this hour.
create or replace function ragdb_internal.may_record_failure() returns boolean
language sql stable parallel safe
return case when (ragdb_internal.quota()).hourly_failures is null then true
  else ragdb_internal.failures_of_hour() < (ragdb_internal.quota()).hourly_failures end;

-- Refuses to record another failure of a role that has as many in an hour as it may. Raises RG470.
create or replace function ragdb_internal.check_failure_quota() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not ragdb_internal.may_record_failure() then
    perform ragdb_internal.refuse_quota('failure left to record in this hour',
      ragdb_internal.failures_of_hour(), (ragdb_internal.quota()).hourly_failures);
  end if;
end $$;
