-- Changes that are made here become events. The database says what is to be signed, whoever has the
-- private key signs it outside, and the database takes both, all in one transaction.

-- Returns the sources of a shared corpus that were changed here since the event that decides each:
-- what went first, then what came in its order.
create or replace function ragdb_internal.unpublished(corpus_id integer)
returns table (source text, is_erased boolean)
language sql stable parallel safe
begin atomic
  select u.source, u.is_erased from (
    select d.source, false as is_erased, d.event_id
    from ragdb.documents d
      left join ragdb.shared_documents s on s.corpus_id = d.corpus_id and s.source = d.source
    where d.corpus_id = unpublished.corpus_id and s.event_id is distinct from d.event_id
    union all
    select s.source, true, null from ragdb.shared_documents s
    where s.corpus_id = unpublished.corpus_id and s.event_id is not null and not exists (
      select from ragdb.document_sources d
      where d.corpus_id = s.corpus_id and d.uri = s.source)) u
  order by u.is_erased desc, u.event_id, u.source;
end;

-- Returns the event of a change that was made here, without its numbers. Raises RG413.
create or replace function ragdb_internal.draft_event(shared ragdb.shared_corpora, source text,
  is_erased boolean) returns ragdb.shared_events
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_body constant text := case when not is_erased
    then ragdb_internal.shared_body(shared.corpus_id, source) end;
  v_draft ragdb.shared_events;
begin
  if octet_length(v_body) > (ragdb_internal.limits()).peer_document_bytes then
    raise exception 'the document at % has % bytes as it is sent',
        ragdb_internal.quote(source), octet_length(v_body)
      using errcode = 'RG413', detail = 'no peer would take it',
        hint = format('a document that is shared has at most %s bytes',
          (ragdb_internal.limits()).peer_document_bytes);
  end if;
  v_draft.author := shared.author;
  v_draft.kind := 'rag.document.' || case when is_erased then 'erased' else 'ingested' end;
  v_draft.source := source;
  v_draft.replaces := ragdb_internal.event_heads(shared.corpus_id, source);
  v_draft.body_hash := ragdb_internal.text_hash(v_body);
  return v_draft;
end $$;

-- Returns whether the one event that a change knows says the same of its source; the document as it
-- is now is then the published one. A document that is read again from elsewhere, or by force, says
-- to peers what it said.
create or replace function ragdb_internal.keep_published(corpus_id integer,
  draft ragdb.shared_events) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from ragdb.shared_events e
    where e.corpus_id = keep_published.corpus_id and e.source = draft.source
      and draft.replaces = array[e.hash] and e.body_hash = draft.body_hash) then
    return false;
  end if;
  update ragdb.shared_documents s
    set event_id = ragdb_internal.local_event(keep_published.corpus_id, draft.source)
    where s.corpus_id = keep_published.corpus_id and s.source = draft.source;
  return true;
end $$;

create or replace function ragdb.draft_events(corpus text, count integer default 1000)
returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shared constant ragdb.shared_corpora := ragdb_internal.hold_shared(corpus);
  v_change record;
  v_draft ragdb.shared_events;
  v_last ragdb.shared_events;
  v_nth integer := 0;
  v_text text;
begin
  perform ragdb_internal.check_page(0, count);
  if v_shared.author is null then
    raise exception 'no key signs the changes of corpus %', ragdb_internal.quote(corpus)
      using errcode = 'RG433', detail = 'it is shared without an author',
        hint = 'name its public key: ragdb.share_corpus()';
  end if;
  select e.* into v_last from ragdb.shared_events e
    where e.corpus_id = v_shared.corpus_id and e.author = v_shared.author
    order by e.seq desc limit 1;
  for v_change in
    select u.source, u.is_erased from ragdb_internal.unpublished(v_shared.corpus_id) u
  loop
    exit when v_nth = count;
    v_draft := ragdb_internal.draft_event(v_shared, v_change.source, v_change.is_erased);
    continue when ragdb_internal.keep_published(v_shared.corpus_id, v_draft);
    v_nth := v_nth + 1;
    v_draft.seq := coalesce(v_last.seq, 0) + v_nth;
    v_draft.lamport := v_shared.lamport + v_nth;
    v_text := ragdb_internal.event_text(v_shared.feed, v_draft, encode(v_last.hash, 'hex'),
      to_char(ragdb_internal.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    v_last.hash := ragdb_internal.event_hash(v_text);
    return next v_text;
  end loop;
end $$;
comment on function ragdb.draft_events is
  'Returns the events to sign of what was changed in a shared corpus, at most count (1 to 1000), '
  'and keeps others from changing it to the end of the transaction. What is signed of each are the '
  'bytes "ragdb-event/1", a line feed, and its text in UTF-8. Raises RG400, RG401, RG404, RG413, '
  'RG433, RG491.';

-- What is signed must be what a draft says now: the drafts are made again.
create or replace function ragdb.publish_events(corpus text, events text[], signatures bytea[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shared ragdb.shared_corpora := ragdb_internal.hold_shared(corpus);
  v_event ragdb.shared_events;
begin
  if events is null or cardinality(events) <> coalesce(cardinality(signatures), -1) then
    raise exception 'events and signatures are not of one length'
      using errcode = 'RG400', detail = 'each event has one signature',
        hint = 'ragdb.draft_events() says what is to be signed';
  end if;
  for i in 1 .. cardinality(events) loop
    v_event := ragdb_internal.read_event(v_shared, events[i], signatures[i]);
    if v_event.author is distinct from v_shared.author
      or v_event.replaces <> ragdb_internal.event_heads(v_shared.corpus_id, v_event.source)
      or v_event.body_hash is distinct from ragdb_internal.text_hash(
        ragdb_internal.shared_body(v_shared.corpus_id, v_event.source))
    then
      perform ragdb_internal.refuse_event('it does not say what is here', events[i],
        'draft, sign and publish in one transaction');
    end if;
    v_shared := ragdb_internal.store_event(v_shared, v_event);
    insert into ragdb.shared_documents as s (corpus_id, source, hash, state, event_id)
      values (v_event.corpus_id, v_event.source, v_event.hash,
        case when v_event.body_hash is null then 'erased' else 'present' end,
        ragdb_internal.local_event(v_event.corpus_id, v_event.source))
      on conflict on constraint shared_documents_source_is_unique do update
        set hash = excluded.hash, state = excluded.state, event_id = excluded.event_id;
    perform ragdb_internal.forget_losers(v_event);
  end loop;
  perform ragdb_internal.renew_statistics('{ragdb.shared_events,ragdb.shared_documents}');
  return cardinality(events);
end $$;
comment on function ragdb.publish_events is
  'Stores the events of ragdb.draft_events, in their order, with the 64 bytes of the Ed25519 '
  'signature of each, and returns their number; from then on peers can read them. The caller '
  'answers for the signatures: peers check them. Raises RG400, RG401, RG404, RG491, RG492.';
