-- Whether an event is what its author signed next: the author is trusted, its events follow each
-- other, and none of them claims a time that nobody had. What the database cannot do is to check a
-- signature of Ed25519: whoever brings an event does that (ragdb/peers).

-- Refuses an event whose author may not change shared corpora. Raises RG492.
create or replace function ragdb_internal.check_author(shared ragdb.shared_corpora,
  event ragdb.shared_events) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_peer ragdb.peers;
begin
  if event.author = shared.author then
    return;
  end if;
  select p.* into v_peer from ragdb.peers p where p.public_key = event.author;
  if v_peer.name is null then
    perform ragdb_internal.refuse_event('its author is unknown, key '
      || encode(event.author, 'hex'), event.event,
      'if you trust the author, add it by its key: ragdb peer add');
  elsif v_peer.revoked_at is not null then
    perform ragdb_internal.refuse_event('the key of ' || v_peer.name || ' was revoked',
      event.event, v_peer.revoked_because);
  elsif v_peer.trust <> 'trusted' then
    perform ragdb_internal.refuse_event(v_peer.name || ' may be asked, and may not change corpora',
      event.event, 'add it again with trust trusted if it may');
  end if;
end $$;

-- Refuses an event that does not follow the events of its author, or those that it replaces. Raises
-- RG492.
create or replace function ragdb_internal.check_next(shared ragdb.shared_corpora,
  event ragdb.shared_events) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last ragdb.shared_events;
  v_replaced bigint[];
begin
  select e.* into v_last from ragdb.shared_events e
    where e.corpus_id = event.corpus_id and e.author = event.author
    order by e.seq desc limit 1;
  if event.seq <= v_last.seq then
    perform ragdb_internal.refuse_event('its author signed another number ' || event.seq,
      event.event, 'two hold its key, or an old backup of it was restored: revoke the key');
  elsif event.seq > coalesce(v_last.seq, 0) + 1 then
    perform ragdb_internal.refuse_event(format('it is number %s of its author, and %s is missing',
      event.seq, coalesce(v_last.seq, 0) + 1), event.event, 'the peer leaves events out');
  elsif encode(v_last.hash, 'hex') is distinct from event.event::jsonb ->> 'previous' then
    perform ragdb_internal.refuse_event('it does not follow the event before it', event.event,
      'its author signed another history');
  end if;
  v_replaced := array(
    select e.lamport from ragdb.shared_events e
    where e.corpus_id = event.corpus_id and e.hash = any (event.replaces)
      and e.source = event.source);
  if cardinality(v_replaced) <> cardinality(event.replaces) then
    perform ragdb_internal.refuse_event('it replaces an event that is not here', event.event,
      'the peer leaves events out, or changes their order');
  elsif event.lamport > shared.lamport + 1
    or event.lamport <= greatest(v_last.lamport, (select max(l) from unnest(v_replaced) l))
  then
    perform ragdb_internal.refuse_event('its Lamport time is ' || event.lamport, event.event,
      format('the latest time known here is %s, and an event comes right after what its author had',
        shared.lamport));
  end if;
end $$;

-- Stores the next event of its author, and returns how the corpus is shared then. Raises RG492.
create or replace function ragdb_internal.store_event(shared ragdb.shared_corpora,
  event ragdb.shared_events) returns ragdb.shared_corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_next(shared, event);
  update ragdb.shared_corpora s
    set lamport = greatest(s.lamport, event.lamport), last_position = s.last_position + 1
    where s.corpus_id = event.corpus_id
    returning s.* into shared;
  event.position := shared.last_position;
  event.is_head := true;
  event.arrived_at := ragdb_internal.now();
  -- they are of its source, and few events are: by their hashes alone all of the corpus are read
  update ragdb.shared_events e set is_head = false
    where e.corpus_id = event.corpus_id and e.source = event.source
      and e.hash = any (event.replaces) and e.is_head;
  insert into ragdb.shared_events values (event.*);
  return shared;
end $$;

-- Whether an event is here already. The same event may come from several peers, and again after a
-- cut: only a peer that gives it two places gives it twice. Raises RG492 for one that its peer
-- sends twice.
create or replace function ragdb_internal.is_known(event ragdb.shared_events) returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known ragdb.shared_events;
begin
  select e.* into v_known from ragdb.shared_events e
    where e.corpus_id = event.corpus_id and e.hash = event.hash;
  if v_known.peer = event.peer and v_known.peer_position <> event.peer_position then
    perform ragdb_internal.refuse_event(format('it came before, at position %s of the peer',
      v_known.peer_position), event.event, 'the peer replays events');
  end if;
  return v_known.hash is not null;
end $$;
