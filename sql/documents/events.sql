-- What happened to documents, for consumers that poll.
--
-- A writer holds the clock's row from its event to its commit, so ticks become visible in their
-- order: whoever has seen one has seen all before it. Ids are in the order of ticks, so an id is a
-- place to go on from, even when its event is gone with its corpus.

-- Called last: the clock's row is held to the end of the transaction, and everybody who writes
-- waits for it.
create or replace function ragdb_internal.write_events(corpus ragdb.corpora, doc_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_now constant timestamptz := ragdb_internal.now();
  v_caller constant text := ragdb_internal.caller();
  v_tick bigint;
  v_at timestamptz;
  v_events text[];
begin
  if cardinality(doc_nos) = 0 then return; end if;
  insert into ragdb.event_clock as t (id, lamport, at) values (true, 0, v_now)
    on conflict on constraint event_clock_has_one_row do update
      set at = greatest(ragdb_internal.now(), t.at)
    returning t.lamport, t.at into v_tick, v_at;
  with written as (
    insert into ragdb.events (lamport, event_id, kind, created_at, author, corpus_id, corpus,
        doc_cid, source, title, language, chunks)
      select v_tick + h.nth, ragdb_internal.uuid7(v_at + h.nth * interval '1 microsecond'),
        'rag.document.ingested', v_now, v_caller, corpus.corpus_id, corpus.name, d.doc_cid,
        d.source, d.title, d.language, d.chunks
      from unnest(doc_nos) with ordinality h (doc_no, nth)
        cross join lateral (select o.* from ragdb.documents o
          where o.corpus_id = corpus.corpus_id and o.doc_no = h.doc_no offset 0) d
      order by h.nth
      returning lamport, event_id
  ), ticked as (
    update ragdb.event_clock t set lamport = v_tick + cardinality(doc_nos),
        at = v_at + cardinality(doc_nos) * interval '1 microsecond'
  ), noted as (
    update ragdb.documents d set event_id = w.event_id
    from written w
      cross join lateral (select h.ctid from ragdb.documents h
        where h.corpus_id = corpus.corpus_id and h.doc_no = doc_nos[w.lamport - v_tick] offset 0) o
    where d.ctid = o.ctid
  )
  select array_agg(corpus.corpus_id || '/' || w.event_id order by w.lamport) into v_events
    from written w;
  perform ragdb_internal.note_all('event', v_events);
  -- anybody may listen, so a notice only says that something is there to be read
  perform ragdb_internal.notify('ragdb_events');
end $$;
comment on function ragdb_internal.write_events(ragdb.corpora, integer[]) is
  'Writes an event for each of some documents, in their order, and tells who listens; the caller '
  'holds the corpus lock.';

create or replace function ragdb.events_after(id uuid default null, count integer default 100)
returns table (
  event_id uuid, lamport bigint, kind text, created_at timestamptz, author text, corpus text,
  doc_cid text, source text, title text, language text, chunks integer)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if count is null or count not between 1 and (ragdb_internal.limits()).page_rows then
    raise exception 'count is %, not 1 to %', coalesce(count::text, 'null'),
        (ragdb_internal.limits()).page_rows
      using errcode = 'RG400', detail = 'it is the number of events to read',
        hint = 'the default is 100';
  end if;
  return query
    with readable as materialized (
      select c.corpus_id from ragdb.corpora c
      where ragdb_internal.privilege(c) > 0
    )
    select e.event_id, e.lamport, e.kind, e.created_at, e.author, e.corpus, e.doc_cid,
      e.source, e.title, e.language, e.chunks
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from readable r)
      and e.event_id > coalesce(events_after.id, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit events_after.count;
end $$;
comment on function ragdb.events_after(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 '
  'to 10000), of the corpora that the caller may read. Raises RG400.';
