-- Signed events: what exactly is signed, and how an event is read that somebody else made.
--
-- An event is a text of JSON with its keys in one order. What is signed is a line that says so and
-- this text, so a signature of an event is never one of anything else. The event has the hash of a
-- document and not its text: what is erased can go, and the events stay whole.

-- Returns an event as it is signed: JSON with its keys in one order.
create or replace function ragdb_internal.event_text(feed uuid, event ragdb.shared_events,
  previous text, made_at text) returns text
language sql immutable parallel safe
return pg_catalog.jsonb_build_object(
  'feed', event_text.feed, 'author', pg_catalog.encode((event).author, 'hex'),
  'seq', (event).seq, 'lamport', (event).lamport, 'previous', previous, 'kind', (event).kind,
  'source', (event).source, 'replaces', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.encode(r.hash, 'hex') order by r.hash), '[]')
    from pg_catalog.unnest((event).replaces) r (hash)),
  'body', pg_catalog.encode((event).body_hash, 'hex'), 'at', made_at)::text;

-- Returns the SHA-256 of what is signed of an event.
create or replace function ragdb_internal.event_hash(event text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256('ragdb-event/1\012'::bytea || ragdb_internal.utf8(event_hash.event));

-- Raises RG492, saying what is wrong with an event of a peer.
create or replace function ragdb_internal.refuse_event(problem text, event text, hint text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'an event is refused: %', problem
    using errcode = 'RG492', detail = 'it is ' || ragdb_internal.quote(event)
      || '; nothing of what came with it was taken', hint = refuse_event.hint;
end $$;

-- Returns a text as JSON; null where it is not JSON that the database can hold.
create or replace function ragdb_internal.json_of(value text) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value::jsonb;
exception when data_exception or statement_too_complex then
  return null;
end $$;

-- Returns the fields of an event; null where one is missing or out of range. Every cast is of what
-- the text before it allows.
create or replace function ragdb_internal.event_fields(event jsonb) returns ragdb.shared_events
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(event) = 'object'
    and event ->> 'author' ~ '^[0-9a-f]{64}$' and event ->> 'seq' ~ '^[1-9][0-9]{0,17}$'
    and event ->> 'lamport' ~ '^[1-9][0-9]{0,17}$'
    and coalesce(event ->> 'body', '') ~ '^([0-9a-f]{64})?$'
    and pg_catalog.jsonb_typeof(event -> 'replaces') = 'array'
    and pg_catalog.octet_length(event ->> 'source') between 1 and (
      select f.most from ragdb_internal.document_fields() f where f.name = 'uri')
    and event ->> 'kind' in ('rag.document.ingested', 'rag.document.erased')
    and (event ->> 'kind' = 'rag.document.erased') = (event ->> 'body' is null)
    and not exists (
      select from pg_catalog.jsonb_array_elements(
        case pg_catalog.jsonb_typeof(event -> 'replaces') when 'array' then event -> 'replaces'
        else '[]' end) with ordinality r (v, n)
      where r.n > 100 or r.v #>> '{}' is null or r.v #>> '{}' !~ '^[0-9a-f]{64}$')
  then row(null, null, null, pg_catalog.decode(event ->> 'author', 'hex'),
    (event ->> 'seq')::bigint, (event ->> 'lamport')::bigint, event ->> 'kind',
    event ->> 'source', array(
      select pg_catalog.decode(r.v, 'hex')
      from pg_catalog.jsonb_array_elements_text(event -> 'replaces') r (v)),
    pg_catalog.decode(event ->> 'body', 'hex'), null, null, true, null, null, null
  )::ragdb.shared_events end;

-- Returns an event of a shared corpus as a row, without where it is stored. An event is made again
-- of its fields: only a text that is equal to that has one meaning. Raises RG492.
create or replace function ragdb_internal.read_event(shared ragdb.shared_corpora, event text,
  signature bytea) returns ragdb.shared_events
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_given constant jsonb := ragdb_internal.json_of(event);
  v_event ragdb.shared_events := ragdb_internal.event_fields(v_given);
begin
  if v_event.author is null or octet_length(signature) is distinct from 64
    or (case when coalesce(v_given ->> 'previous', '') ~ '^([0-9a-f]{64})?$'
        and v_given ->> 'at' ~ '^[0-9TZ:.-]{20,30}$'
        and v_given ->> 'feed' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then ragdb_internal.event_text((v_given ->> 'feed')::uuid, v_event, v_given ->> 'previous',
        v_given ->> 'at') <> event
      else true end)
  then
    perform ragdb_internal.refuse_event('it is not a signed event', event,
      'the peer''s version of ragdb may be another');
  end if;
  if (v_given ->> 'feed')::uuid <> shared.feed then
    perform ragdb_internal.refuse_event('it is of another corpus, feed ' || (v_given ->> 'feed'),
      event, 'check the name of the corpus at the peer');
  end if;
  v_event.corpus_id := shared.corpus_id;
  v_event.hash := ragdb_internal.event_hash(event);
  v_event.event := event;
  v_event.signature := signature;
  return v_event;
end $$;
