-- Turns that come one by one. They go into a document of their session that nothing but appending
-- writes, so that a file of the same session can be put again without losing what was appended.

-- Returns the doc_cid of a conversation with some turns more: the SHA-256 of the one before and of
-- a turn, turn by turn. The identity of a document that grows: each turn is hashed onto what was
-- there, so that it is the same in whatever batches they came.
create or replace function ragdb_internal.grown_cid(
  cid text, turns ragdb_internal.parsed_turn[])
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cid text := cid;
  v_turn ragdb_internal.parsed_turn;
begin
  foreach v_turn in array turns loop
    v_cid := 'sha256:' || encode(sha256(
      ragdb_internal.packed(v_cid) || ragdb_internal.packed(v_turn.chunk_id)
      || ragdb_internal.packed(v_turn.role)
      || ragdb_internal.packed(ragdb_internal.content_hash(v_turn.text))), 'hex');
  end loop;
  return v_cid;
end $$;

-- Returns the doc_cid of a conversation that was not a file, or is no longer what its file says.
create or replace function ragdb_internal.session_cid(
  session text, turns ragdb_internal.parsed_turn[])
returns text
language sql stable parallel safe
return ragdb_internal.grown_cid('sha256:' || pg_catalog.encode(pg_catalog.sha256(
    ragdb_internal.packed('ragdb-session-1') || ragdb_internal.packed(session_cid.session)), 'hex'),
  session_cid.turns);

-- Returns the bytes of the texts of some turns.
create or replace function ragdb_internal.turn_bytes(turns ragdb_internal.parsed_turn[])
returns bigint
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.sum(pg_catalog.octet_length(t.text)), 0)
    from pg_catalog.unnest(turn_bytes.turns) t);

-- Returns turns as the next chunks of a document.
create or replace function ragdb_internal.appended_chunks(
  corpus ragdb.corpora, document ragdb.documents, turns ragdb_internal.parsed_turn[])
returns ragdb_internal.planned_chunk[]
language sql stable parallel safe
return array(
  select row(
    (appended_chunks.corpus).next_chunk_no - 1 + t.n, (appended_chunks.document).doc_no,
    (appended_chunks.document).source, (appended_chunks.document).chunks - 1 + t.n, t.chunk_id,
    ragdb_internal.turn_heading(t.given), null,
    l.ending + t.ending - pg_catalog.length(t.text), l.ending + t.ending,
    (pg_catalog.length(t.text) + 3) / 4, ragdb_internal.content_hash(t.text), null, 0,
    t.text)::ragdb_internal.planned_chunk
  from (
    select u.*, pg_catalog.sum(pg_catalog.length(u.text) + 2) over (order by u.n) as ending
      from pg_catalog.unnest(appended_chunks.turns) with ordinality
        u (nth, session_id, place, raw_id, chunk_id, role, given, created_at, text, n)) t
    cross join (
      select coalesce((
        select c.end_offset from ragdb.chunks c
          where c.corpus_id = (appended_chunks.corpus).corpus_id
            and c.doc_no = (appended_chunks.document).doc_no
            and c.ordinal = (appended_chunks.document).chunks - 1), -2) as ending) l
  order by t.n);

