-- Which event of a source decides. Every peer that has the same events decides the same, in
-- whatever order they came.
--
-- Of the events that nothing replaces the latest decides: the highest Lamport time, then the
-- highest key. An erasure beats every change whose author did not know of it: what is erased does
-- not come back because somebody edited it meanwhile.

-- Whether the author of an event knew of all erasures of its source that are known here.
create or replace function ragdb_internal.knows_erasures(event ragdb.shared_events)
returns boolean
language sql stable parallel safe
return not exists (
  with recursive known as (
    select (knows_erasures.event).hash as hash, (knows_erasures.event).replaces as replaces
    union
    select e.hash, e.replaces from known k
      join ragdb.shared_events e on e.corpus_id = (knows_erasures.event).corpus_id
        and e.source = (knows_erasures.event).source and e.hash = any (k.replaces)
  )
  select from ragdb.shared_events e
  where e.corpus_id = (knows_erasures.event).corpus_id
    and e.source = (knows_erasures.event).source and e.kind = 'rag.document.erased'
    and e.hash not in (select k.hash from known k));

-- Returns the event that decides a source.
create or replace function ragdb_internal.deciding_event(corpus_id integer, source text)
returns ragdb.shared_events
language sql stable parallel safe
begin atomic
  with event as materialized (
    select e as event from ragdb.shared_events e
    where e.corpus_id = deciding_event.corpus_id and e.source = deciding_event.source
  ), head as materialized (
    select h.event, count(*) over () as heads from event h where (h.event).is_head
  )
  select (d.event).* from (
    select h.event, true as is_live from head h
    where h.heads = 1
      or (h.event).body_hash is not null and ragdb_internal.knows_erasures(h.event)
    union all
    select e.event, false from event e where (e.event).body_hash is null) d
  order by d.is_live desc, (d.event).lamport desc, (d.event).author desc limit 1;
end;

-- What becomes of a source: its state, and the document to be put there, if one is.
create type ragdb_internal.settlement as (source text, state text, body text);

-- Takes away what conflicts kept of a source, where the event is an erasure of it.
create or replace function ragdb_internal.forget_losers(event ragdb.shared_events) returns void
language sql
begin atomic
  update ragdb.shared_conflicts c set body = null
    where c.corpus_id = (forget_losers.event).corpus_id
      and c.source = (forget_losers.event).source and c.body is not null
      and (forget_losers.event).body_hash is null;
end;

-- Records the events of a source that nothing replaces and that do not decide, with their
-- documents, unless they were erased.
create or replace function ragdb_internal.record_conflicts(winner ragdb.shared_events,
  bodies jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.shared_conflicts c
    where c.corpus_id = winner.corpus_id and c.loser = winner.hash;
  insert into ragdb.shared_conflicts as c (corpus_id, loser, winner, source, body, found_at)
    select e.corpus_id, e.hash, winner.hash, e.source,
      case when winner.body_hash is not null and ragdb_internal.knows_erasures(e)
        then coalesce(bodies ->> encode(e.hash, 'hex'), ragdb_internal.event_body(e)) end,
      ragdb_internal.now()
    from ragdb.shared_events e
    where e.corpus_id = winner.corpus_id and e.source = winner.source and e.is_head
      and e.hash <> winner.hash and e.body_hash <> coalesce(winner.body_hash, '')
    on conflict on constraint shared_conflicts_loser_is_unique do update
      set winner = excluded.winner, body = coalesce(excluded.body, c.body);
  perform ragdb_internal.forget_losers(winner);
end $$;

-- Refuses to decide a source that was changed here since its last event, unless to what it is now.
-- Raises RG493.
create or replace function ragdb_internal.check_published(winner ragdb.shared_events,
  event_id uuid) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.local_event(winner.corpus_id, winner.source) is distinct from event_id
    and ragdb_internal.text_hash(ragdb_internal.shared_body(winner.corpus_id, winner.source))
      is distinct from winner.body_hash
  then
    raise exception 'source % was changed here, and that is not published',
        ragdb_internal.quote(winner.source)
      using errcode = 'RG493', detail = 'a peer changed it too; nothing was taken',
        hint = 'sign what was changed here first: ragdb peer publish';
  end if;
end $$;

-- Decides a source, and returns what becomes of it; null where it stays. Of the documents that
-- came, bodies has the text by the hash of its event in hex. Raises RG493.
create or replace function ragdb_internal.settle_source(corpus_id integer, source text,
  bodies jsonb) returns ragdb_internal.settlement
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_winner constant ragdb.shared_events := ragdb_internal.deciding_event(corpus_id, source);
  v_before ragdb.shared_documents;
  v_body text;
  v_state text := 'erased';
begin
  select s.* into v_before from ragdb.shared_documents s
    where s.corpus_id = settle_source.corpus_id and s.source = settle_source.source;
  perform ragdb_internal.check_published(v_winner, v_before.event_id);
  if v_winner.body_hash is not null then
    v_body := coalesce(bodies ->> encode(v_winner.hash, 'hex'),
      ragdb_internal.event_body(v_winner));
    v_state := case when v_body is not null or v_winner.body_hash = ragdb_internal.text_hash(
        ragdb_internal.shared_body(corpus_id, source)) then 'present' else 'waiting' end;
  end if;
  perform ragdb_internal.record_conflicts(v_winner, bodies);
  if v_before.hash = v_winner.hash and v_before.state = v_state then
    return null;
  end if;
  insert into ragdb.shared_documents as s (corpus_id, source, hash, state)
    values (settle_source.corpus_id, settle_source.source, v_winner.hash, v_state)
    on conflict on constraint shared_documents_source_is_unique do update
      set hash = excluded.hash, state = excluded.state;
  return row(source, v_state, v_body)::ragdb_internal.settlement;
end $$;
