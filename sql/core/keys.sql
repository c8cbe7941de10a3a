-- The keys that sign tokens and traces. All public functions are definers: keys and secrets are
-- granted to nobody.

-- Waits for other transactions that make or change signing keys, and has others wait until this one
-- ends. At most one key is active: who makes or changes a key does so alone. Where none is, he also
-- waits for whoever has found none, and others find the new one: else what they record meanwhile
-- would be unsigned, and of a time at which a key was active. He holds the name last: whoever has
-- found no key may wait for it.
create or replace function ragdb_internal.lock_signing_keys() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table ragdb.signing_keys in share row exclusive mode;
  if not exists (select from ragdb.signing_keys k where k.state = 'active') then
    perform ragdb_internal.lock_in_turn('ragdb.signing_keys', 'access exclusive');
  end if;
  perform ragdb_internal.hold('signing_keys');
end $$;

-- Refuses what cannot be the id of a key. Raises RG400.
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

-- Makes the active key, if there is one, a key that only verifies. To the millisecond, as the times
-- of traces are.
create or replace function ragdb_internal.retire_signing_key() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id text;
begin
  update ragdb.signing_keys k
    set state = 'verify_only', active_until = date_trunc('milliseconds', ragdb_internal.now())
    where k.state = 'active' returning k.key_id into v_id;
  if found then
    perform ragdb_internal.record_key_event(v_id, 'retired');
  end if;
end $$;

