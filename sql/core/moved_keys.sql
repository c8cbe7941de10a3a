-- Keys that move between a database and its restored copy.

create or replace function ragdb.export_signing_keys()
returns table (
  key_id text, secret text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz)
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select ragdb_internal.record_access('export_keys', null, null, '');
  select k.key_id, pg_catalog.encode(s.secret, 'hex'), k.state, k.created_at, k.active_until,
    k.not_after
  from ragdb.signing_keys k join ragdb.signing_secrets s on s.key_id = k.key_id
  order by k.created_at, k.key_id;
end;
comment on function ragdb.export_signing_keys is
  'Returns the signing keys that are kept in this database with their secrets in hex, to be kept '
  'apart from the dump and imported into a restored copy.';

-- Returns the row of a key as an import makes it. Raises RG400, RG409.
create or replace function ragdb_internal.imported_key(
  key_id text, secret text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz)
returns ragdb.signing_keys
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := date_trunc('milliseconds', ragdb_internal.now());
  v_key ragdb.signing_keys;
begin
  perform ragdb_internal.check_key_id(imported_key.key_id);
  if coalesce(imported_key.secret !~ '^([0-9a-fA-F]{2}){32,128}$', true)
      or coalesce(imported_key.state not in ('active', 'verify_only', 'revoked'), true) then
    raise exception 'the secret of key % is not 32 to 128 bytes in hex, or its state is unknown',
        ragdb_internal.quote(imported_key.key_id)
      using errcode = 'RG400', detail = 'the state is active, verify_only or revoked',
        hint = 'import what ragdb.export_signing_keys() gave';
  elsif exists (
    select from unnest(array[imported_key.created_at, active_until, not_after]) t (at)
    where t.at not between '1970-01-01 00:00:00+00' and '9999-12-31 00:00:00+00')
  then
    raise exception 'a time of key % is not of 1970 to 9999',
        ragdb_internal.quote(imported_key.key_id)
      using errcode = 'RG400', detail = 'clients have no times before year 1, and none is infinite',
        hint = 'leave out what is not known: created_at, active_until, not_after';
  end if;
  select k.* into v_key from ragdb.signing_keys k where k.key_id = imported_key.key_id;
  if not found then
    v_key := row(imported_key.key_id, null, true, null, coalesce(imported_key.created_at, v_now));
    v_key.commitment := ragdb_internal.key_commitment(
      v_key.key_id, v_key.created_at, decode(imported_key.secret, 'hex'));
  elsif v_key.commitment <> ragdb_internal.key_commitment(
      v_key.key_id, v_key.created_at, decode(imported_key.secret, 'hex')) then
    raise exception 'signing key % exists with another secret',
        ragdb_internal.quote(imported_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten',
        hint = 'import it under another id';
  end if;
  v_key.is_inside := true;
  v_key.not_after := imported_key.not_after;
  -- a key that was revoked stays so
  v_key.state := case when v_key.state = 'revoked' then 'revoked' else imported_key.state end;
  v_key.active_until := case when v_key.state <> 'active'
    then coalesce(v_key.active_until, imported_key.active_until, v_now) end;
  return v_key;
end $$;

create or replace function ragdb.import_signing_key(
  key_id text, secret text, state text default 'verify_only', created_at timestamptz default null,
  active_until timestamptz default null, not_after timestamptz default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb.signing_keys;
begin
  perform ragdb_internal.lock_signing_keys();
  v_key := ragdb_internal.imported_key(import_signing_key.key_id, import_signing_key.secret,
    import_signing_key.state, import_signing_key.created_at, import_signing_key.active_until,
    import_signing_key.not_after);
  perform ragdb_internal.make_origin();
  if v_key.state = 'active' and not exists (select from ragdb.signing_keys k
      where k.key_id = v_key.key_id and k.state = 'active')
  then
    perform ragdb_internal.retire_signing_key();
  end if;
  insert into ragdb.signing_keys values (v_key.*)
    on conflict on constraint signing_keys_id_is_unique do update
      set state = excluded.state, active_until = excluded.active_until,
        not_after = excluded.not_after, is_inside = true;
  insert into ragdb.signing_secrets (key_id, secret)
    values (v_key.key_id, decode(import_signing_key.secret, 'hex'))
    on conflict on constraint signing_secrets_are_unique do nothing;
  perform ragdb_internal.record_key_event(v_key.key_id, 'imported');
end $$;
comment on function ragdb.import_signing_key is
  'Puts an exported key back, so that a restored copy verifies the tokens and traces of the '
  'original; an active one signs from now on, a revoked one stays revoked. Raises RG400, RG409.';
