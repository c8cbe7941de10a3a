-- Quotas of roles: set by admins, listed for them.

create or replace function ragdb.set_quota(
  role text, blob_bytes bigint default null, hourly_failures integer default null,
  concurrent_calls integer default null, corpus_chunks integer default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_oid constant oid :=
    case when role = 'public' then 0::oid else ragdb_internal.role_oid(role) end;
begin
  perform ragdb_internal.check_role(
    role, v_oid, 'a quota is a database role''s, or that of public');
  if least(blob_bytes, hourly_failures, corpus_chunks) < 0
    or concurrent_calls not between 1 and 1000
  then
    raise exception 'a quota is out of range'
      using errcode = 'RG400',
        detail = 'bytes, failures and chunks are 0 or more, concurrent calls are 1 to 1000',
        hint = 'leave out what has no limit';
  end if;
  perform ragdb_internal.hold('quotas');
  delete from ragdb.role_quotas q where q.role = set_quota.role and q.role_oid = v_oid;
  if num_nonnulls(blob_bytes, hourly_failures, concurrent_calls, corpus_chunks) > 0 then
    insert into ragdb.role_quotas values (role, v_oid, blob_bytes, hourly_failures,
      concurrent_calls, corpus_chunks, ragdb_internal.now(), ragdb_internal.caller());
  end if;
  perform ragdb_internal.record_state('quota', null, role);
  perform ragdb_internal.record_access('set_quota', null, null,
    format('%s: %s bytes, %s failures, %s calls, %s chunks', ragdb_internal.quote(role),
      coalesce(blob_bytes::text, 'any'), coalesce(hourly_failures::text, 'any'),
      coalesce(concurrent_calls::text, 'any'), coalesce(corpus_chunks::text, 'any')));
end $$;
comment on function ragdb.set_quota is
  'Sets what a role may take, in place of what was set: bytes of blobs, failures and refusals '
  'recorded in an hour, transactions that use corpora at once (1 to 1000), and chunks of a corpus '
  'after it wrote there; null is any. The quota of public is that of every role without one of its '
  'own. Over a quota calls raise RG470. Raises RG400.';

create or replace function ragdb.list_quotas()
returns table (role text, blob_bytes bigint, blob_bytes_taken bigint, hourly_failures integer,
  concurrent_calls integer, corpus_chunks integer, is_dead boolean, set_at timestamptz, set_by text)
language sql stable parallel safe security definer
begin atomic
  select q.role, q.blob_bytes, (select coalesce(pg_catalog.sum(b.size), 0)::bigint
      from ragdb.blob_uploads u join ragdb.blobs b on b.cid = u.cid
      where u.role = q.role and u.role_oid = q.role_oid),
    q.hourly_failures, q.concurrent_calls, q.corpus_chunks,
    q.role <> 'public' and not ragdb_internal.is_role(q.role, q.role_oid), q.set_at, q.set_by
  from ragdb.role_quotas q order by q.role, q.role_oid;
end;
comment on function ragdb.list_quotas is
  'Lists the quotas that are set, and the bytes of blobs that each role has.';
