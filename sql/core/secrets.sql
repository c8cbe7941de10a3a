-- Where the secrets of keys come from: a table of this database, or a setting of the session. The
-- client sends the setting when it connects, and not in a statement: it stands in no log and not
-- in pg_stat_activity, no other session sees it, and parallel workers inherit it.

-- Returns the SHA-256 by which a key is known without its secret: of its id, the microsecond of its
-- creation and its secret.
create or replace function ragdb_internal.key_commitment(
  key_id text, created_at timestamptz, secret bytea)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.packed('ragdb-key-1') || ragdb_internal.packed(key_id)
  || pg_catalog.timestamptz_send(created_at) || secret);

-- Returns the secret that this session was given for a key by the setting ragdb.signing_key
-- (id:hex, with commas between several); null where it was given none.
create or replace function ragdb_internal.given_secret(key_id text) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.decode(g.hex, 'hex')
    from pg_catalog.string_to_table(
        pg_catalog.current_setting('ragdb.signing_key', true), ',') as s (key)
      cross join lateral (
        select pg_catalog.split_part(s.key, ':', 1) as id,
            pg_catalog.split_part(s.key, ':', 2) as hex) g
    where g.id = given_secret.key_id and g.hex ~ '^([0-9a-fA-F]{2}){32,128}$'
    limit 1);

-- Returns the secret of a key, of this database or given to this session, when it fits the
-- commitment of the key; else null. A secret that was replaced, or a time of creation that was
-- moved, does not fit the commitment.
create or replace function ragdb_internal.secret_at_hand(key ragdb.signing_keys) returns bytea
language sql stable parallel safe
return (
  select s.secret
    from (
      select i.secret from ragdb.signing_secrets i where i.key_id = (key).key_id
      union all
      select ragdb_internal.given_secret((key).key_id)) s
    where ragdb_internal.key_commitment((key).key_id, (key).created_at, s.secret)
      = (key).commitment
    limit 1);

-- A key as signatures are checked by it.
create type ragdb_internal.signer as (
  key_id text, secret bytea, created_at timestamptz, active_until timestamptz,
  not_after timestamptz, compromised_since timestamptz);

-- Returns all keys, the newest first, with the secrets that are at hand.
create or replace function ragdb_internal.signers() returns ragdb_internal.signer[]
language sql stable parallel safe
return array(
  select row(k.key_id, ragdb_internal.secret_at_hand(k), k.created_at, k.active_until,
      k.not_after, k.compromised_since)::ragdb_internal.signer
    from ragdb.signing_keys k order by k.created_at desc, k.key_id);

-- Returns the key that signs now; null when there is none. Nothing is recorded unsigned because a
-- session was not given the key, and nothing by a key that was made after it, as where the clock is
-- set back: verification takes that for forged. Volatile, so that who has waited for a key to be
-- made sees it. The time of what is signed is taken after this. Raises RG433 when its secret is not
-- at hand or the clock is behind its creation, and 40001.
create or replace function ragdb_internal.signing_key() returns ragdb_internal.signer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb.signing_keys;
  v_secret bytea;
begin
  select k.* into v_key from ragdb.signing_keys k
    where k.state = 'active' and (k.not_after is null or k.not_after > ragdb_internal.now());
  if not found then
    -- a snapshot that is older than a key does not show it: who has one is told to begin again
    if current_setting('transaction_isolation') <> 'read committed'
      and current_setting('transaction_read_only') = 'off'
    then
      perform ragdb_internal.hold('signing_keys', true);
    end if;
    return null;
  elsif ragdb_internal.now() < v_key.created_at then
    raise exception 'signing key % was made later than now', ragdb_internal.quote(v_key.key_id)
      using errcode = 'RG433',
        detail = format('it is of %s, and nothing is recorded before that', v_key.created_at),
        hint = 'set the clock; where it is right now, and was ahead then, create another key';
  end if;
  -- what ragdb_internal.secret_at_hand() does, in a third of the time: every retrieval signs
  select s.secret into v_secret from ragdb.signing_secrets s where s.key_id = v_key.key_id;
  v_secret := coalesce(v_secret, ragdb_internal.given_secret(v_key.key_id));
  if (ragdb_internal.key_commitment(v_key.key_id, v_key.created_at, v_secret) = v_key.commitment)
    is not true
  then
    raise exception 'the secret of signing key % is not at hand', ragdb_internal.quote(v_key.key_id)
      using errcode = 'RG433',
        detail = case
          when v_secret is not null
            then 'what is at hand for it is not its secret, or its row was changed'
          when v_key.is_inside then 'this copy of the database came without it'
          else 'it is kept outside of the database, and this session was not given it' end,
        hint = case when v_key.is_inside
          then 'import it (ragdb keys import), or create another key'
          else 'connect with RAGDB_SIGNING_KEY_FILE or RAGDB_SIGNING_KEY_COMMAND set' end;
  end if;
  return row(v_key.key_id, v_secret, v_key.created_at, v_key.active_until, v_key.not_after,
    v_key.compromised_since)::ragdb_internal.signer;
end $$;
