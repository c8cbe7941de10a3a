-- What happened to documents, for consumers that poll.
--
-- Each corpus has a clock of its own. A writer holds the row of its corpus from before its event to
-- its commit, so ticks of a corpus become visible in their order: whoever has seen one has seen all
-- before it. Nothing of the kind holds between two corpora, whose writers do not wait for each
-- other. So who reads all of them goes on from a tick for each.
--
-- A tick is the time in microseconds, and more than the tick before. So it moves on where a plain
-- count would come again: in a database restored from a dump, on a standby that took over, in a
-- corpus made anew under its old name. Where the machine's clock goes back, it counts.

-- Returns the hashes of the chunks of some documents, of each the first so many (null or 0: none)
-- by its last event. What is as an event told it before is not hashed again: then a forged row of
-- it stays found. An event is looked for in the order of ids: in a corpus that statistics do not
-- know yet the index by ticks seems to cost as little, and would be read whole.
create or replace function ragdb_internal.told_chunks(
  corpus_id integer, doc_nos integer[], told integer[])
returns bytea[]
language sql stable parallel safe
return ragdb_internal.chunks_hashes(array(
  select row(told_chunks.corpus_id, h.doc_no,
      case when e.chunks_hash is null then 0 else h.told end, e.chunks_hash)
      ::ragdb_internal.chunk_chain
    from unnest(told_chunks.doc_nos, told_chunks.told) with ordinality
        h (doc_no, told, nth)
      left join lateral (
        select case when o.event_id = d.event_id then o.chunks_hash end as chunks_hash
          from (
              select d.event_id from ragdb.documents d
              where h.told > 0 and d.corpus_id = told_chunks.corpus_id and d.doc_no = h.doc_no
              offset 0) d
            cross join lateral (
              select v.event_id, v.chunks_hash from ragdb.events v
              where v.corpus_id = told_chunks.corpus_id and v.event_id >= d.event_id
              order by v.event_id limit 1) o
          offset 0) e on true
    order by h.nth));

