-- The keys that sign tokens and traces. All public functions are definers: signing_keys is granted
-- to nobody.

-- At most one key is active: who makes or changes a key does so alone.
create or replace function ragdb_internal.lock_signing_keys() returns void
language sql
return ragdb_internal.hold('signing_keys');
comment on function ragdb_internal.lock_signing_keys() is
  'Waits for other transactions that make or change signing keys, and has others wait until this '
  'one ends.';

-- To the millisecond, as the times of traces are.
create or replace function ragdb_internal.retire_signing_key() returns void
language sql
begin atomic
  update ragdb.signing_keys
    set state = 'verify_only',
      active_until = pg_catalog.date_trunc('milliseconds', ragdb_internal.now())
    where state = 'active';
end;
comment on function ragdb_internal.retire_signing_key() is
  'Makes the active key, if there is one, a key that only verifies.';

create or replace function ragdb_internal.check_key_id(key_id text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if key_id is null or key_id !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception 'key id % is not 1 to 64 letters, digits, _ or -', ragdb_internal.quote(key_id)
      using errcode = 'RG400', detail = 'the id is part of every token',
        hint = 'such as key-2026; ragdb.create_signing_key() can make one of the time';
  end if;
end $$;
comment on function ragdb_internal.check_key_id(text) is
  'Refuses what cannot be the id of a key. Raises RG400.';

create or replace function ragdb.create_signing_key(key_id text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant text := coalesce(create_signing_key.key_id,
    'k' || to_char(ragdb_internal.now() at time zone 'UTC', 'YYYYMMDDHH24MISS'));
begin
  perform ragdb_internal.check_key_id(v_id);
  perform ragdb_internal.lock_signing_keys();
  if exists (select from ragdb.signing_keys s where s.key_id = v_id) then
    raise exception 'signing key % exists already', ragdb_internal.quote(v_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'choose another id';
  end if;
  perform ragdb_internal.retire_signing_key();
  -- four random uuids carry 488 random bits from the server's strong generator
  insert into ragdb.signing_keys (key_id, secret, state, created_at)
    values (
      v_id,
      sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
      'active', ragdb_internal.now());
  return v_id;
end $$;
comment on function ragdb.create_signing_key(text) is
  'Makes the key that signs from now on and returns its id; the key that signed before still '
  'verifies. Raises RG400, RG409.';

create or replace function ragdb.revoke_signing_key(key_id text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.lock_signing_keys();
  update ragdb.signing_keys s
    set state = 'revoked',
      active_until = coalesce(s.active_until, date_trunc('milliseconds', ragdb_internal.now()))
    where s.key_id = revoke_signing_key.key_id;
  if not found then
    raise exception 'signing key % does not exist', ragdb_internal.quote(revoke_signing_key.key_id)
      using errcode = 'RG432', detail = 'nothing was revoked',
        hint = 'ragdb.list_signing_keys() lists the ids';
  end if;
end $$;
comment on function ragdb.revoke_signing_key(text) is
  'Revokes a key: every token it signed fails from now on. Raises RG432.';

create or replace function ragdb.list_signing_keys()
returns table (
  key_id text, state text, created_at timestamptz, active_until timestamptz, not_after timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.state, k.created_at, k.active_until, k.not_after
  from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.list_signing_keys() is 'Lists the signing keys without their secrets.';

create or replace function ragdb.export_signing_keys()
returns table (
  key_id text, secret text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz)
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select ragdb_internal.record_access('export_keys', null, null, '');
  select k.key_id, pg_catalog.encode(k.secret, 'hex'), k.state, k.created_at, k.active_until,
    k.not_after
  from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.export_signing_keys() is
  'Returns the signing keys with their secrets in hex, to be kept apart from the dump and imported '
  'into a restored copy.';

create or replace function ragdb.import_signing_key(
  key_id text, secret text, state text default 'verify_only', created_at timestamptz default null,
  active_until timestamptz default null, not_after timestamptz default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret bytea;
  v_until timestamptz;
begin
  perform ragdb_internal.check_key_id(import_signing_key.key_id);
  if coalesce(import_signing_key.secret !~ '^([0-9a-fA-F]{2}){32,128}$', true)
      or coalesce(import_signing_key.state not in ('active', 'verify_only', 'revoked'), true) then
    raise exception 'the secret of key % is not 32 to 128 bytes in hex, or its state is unknown',
        ragdb_internal.quote(import_signing_key.key_id)
      using errcode = 'RG400', detail = 'the state is active, verify_only or revoked',
        hint = 'import what ragdb.export_signing_keys() gave';
  end if;
  v_secret := decode(import_signing_key.secret, 'hex');
  perform ragdb_internal.lock_signing_keys();
  if exists (
      select from ragdb.signing_keys s
      where s.key_id = import_signing_key.key_id and s.secret <> v_secret) then
    raise exception 'signing key % exists with another secret',
        ragdb_internal.quote(import_signing_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten',
        hint = 'import it under another id';
  end if;
  if import_signing_key.state = 'active' then
    perform ragdb_internal.retire_signing_key();
  else
    v_until := coalesce(
      import_signing_key.active_until, date_trunc('milliseconds', ragdb_internal.now()));
  end if;
  insert into ragdb.signing_keys as s
    values (
      import_signing_key.key_id, v_secret, import_signing_key.state,
      coalesce(import_signing_key.created_at, ragdb_internal.now()), v_until,
      import_signing_key.not_after)
    on conflict on constraint signing_keys_id_is_unique do update
      set state = excluded.state, active_until = excluded.active_until,
        not_after = excluded.not_after;
end $$;
comment on function ragdb.import_signing_key(text, text, text, timestamptz, timestamptz,
  timestamptz) is
  'Puts back an exported key, so that a restored copy verifies the tokens and traces of the '
  'original; an active one signs from now on. Raises RG400, RG409.';

create or replace function ragdb_internal.signing_key() returns ragdb.signing_keys
language sql stable parallel safe
return (
  select k from ragdb.signing_keys k
  where k.state = 'active' and (k.not_after is null or k.not_after > ragdb_internal.now()));
comment on function ragdb_internal.signing_key() is
  'Returns the key that signs now; null when there is none.';
