-- The peers that this database knows: added, revoked, removed, listed.

-- Refuses what cannot be a public key of Ed25519. Raises RG400.
create or replace function ragdb_internal.check_public_key(public_key bytea) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(public_key) is distinct from 32 then
    raise exception 'the public key has %, not 32',
        coalesce(ragdb_internal.counted(octet_length(public_key), 'byte'), 'no bytes')
      using errcode = 'RG400', detail = 'it is a key of Ed25519',
        hint = '`ragdb peer key FILE` shows the key of a file';
  end if;
end $$;

-- Refuses a peer whose name, key, URL or trust is out of range. Raises RG400.
create or replace function ragdb_internal.check_peer(name text, public_key bytea, url text,
  trust text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if name is null or name !~ '^[a-z0-9-]{1,64}$' then
    raise exception 'peer name % is not 1 to 64 of a-z, 0-9 and -', ragdb_internal.quote(name)
      using errcode = 'RG400', detail = 'it names the peer in this database only',
        hint = 'such as office';
  end if;
  perform ragdb_internal.check_public_key(public_key);
  -- a user or a password in it would be readable where it is listed
  if url !~ '^https?://[^[:space:][:cntrl:]@?#/]+(/[^[:space:][:cntrl:]@?#]*)?$'
    or length(url) > 1000 then
    raise exception 'the URL % is not one of a server', ragdb_internal.quote(url)
      using errcode = 'RG400', detail = 'it is http or https, without user, query or fragment',
        hint = 'such as https://ragdb.example.org';
  end if;
  if trust is null or trust not in ('member', 'trusted') then
    raise exception 'trust is %', ragdb_internal.quote(trust)
      using errcode = 'RG400', detail = 'it says what the peer may do here',
        hint = 'member may be asked questions, trusted may also change shared corpora';
  end if;
end $$;

-- Returns the row of a peer. Raises RG490.
create or replace function ragdb_internal.find_peer(name text) returns ragdb.peers
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_peer ragdb.peers;
begin
  select p.* into v_peer from ragdb.peers p where p.name = find_peer.name;
  if not found then
    raise exception 'peer % does not exist', ragdb_internal.quote(find_peer.name)
      using errcode = 'RG490', detail = 'nothing was done',
        hint = 'ragdb.list_peers() lists the names; ragdb.add_peer() adds one';
  end if;
  return v_peer;
end $$;

-- Returns the row of a peer, and keeps it from being removed until the transaction ends. Raises
-- RG490.
create or replace function ragdb_internal.hold_peer(name text) returns ragdb.peers
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.peers p where p.name = hold_peer.name for key share;
  return ragdb_internal.find_peer(hold_peer.name);
end $$;

create or replace function ragdb.add_peer(name text, public_key bytea, url text default null,
  trust text default 'member')
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_peer(name, public_key, url, trust);
  insert into ragdb.peers (name, public_key, url, trust, added_by, added_at)
    values (add_peer.name, add_peer.public_key, add_peer.url, add_peer.trust,
      ragdb_internal.caller(), ragdb_internal.now())
    on conflict do nothing;
  if not found then
    raise exception 'a peer has the name % or this key already', ragdb_internal.quote(name)
      using errcode = 'RG409', detail = 'a key is one peer''s, also when it is revoked',
        hint = 'ragdb.list_peers() lists both';
  end if;
end $$;
comment on function ragdb.add_peer is
  'Adds a peer: its name here (1 to 64 of a-z, 0-9 and -), its public key of Ed25519 (32 bytes), '
  'where its HTTP server is (null: nowhere), and its trust: member may be asked questions, trusted '
  'may also change shared corpora. Raises RG400, RG409.';

-- The row stays: a key that is removed could be added again.
create or replace function ragdb.revoke_peer(name text, reason text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if reason is null or length(reason) not between 1 and 1000 then
    raise exception 'the reason is not 1 to 1000 characters'
      using errcode = 'RG400', detail = 'it is kept with the key',
        hint = 'such as: its key was in a backup that is lost';
  end if;
  perform ragdb_internal.find_peer(revoke_peer.name);
  update ragdb.peers p
    set revoked_at = ragdb_internal.now(), revoked_because = revoke_peer.reason
    where p.name = revoke_peer.name and p.revoked_at is null;
end $$;
comment on function ragdb.revoke_peer is
  'Revokes the key of a peer for a reason (1 to 1000 characters): no event of it that is not here '
  'already is taken, whoever brings it, and it is asked nothing. Raises RG400, RG490.';

create or replace function ragdb.remove_peer(name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.find_peer(remove_peer.name);
  delete from ragdb.peers p where p.name = remove_peer.name;
  -- who has the name next, or lost its database, has them in another order
  update ragdb.shared_events e set peer_position = null
    where e.peer = remove_peer.name and e.peer_position is not null;
end $$;
comment on function ragdb.remove_peer is
  'Forgets a peer and how far its corpora were read. What it brought stays. Raises RG490.';

create or replace function ragdb.list_peers()
returns table (name text, url text, public_key text, trust text, added_by text,
  added_at timestamptz, revoked_at timestamptz, revoked_because text)
language sql stable parallel safe security definer
begin atomic
  select p.name, p.url, encode(p.public_key, 'hex'), p.trust, p.added_by, p.added_at,
    p.revoked_at, p.revoked_because
  from ragdb.peers p order by p.name;
end;
comment on function ragdb.list_peers is
  'Lists the peers by name, each with its public key in hex, its trust, and since when and why its '
  'key is revoked.';
