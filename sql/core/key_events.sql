-- What was done with keys: a chain of events, each with the hash of the one before and signed by
-- the key itself, against which the rows of signing_keys are held.

select ragdb_internal.make_append_only('key_events');

-- Returns the SHA-256 of an event of a key: of all its columns but hash and mac.
create or replace function ragdb_internal.key_event_hash(event ragdb.key_events) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash('ragdb.key-event/1'::bytea,
  pg_catalog.int8send((event).event_no), ragdb_internal.utf8((event).kind),
  pg_catalog.timestamptz_send((event).at), ragdb_internal.utf8((event).role),
  ragdb_internal.utf8((event).key_id), (event).commitment,
  pg_catalog.boolsend((event).is_inside), ragdb_internal.utf8((event).state),
  pg_catalog.timestamptz_send((event).created_at),
  pg_catalog.timestamptz_send((event).active_until),
  pg_catalog.timestamptz_send((event).not_after),
  pg_catalog.timestamptz_send((event).compromised_since), (event).previous);

-- Signs the hash of an event of a key with its secret; null where either is.
create or replace function ragdb_internal.key_event_mac(hash bytea, secret bytea) returns bytea
language sql immutable parallel safe
return case when hash is not null and secret is not null then
  ragdb_internal.hmac_sha256(secret, ragdb_internal.packed('ragdb-key-event-1'::bytea)
    || ragdb_internal.packed(hash)) end;

-- Writes down what was done with a key, and what its row is now. Whoever calls it holds the lock of
-- signing_keys: numbers have no gap.
create or replace function ragdb_internal.record_key_event(key_id text, kind text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb.signing_keys;
  v_last ragdb.key_events;
  v_event ragdb.key_events;
begin
  select k.* into strict v_key from ragdb.signing_keys k
    where k.key_id = record_key_event.key_id;
  select e.* into v_last from ragdb.key_events e order by e.event_no desc limit 1;
  v_event.event_no := coalesce(v_last.event_no, 0) + 1;
  v_event.kind := kind;
  v_event.at := ragdb_internal.now();
  v_event.role := ragdb_internal.caller();
  v_event.key_id := v_key.key_id;
  v_event.commitment := v_key.commitment;
  v_event.is_inside := v_key.is_inside;
  v_event.state := v_key.state;
  v_event.created_at := v_key.created_at;
  v_event.active_until := v_key.active_until;
  v_event.not_after := v_key.not_after;
  v_event.compromised_since := v_key.compromised_since;
  v_event.previous := coalesce(v_last.hash, '');
  v_event.hash := ragdb_internal.key_event_hash(v_event);
  v_event.mac := ragdb_internal.key_event_mac(
    v_event.hash, ragdb_internal.secret_at_hand(v_key));
  insert into ragdb.key_events values (v_event.*);
  perform ragdb_internal.note('key', v_event.event_no::text, v_event.hash);
end $$;

-- Something that is wrong about keys.
create type ragdb_internal.key_finding as (key_id text, severity text, finding text, detail text);

-- Returns the events of keys whose hash, place, predecessor or signature is not right.
create or replace function ragdb_internal.chain_findings()
returns setof ragdb_internal.key_finding
language sql stable parallel safe
begin atomic
  select e.key_id, 'error', 'an event of a key is not what was recorded',
      pg_catalog.format('event %s (%s)', e.event_no, e.kind)
    from (
      select e.*, ragdb_internal.key_event_hash(e) as actual,
          pg_catalog.lag(e.hash, 1, ''::bytea) over (order by e.event_no) as before,
          pg_catalog.row_number() over (order by e.event_no) as place,
          ragdb_internal.key_event_mac(e.hash, ragdb_internal.secret_at_hand(k)) as by_key
        from ragdb.key_events e left join ragdb.signing_keys k on k.key_id = e.key_id) e
    where e.hash <> e.actual or e.previous <> e.before or e.event_no <> e.place
      or e.mac <> e.by_key
      -- who makes a key has its secret, and so has who does anything with one that is kept here; a
      -- copy that came without it has it by an import
      or e.mac is null and (e.kind in ('created', 'registered', 'imported')
        or e.is_inside
          and exists (select from ragdb.signing_secrets s where s.key_id = e.key_id)
          and not exists (
            select from ragdb.key_events i
            where i.key_id = e.key_id and i.kind = 'imported' and i.event_no > e.event_no))
    order by e.event_no;
end;

-- Returns what is wrong with keys: events, rows that events do not account for, and secrets that do
-- not fit.
create or replace function ragdb_internal.key_findings()
returns setof ragdb_internal.key_finding
language sql stable parallel safe
begin atomic
  select * from ragdb_internal.chain_findings()
  union all
  select coalesce(k.key_id, e.key_id), 'error', case
      when k.key_id is null then 'a key was deleted'
      when e.key_id is null then 'a key was put in without an event'
      else 'the row of a key was changed without an event' end,
    case when k.key_id is not null and e.key_id is not null then pg_catalog.concat_ws(', ',
      case when k.commitment <> e.commitment then 'commitment' end,
      case when k.is_inside <> e.is_inside then 'is_inside' end,
      case when k.state <> e.state then 'state' end,
      case when k.created_at <> e.created_at then 'created_at' end,
      case when k.active_until is distinct from e.active_until then 'active_until' end,
      case when k.not_after is distinct from e.not_after then 'not_after' end,
      case when k.compromised_since is distinct from e.compromised_since
        then 'compromised_since' end) end
    from ragdb.signing_keys k full join (
      select distinct on (e.key_id) e.* from ragdb.key_events e
        order by e.key_id, e.event_no desc) e on e.key_id = k.key_id
    where (k.key_id, k.commitment, k.is_inside, k.state, k.created_at, k.active_until,
        k.not_after, k.compromised_since)
      is distinct from (e.key_id, e.commitment, e.is_inside, e.state, e.created_at,
        e.active_until, e.not_after, e.compromised_since)
  union all
  select k.key_id, 'error', 'a secret is not that of its key', null
    from ragdb.signing_secrets s join ragdb.signing_keys k on k.key_id = s.key_id
    where ragdb_internal.key_commitment(k.key_id, k.created_at, s.secret) <> k.commitment;
end;