-- Writes turns as the next chunks of a document, indexed and embedded; the caller holds the corpus
-- lock. Raises RG413.
create or replace function ragdb_internal.extend_document(
  corpus ragdb.corpora, document ragdb.documents, turns ragdb_internal.parsed_turn[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_planned constant ragdb_internal.planned_chunk[] :=
    ragdb_internal.appended_chunks(corpus, document, turns);
  v_chunk_nos constant integer[] := array(select p.chunk_no from unnest(v_planned) p);
  v_before constant ragdb_internal.document_counts :=
    ragdb_internal.count_documents(v_id, array[document.doc_no]);
begin
  perform ragdb_internal.check_numbers(corpus, '{}', v_planned),
    ragdb_internal.check_chunk_quota(corpus, cardinality(v_planned));
  perform ragdb_internal.insert_chunks(corpus, v_planned);
  update ragdb.documents d
    set doc_cid = ragdb_internal.grown_cid(d.doc_cid, turns),
      chunks = d.chunks + cardinality(v_planned),
      tokens = d.tokens + (select sum(p.token_count) from unnest(v_planned) p),
      size_bytes = d.size_bytes + ragdb_internal.turn_bytes(turns),
      updated_at = ragdb_internal.now()
    where d.corpus_id = v_id and d.doc_no = document.doc_no;
  perform ragdb_internal.recount_corpus(corpus, v_before,
    ragdb_internal.count_documents(v_id, array[document.doc_no]), '{}', v_chunk_nos);
  perform ragdb_internal.index_in_turns(v_id, v_chunk_nos);
  perform ragdb_internal.embed_written(corpus, v_chunk_nos);
  -- what is there now is no longer in the original
  perform ragdb_internal.drop_unused_blobs(v_id, array[document.doc_cid]);
end $$;

-- Returns the document that the turns of a session are appended to; null where there is none yet.
-- Raises RG409.
create or replace function ragdb_internal.session_document(corpus_id integer, session text)
returns ragdb.documents
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_document ragdb.documents;
begin
  select d.* into v_document from ragdb.document_sources s
    join ragdb.documents d on d.corpus_id = s.corpus_id and d.doc_no = s.doc_no
    where s.corpus_id = session_document.corpus_id and s.uri = 'session:' || session;
  if found and not ragdb_internal.has_turns(v_document.chunking) then
    raise exception 'source % is not a conversation',
        ragdb_internal.quote('session:' || session)
      using errcode = 'RG409',
        detail = 'turns of a session are appended to the source session: and its name',
        hint = 'put that document under another source';
  end if;
  return v_document;
end $$;

-- Stores the edges that lead to appended turns. A conversation that is put again says nothing of
-- what is in another document.
create or replace function ragdb_internal.store_appended_edges(
  corpus_id integer, edges ragdb_internal.parsed_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
declare
  v_added ragdb_internal.chunk_edge[];
begin
  with stored as (
    insert into ragdb.edges as e (corpus_id, parent_no, child_no, edge_type, is_added)
      select store_appended_edges.corpus_id, n.parent_no, n.child_no, n.edge_type,
          p.doc_no <> k.doc_no
        from ragdb_internal.numbered_edges(store_appended_edges.corpus_id, edges) n
        cross join lateral (
          select c.doc_no from ragdb.chunks c
            where c.corpus_id = store_appended_edges.corpus_id and c.chunk_no = n.parent_no
            offset 0) p
        cross join lateral (
          select c.doc_no from ragdb.chunks c
            where c.corpus_id = store_appended_edges.corpus_id and c.chunk_no = n.child_no
            offset 0) k
        order by n.parent_no, n.child_no, n.edge_type
      on conflict do nothing
      returning e.parent_no, e.child_no, e.edge_type, e.is_added
  )
  select array_agg(row(s.parent_no, s.child_no, s.edge_type)::ragdb_internal.chunk_edge)
    into v_added from stored s where s.is_added;
  perform ragdb_internal.record_edges(store_appended_edges.corpus_id, v_added, true);
end $$;

-- Returns the place of the turn that was said first among some stored ones.
create or replace function ragdb_internal.first_place(
  corpus_id integer, turns ragdb_internal.parsed_turn[])
returns ragdb_internal.turn_place
language sql stable parallel safe
set cpu_index_tuple_cost = 1000
return (
  select row(t.created_at, t.place, t.turn_id)::ragdb_internal.turn_place
    from pg_catalog.unnest(first_place.turns) n
    cross join lateral (
      select c.chunk_no from ragdb.chunks c
        where c.corpus_id = first_place.corpus_id and c.chunk_id = n.chunk_id
        offset 0) c
    cross join lateral (
      select t.* from ragdb.turns t
        where t.corpus_id = first_place.corpus_id and t.chunk_no = c.chunk_no
        offset 0) t
    order by t.created_at, t.place, t.turn_id limit 1);

-- Writes turns that a session does not have yet, derived from what is before them; the caller holds
-- the corpus lock. Raises RG409, RG412, RG413.
create or replace function ragdb_internal.store_appended(
  corpus ragdb.corpora, session text, document jsonb, turns ragdb_internal.parsed_turn[],
  edges ragdb_internal.parsed_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_log constant ragdb.documents := ragdb_internal.session_document(v_id, session);
  v_event uuid;
  v_document constant jsonb := ragdb_internal.conversation_documents(
    jsonb_build_array(document || jsonb_build_object(
      'uri', 'session:' || session, 'session', session, 'messages', '[]'::jsonb,
      'size_bytes', ragdb_internal.turn_bytes(turns),
      'doc_cid', ragdb_internal.session_cid(session, turns))), turns);
begin
  if v_log.doc_no is null then
    select p.ingest_event_id into strict v_event
      from ragdb_internal.put_given(corpus.name, v_document, false, true) p;
  else
    perform ragdb_internal.check_documents(v_document, true);
    perform ragdb_internal.extend_document(corpus, v_log, turns);
  end if;
  perform ragdb_internal.store_turns(v_id, turns);
  perform ragdb_internal.store_appended_edges(v_id, edges);
  if v_log.doc_no is null then
    perform ragdb_internal.tell_turns(v_id, array[v_event]);
  else
    perform ragdb_internal.write_events(corpus, array[v_log.doc_no], array[v_log.chunks]);
  end if;
  perform ragdb_internal.derive_turns(
    v_id, array[session], ragdb_internal.first_place(v_id, turns));
end $$;