-- Makes a key the one that signs; its secret stays here where the kind is created. Raises RG409.
create or replace function ragdb_internal.make_key(key_id text, secret bytea, kind text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := date_trunc('milliseconds', ragdb_internal.now());
begin
  if exists (select from ragdb.signing_keys s where s.key_id = make_key.key_id) then
    raise exception 'signing key % exists already', ragdb_internal.quote(make_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'choose another id';
  end if;
  perform ragdb_internal.make_origin();
  perform ragdb_internal.retire_signing_key();
  insert into ragdb.signing_keys (key_id, commitment, is_inside, state, created_at)
    values (make_key.key_id, ragdb_internal.key_commitment(make_key.key_id, v_now, secret),
      kind = 'created', 'active', v_now);
  if kind = 'created' then
    insert into ragdb.signing_secrets (key_id, secret) values (make_key.key_id, make_key.secret);
  end if;
  perform ragdb_internal.record_key_event(make_key.key_id, kind);
end $$;

-- Returns an id for a key that is made now, with a number where others were made in this second;
-- the caller holds the lock of keys.
create or replace function ragdb_internal.unused_key_id() returns text
language sql
return (
  select i.id
  from (select 'k' || to_char(ragdb_internal.now() at time zone 'UTC', 'YYYYMMDDHH24MISS')
      as moment) t
    cross join pg_catalog.generate_series(1, 1 + (
      select count(*) from ragdb.signing_keys)) n (n)
    cross join lateral (select t.moment || coalesce('-' || nullif(n.n, 1), '') as id) i
  where not exists (select from ragdb.signing_keys k where k.key_id = i.id)
  order by n.n limit 1);

-- An admin who could put a key inside in place of one outside could sign by it.
create or replace function ragdb.create_signing_key(key_id text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id text := create_signing_key.key_id;
begin
  if v_id is not null then
    perform ragdb_internal.check_key_id(v_id);
  end if;
  perform ragdb_internal.lock_signing_keys();
  v_id := coalesce(v_id, ragdb_internal.unused_key_id());
  if exists (select from ragdb.signing_keys k where k.state = 'active' and not k.is_inside)
    and not has_function_privilege(
      ragdb_internal.caller(), 'ragdb.register_signing_key(text)', 'execute')
  then
    raise exception 'the key that signs is kept outside of the database'
      using errcode = 'RG401',
        detail = 'only a signer may put a key that is kept inside in its place',
        hint = 'a member of ragdb_signer can; ragdb keys create --file makes one outside';
  end if;
  -- four random uuids carry 488 random bits from the server's strong generator
  perform ragdb_internal.make_key(v_id,
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
      || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'created');
  return v_id;
end $$;
comment on function ragdb.create_signing_key is
  'Makes the key that signs from now on, keeps its secret in this database, and returns its id; '
  'the key that signed before still verifies. Raises RG400, RG401, RG409.';

create or replace function ragdb.register_signing_key(key_id text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret bytea;
begin
  perform ragdb_internal.check_key_id(register_signing_key.key_id);
  v_secret := ragdb_internal.given_secret(register_signing_key.key_id);
  if v_secret is null then
    raise exception 'this session was given no secret of key %',
        ragdb_internal.quote(register_signing_key.key_id)
      using errcode = 'RG400', detail = 'a key is registered by a session that has its secret',
        hint = 'connect with RAGDB_SIGNING_KEY_FILE set, or call ragdb keys create --file';
  end if;
  perform ragdb_internal.lock_signing_keys();
  perform ragdb_internal.make_key(register_signing_key.key_id, v_secret, 'registered');
end $$;
comment on function ragdb.register_signing_key is
  'Makes the key whose secret this session was given the one that signs from now on; the database '
  'keeps a commitment to the secret and not the secret. Raises RG400, RG409.';

-- Has a key verify no token any more, and its signatures since a time not be trusted (null: none).
-- Raises RG432.
create or replace function ragdb_internal.revoke_key(
  key_id text, compromised_since timestamptz, kind text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.lock_signing_keys();
  update ragdb.signing_keys s
    set state = 'revoked',
      active_until = coalesce(s.active_until, date_trunc('milliseconds', ragdb_internal.now())),
      -- nothing is signed by a key before it is made, and Python reads no time before year 1
      compromised_since = least(s.compromised_since, case
        when revoke_key.compromised_since is not null then greatest(
          revoke_key.compromised_since, date_trunc('milliseconds', s.created_at)) end)
    where s.key_id = revoke_key.key_id;
  if not found then
    raise exception 'signing key % does not exist', ragdb_internal.quote(revoke_key.key_id)
      using errcode = 'RG432', detail = 'nothing was revoked',
        hint = 'ragdb.list_signing_keys() lists the ids';
  end if;
  perform ragdb_internal.record_key_event(revoke_key.key_id, kind);
end $$;

create or replace function ragdb.revoke_signing_key(key_id text) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select ragdb_internal.revoke_key(key_id, null, 'revoked');
end;
comment on function ragdb.revoke_signing_key is
  'Revokes a key: every token it signed fails from now on. Raises RG432.';

create or replace function ragdb.report_key_compromise(
  key_id text, since timestamptz default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if since > ragdb_internal.now() then
    raise exception 'since is in the future'
      using errcode = 'RG400', detail = 'it is when somebody else may have had the key first',
        hint = 'give a time up to now, or null for ever since the key was made';
  end if;
  perform ragdb_internal.revoke_key(
    key_id, coalesce(since, '-infinity'), 'compromised');
end $$;
comment on function ragdb.report_key_compromise is
  'Revokes a key that somebody else may have had since a time (null: always): verification says '
  'of every trace that it signed since then that it is not to be trusted. A later call can only '
  'move the time back. Raises RG400, RG432.';

create or replace function ragdb.list_signing_keys()
returns table (
  key_id text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz, compromised_since timestamptz, is_inside boolean, is_at_hand boolean,
  commitment text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.state, k.created_at, k.active_until, k.not_after, k.compromised_since,
    k.is_inside, ragdb_internal.secret_at_hand(k) is not null,
    pg_catalog.encode(k.commitment, 'hex')
  from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.list_signing_keys is
  'Lists the signing keys without their secrets: whether the secret is kept in this database, and '
  'whether this session can sign or verify by it.';

create or replace function ragdb.list_key_events() returns setof ragdb.key_events
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.* from ragdb.key_events e order by e.event_no;
end;
comment on function ragdb.list_key_events is
  'Lists what was done with signing keys, by whom and when, the first event first.';
