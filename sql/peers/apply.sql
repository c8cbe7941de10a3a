-- The events of a peer taken over: checked, stored and decided, a page in a transaction, with the
-- place to go on from. What ends in the middle has taken whole pages.

-- Refuses what is not a page of events of a feed, or of a peer that went back. Raises RG492.
create or replace function ragdb_internal.check_page_of_peer(shared ragdb.shared_corpora,
  "position" bigint, page jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(page -> 'events') is distinct from 'array'
    or coalesce(page ->> 'head', '') !~ '^[0-9]{1,18}$'
    or jsonb_array_length(page -> 'events') > (ragdb_internal.limits()).export_rows
  then
    perform ragdb_internal.refuse_event('what came is not a page of events', left(page::text, 80),
      format('{"feed", "head", "events": […]}, at most %s of them',
        (ragdb_internal.limits()).export_rows));
  elsif page ->> 'feed' is distinct from shared.feed::text then
    perform ragdb_internal.refuse_event('it is of another corpus, feed ' || (page ->> 'feed'),
      left(page::text, 80), 'check the name of the corpus at the peer');
  elsif (page ->> 'head')::bigint < "position" then
    perform ragdb_internal.refuse_event(format('the peer has %s events, and had %s',
      page ->> 'head', "position"), left(page::text, 80),
      'an old backup of it was restored, or its end was cut off');
  elsif page -> 'events' = '[]' and (page ->> 'head')::bigint > "position" then
    perform ragdb_internal.refuse_event(format('the peer has %s events, and gives none after %s',
      page ->> 'head', "position"), left(page::text, 80), 'the peer leaves events out');
  end if;
end $$;

-- Returns an event of a page, whose document is the one that was signed. Raises RG492.
create or replace function ragdb_internal.event_of_page(shared ragdb.shared_corpora, item jsonb,
  peer text, after bigint) returns ragdb.shared_events
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event ragdb.shared_events := ragdb_internal.read_event(shared, coalesce(item ->> 'event', ''),
    case when item ->> 'signature' ~ '^[0-9a-f]{128}$'
      then decode(item ->> 'signature', 'hex') end);
begin
  v_event.peer := event_of_page.peer;
  v_event.peer_position := case when item ->> 'position' ~ '^[0-9]{1,18}$'
    then (item ->> 'position')::bigint end;
  if (v_event.peer_position > after) is not true then
    perform ragdb_internal.refuse_event('its position at the peer is '
      || ragdb_internal.quote(item ->> 'position'), v_event.event,
      'the peer changes the order of events, or replays them');
  end if;
  perform ragdb_internal.check_body(v_event, item ->> 'body');
  return v_event;
end $$;

-- Stores the events of a page that are new, in their order, and returns the sources to be decided.
-- Raises RG492.
create or replace function ragdb_internal.take_events(shared ragdb.shared_corpora, peer text,
  after bigint, page jsonb) returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_item jsonb;
  v_event ragdb.shared_events;
  v_sources text[] := '{}';
begin
  for v_item in select i.v from jsonb_array_elements(page -> 'events') with ordinality i (v, n)
    order by i.n
  loop
    v_event := ragdb_internal.event_of_page(shared, v_item, peer, after);
    after := v_event.peer_position;
    if not ragdb_internal.is_known(v_event) then
      perform ragdb_internal.check_author(shared, v_event);
      shared := ragdb_internal.store_event(shared, v_event);
      v_sources := v_sources || v_event.source;
    elsif exists (
        select from ragdb.shared_documents d
        where d.corpus_id = shared.corpus_id and d.source = v_event.source
          and d.hash = v_event.hash and d.state = 'waiting') then
      v_sources := v_sources || v_event.source;
    end if;
    -- all that came before it at the peer is here; else a peer could go on for ever
    if after > shared.last_position then
      perform ragdb_internal.refuse_event(format('it is number %s at the peer, and there are %s',
        after, shared.last_position), v_event.event, 'the peer repeats events');
    end if;
  end loop;
  return array(select distinct s.uri from unnest(v_sources) s (uri) order by s.uri);
end $$;

-- Makes the documents of decided sources what was decided. Raises RG492.
create or replace function ragdb_internal.take_documents(corpus ragdb.corpora,
  settled ragdb_internal.settlement[], peer text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone constant text[] := array(
    select d.uri from unnest(settled) s
      join ragdb.document_sources d on d.corpus_id = corpus.corpus_id and d.uri = s.source
    where s.state = 'erased');
  v_documents constant jsonb := (
    select jsonb_agg(s.body::jsonb order by s.source) from unnest(settled) s
    where s.body is not null);
begin
  if cardinality(v_gone) > 0 then
    perform ragdb_internal.remove_sources(ragdb_internal.lock_corpus(corpus.name, 'write'), v_gone,
      'redact', ragdb_internal.counted(cardinality(v_gone), 'source') || ' that peers erased',
      'erased by way of peer ' || peer);
  end if;
  if v_documents is not null then
    perform ragdb_internal.put_exported(corpus.name, v_documents);
    perform ragdb_internal.check_taken(corpus.corpus_id, settled);
  end if;
  update ragdb.shared_documents d
    set event_id = ragdb_internal.local_event(d.corpus_id, d.source)
    from unnest(settled) s
    where d.corpus_id = corpus.corpus_id and d.source = s.source;
end $$;

-- Returns how far a peer was read, which is held to the end of the transaction. Raises RG490,
-- RG492.
create or replace function ragdb_internal.followed(shared ragdb.shared_corpora, peer text)
returns ragdb.peer_corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_peer constant ragdb.peers := ragdb_internal.hold_peer(followed.peer);
  v_follow ragdb.peer_corpora;
begin
  if v_peer.revoked_at is not null then
    perform ragdb_internal.refuse_event('the key of ' || v_peer.name || ' was revoked', 'any',
      v_peer.revoked_because);
  end if;
  insert into ragdb.peer_corpora (corpus_id, peer, remote)
    select shared.corpus_id, v_peer.name, c.name from ragdb.corpora c
    where c.corpus_id = shared.corpus_id
    on conflict on constraint peer_corpora_are_unique do nothing;
  select f.* into strict v_follow from ragdb.peer_corpora f
    where f.corpus_id = shared.corpus_id and f.peer = v_peer.name for update;
  return v_follow;
end $$;

-- Counts what was put and erased, and what of the corpus is in conflict or waits for its text.
create or replace function ragdb_internal.settled_counts(shared ragdb.shared_corpora,
  settled ragdb_internal.settlement[], out put bigint, out erased bigint, out conflicts bigint,
  out waiting bigint)
language sql stable parallel safe
begin atomic
  select count(*) filter (where s.body is not null), count(*) filter (where s.state = 'erased'),
    (select count(*) from ragdb.shared_conflicts c
      join ragdb.shared_events e on e.corpus_id = c.corpus_id and e.hash = c.loser
      where c.corpus_id = (shared).corpus_id and e.is_head),
    (select count(*) from ragdb.shared_documents d
      where d.corpus_id = (shared).corpus_id and d.state = 'waiting')
  from pg_catalog.unnest(settled) s;
end;

create or replace function ragdb.apply_events(peer text, corpus text, page jsonb)
returns table (events integer, known integer, documents_put integer, documents_erased integer,
  conflicts integer, waiting integer, "position" bigint, is_done boolean)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_shared constant ragdb.shared_corpora := ragdb_internal.hold_shared(corpus);
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'admin');
  v_follow constant ragdb.peer_corpora := ragdb_internal.followed(v_shared, peer);
  v_bodies jsonb;
  v_settled ragdb_internal.settlement[];
  v_sources text[];
begin
  perform ragdb_internal.check_page_of_peer(v_shared, v_follow.position, page);
  v_sources := ragdb_internal.take_events(v_shared, peer, v_follow.position, page);
  select coalesce(jsonb_object_agg(encode(ragdb_internal.event_hash(i ->> 'event'), 'hex'),
      i -> 'body') filter (where i ->> 'body' is not null), '{}') into v_bodies
    from jsonb_array_elements(page -> 'events') i;
  v_settled := array(
    select s from unnest(v_sources) u (uri)
      cross join lateral ragdb_internal.settle_source(v_shared.corpus_id, u.uri, v_bodies) s
    where s.source is not null);
  perform ragdb_internal.take_documents(v_corpus, v_settled, peer),
    ragdb_internal.renew_statistics('{ragdb.shared_events,ragdb.shared_documents}');
  return query
    with read as (
      update ragdb.peer_corpora f
        set "position" = coalesce((page #>> '{events,-1,position}')::bigint, f."position"),
          pulled_at = ragdb_internal.now()
        where f.corpus_id = v_shared.corpus_id and f.peer = v_follow.peer
        returning f."position"
    )
    select (c.last_position - v_shared.last_position)::integer,
      (jsonb_array_length(page -> 'events') - (c.last_position - v_shared.last_position))::integer,
      n.put::integer, n.erased::integer, n.conflicts::integer, n.waiting::integer, r."position",
      r."position" >= (page ->> 'head')::bigint
    from read r, ragdb.shared_corpora c, ragdb_internal.settled_counts(v_shared, v_settled) n
    where c.corpus_id = v_shared.corpus_id;
end $$;
comment on function ragdb.apply_events is
  'Takes a page of events of a peer into a shared corpus: {"feed", "head" (the last position of '
  'the peer), "events": [{"position", "event", "signature", "body"}]} as ragdb.list_shared_events '
  'returns them. It checks order, hashes, Lamport times and authors; the caller has checked the '
  'signatures. Returns how many events are new and known, what was put and erased, how many '
  'conflicts are open and sources wait for their text, the position to go on after, and whether '
  'that is the last. Raises RG400, RG401, RG404, RG409, RG412, RG490, RG491, RG492, RG493.';