-- Writes an event for each of some documents, of each with so many chunks (null: none) as its last
-- event told them, and under the id that its row has already (null: the row gets one), and tells
-- who listens; the caller holds the corpus lock. Where a vacuum that saw no row of this call says
-- that the table has none, an index by something else costs less than one whose key is an
-- expression: hence offset 0 around the number.
create or replace function ragdb_internal.write_events(
  corpus ragdb.corpora, doc_nos integer[], told integer[] default null,
  event_ids uuid[] default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
declare
  v_now constant timestamptz := ragdb_internal.now();
  v_caller constant text := ragdb_internal.caller();
  v_chunks constant bytea[] := ragdb_internal.told_chunks(corpus.corpus_id, doc_nos, told);
  v_tick bigint;
  v_events text[];
begin
  if cardinality(doc_nos) = 0 then return; end if;
  update ragdb.corpora c
    set lamport = greatest(c.lamport, ragdb_internal.tick_of(v_now)) + cardinality(doc_nos)
    where c.corpus_id = corpus.corpus_id
    returning c.lamport - cardinality(doc_nos) into strict v_tick;
  with written as (
    insert into ragdb.events (corpus_id, lamport, event_id, kind, created_at, author, corpus,
        doc_cid, source, title, language, chunks, document_hash, chunks_hash)
      select corpus.corpus_id, v_tick + h.nth,
        coalesce(h.id, ragdb_internal.tick_id(v_tick + h.nth)), 'rag.document.ingested',
        v_now, v_caller, corpus.name, d.doc_cid, d.source, d.title, d.language, d.chunks,
        d.document_hash, h.chunks_hash
      from unnest(doc_nos, v_chunks, event_ids) with ordinality h (doc_no, chunks_hash, id, nth)
        cross join lateral ragdb_internal.found_at(corpus.corpus_id, h.doc_no) f
        cross join lateral (
          select o.*, ragdb_internal.document_hash(o, f.sources) from ragdb.documents o
          where (o.corpus_id, o.doc_no) = (corpus.corpus_id, h.doc_no) offset 0) d
      order by h.nth
      returning lamport, event_id
  ), noted as (
    update ragdb.documents d set event_id = w.event_id
    from written w
      cross join lateral (select doc_nos[w.lamport - v_tick] as doc_no offset 0) n
      cross join lateral (select h.ctid from ragdb.documents h
        where h.corpus_id = corpus.corpus_id and h.doc_no = n.doc_no offset 0) o
    where d.ctid = o.ctid and event_ids[w.lamport - v_tick] is null
  )
  select array_agg(corpus.corpus_id || '/' || w.event_id order by w.lamport)
    into v_events from written w;
  -- anybody may listen, so a notice only says that something is there to be read
  perform ragdb_internal.renew_statistics('{ragdb.events}'),
    ragdb_internal.note_all('event', v_events), ragdb_internal.notify('ragdb_events');
end $$;

-- Refuses what no page of events said to go on from. Raises RG400.
create or replace function ragdb_internal.check_positions(after jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(after) <> 'object' or exists (
      select from jsonb_each(case jsonb_typeof(after) when 'object' then after end) p
      where p.key !~ '^[1-9][0-9]{0,9}$' or jsonb_typeof(p.value) <> 'number'
        or p.value::text !~ '^[0-9]{1,18}$')
  then
    raise exception 'after is not a place in the events: %', ragdb_internal.quote(after::text)
      using errcode = 'RG400', detail = 'it holds a tick for each corpus that was read',
        hint = 'pass the last "next" as it came, or null for the beginning';
  end if;
end $$;

-- Returns the events of a corpus after a tick, oldest first. Raises RG400.
create or replace function ragdb_internal.events_of(
  corpus ragdb.corpora, after bigint, count integer)
returns ragdb.events[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(events_of.count, 'events');
  return array(
    select e from ragdb.events e
    where e.corpus_id = (events_of.corpus).corpus_id and e.lamport > events_of.after
    order by e.lamport limit events_of.count);
end $$;

create or replace function ragdb.corpus_events(
  corpus text, after bigint default 0, count integer default 100)
returns table (
  lamport bigint, event_id uuid, kind text, created_at timestamptz, author text, doc_cid text,
  source text, title text, language text, chunks integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus_events.corpus, 'read');
begin
  return query
    select e.lamport, e.event_id, e.kind, e.created_at, e.author, e.doc_cid, e.source, e.title,
      e.language, e.chunks
    from unnest(ragdb_internal.events_of(
      v_corpus, coalesce(corpus_events.after, 0), corpus_events.count)) e
    order by e.lamport;
end $$;
comment on function ragdb.corpus_events is
  'Returns the events of a corpus after a tick (0: from the beginning), oldest first, at most '
  'count (1 to 10000). To go on, pass the lamport of the last one as after. Raises RG400, RG401, '
  'RG404, RG438.';

-- Returns the next events after a place, of the corpora that the caller may read: of each corpus in
-- their order. The corpus with the oldest event that was not read goes first, with as many as the
-- page has room for, and then the next: none is passed by, and few are looked at that the page does
-- not take. Raises RG400.
create or replace function ragdb_internal.next_events(
  after jsonb, count integer, takes_personal boolean)
returns ragdb.events[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(next_events.count, 'events'),
    ragdb_internal.check_positions(next_events.after);
  return array(
    with behind as materialized (
      select c.corpus_id, coalesce((after ->> c.corpus_id::text)::bigint, 0) as seen
      from ragdb_internal.corpora_to_read() c
      where c.lamport > coalesce((after ->> c.corpus_id::text)::bigint, 0)
        and (takes_personal or c.personal_of is null)
    ), begun as (
      select b.corpus_id, b.seen, f.lamport
      from behind b
        cross join lateral (select e.lamport from ragdb.events e
          where e.corpus_id = b.corpus_id and e.lamport > b.seen order by e.lamport limit 1) f
      order by f.lamport, b.corpus_id
    )
    select p.event from (
      select e as event from begun b
        cross join lateral (select o.* from ragdb.events o
          where o.corpus_id = b.corpus_id and o.lamport > b.seen
          order by o.lamport limit next_events.count) e
      order by b.lamport, b.corpus_id, e.lamport limit next_events.count) p
    order by (p.event).lamport, (p.event).corpus_id);
end $$;

-- Returns the place behind a page of events: a tick for each corpus. A corpus that the caller
-- cannot read, or no longer, is forgotten, so that the place stays small where corpora come and go.
-- One later than all that are there stays: numbers are given out in order, so it may be one that a
-- standby does not have yet.
create or replace function ragdb_internal.next_position(after jsonb, page ragdb.events[])
returns jsonb
language sql stable parallel safe
return (
  with readable as materialized (
    select c.corpus_id from ragdb_internal.corpora_to_read() c
  )
  select coalesce(pg_catalog.jsonb_object_agg(p.corpus_id, p.lamport), '{}') from (
    select k.corpus_id, max(k.lamport) as lamport
    from (
      select a.key::bigint as corpus_id, a.value::bigint as lamport
        from pg_catalog.jsonb_each_text(next_position.after) a
      union all
      select e.corpus_id, e.lamport from pg_catalog.unnest(next_position.page) e
    ) k
    where k.corpus_id in (select r.corpus_id from readable r)
      or k.corpus_id > (select coalesce(max(r.corpus_id), 0) from readable r)
    group by k.corpus_id) p);

create or replace function ragdb.events_after(after jsonb default null, count integer default 100)
returns table (
  corpus text, lamport bigint, event_id uuid, kind text, created_at timestamptz, author text,
  doc_cid text, source text, title text, language text, chunks integer, next jsonb)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_page constant ragdb.events[] :=
    ragdb_internal.next_events(events_after.after, events_after.count, true);
begin
  return query
    select e.corpus, e.lamport, e.event_id, e.kind, e.created_at, e.author, e.doc_cid, e.source,
      e.title, e.language, e.chunks, case when e.ordinality = cardinality(v_page)
        then ragdb_internal.next_position(events_after.after, v_page) end
    from unnest(v_page) with ordinality e order by e.ordinality;
end $$;
comment on function ragdb.events_after is
  'Returns the next events of all corpora that the caller may read, at most count (1 to 10000): of '
  'each corpus in their order. To go on, pass next of the last row as after (null: from the '
  'beginning); it is null in the other rows. Raises RG400.';
