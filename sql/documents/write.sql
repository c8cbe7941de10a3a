-- The one function that writes documents. It plans what a call shall change, then changes only what
-- differs: a row that stays keeps its number, its vector and its edges.
--
-- The pieces that it calls run under its planner settings: look-ups go by key, and a session keeps
-- its plans. To make one for the rows at hand takes longer than all the rest where these are few,
-- and where they are many it copies them several times. So a piece that joins what is given says
-- how. Only the pieces that insert say otherwise.

-- Takes the given blobs from a corpus and from who brought them there, and removes those that are
-- left in none and that nobody else has put. What was never brought to this corpus is not its to
-- drop, and what others have put stays theirs. Locked before a look who has them: else what one
-- brings to another corpus meanwhile would go.
create or replace function ragdb_internal.drop_unused_blobs(corpus_id integer, cids text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone text[];
begin
  if cardinality(cids) = 0 then return; end if;
  perform from ragdb.blobs b where b.cid = any (array(
      select o.cid from ragdb.corpus_blobs o
      where o.corpus_id = drop_unused_blobs.corpus_id and o.cid = any (cids)))
    order by b.cid for update;
  with gone as (
    delete from ragdb.corpus_blobs b
      where b.corpus_id = drop_unused_blobs.corpus_id and b.cid = any (cids)
      returning b.cid, b.brought_by
  ), taken as (
    delete from ragdb.blob_uploads u using gone g
      where u.cid = g.cid and u.role = g.brought_by
        and not exists (select from ragdb.corpus_blobs o
          where o.cid = u.cid and o.brought_by = u.role
            and o.corpus_id <> drop_unused_blobs.corpus_id)
  )
  select array_agg(g.cid) into v_gone from gone g;
  perform ragdb_internal.record_originals(drop_unused_blobs.corpus_id, v_gone);
  delete from ragdb.blobs b
    where b.cid = any (v_gone)
      and not exists (select from ragdb.corpus_blobs o where o.cid = b.cid)
      and not exists (select from ragdb.blob_uploads u where u.cid = b.cid);
end $$;

-- Refuses documents or chunks that a corpus has no numbers left for. Raises RG413.
create or replace function ragdb_internal.check_numbers(
  corpus ragdb.corpora, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).corpus_numbers;
begin
  if greatest((select max(t.doc_no) from unnest(touched) t),
    (select max(p.chunk_no) from unnest(planned) p)) > v_most
  then
    raise exception 'corpus % has no numbers left', ragdb_internal.quote(corpus.name)
      using errcode = 'RG413',
        detail = format('a corpus gives %s numbers to documents, and as many to chunks', v_most),
        hint = 'ragdb export and ragdb import make a corpus of what there is, numbered anew';
  end if;
end $$;

-- Says how far a large write is, in a notice that clients make a bar of.
create or replace function ragdb_internal.tell_progress(what text, done integer, total integer)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if total > 8192 then
    raise notice '% of % chunks are %', least(done, total), total, what;
  end if;
end $$;

-- Makes the chunks of the touched documents, their edges and their links what they shall be,
-- removes the documents that are gone, and returns the chunks to be indexed. Raises RG409, RG413.
create or replace function ragdb_internal.write_chunks(
  corpus ragdb.corpora, documents jsonb, touched ragdb_internal.touched_document[], force boolean,
  moved_uris text[])
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_planned constant ragdb_internal.planned_chunk[] :=
    ragdb_internal.planned_chunks(corpus, documents, touched);
  v_links constant ragdb_internal.chunk_link[] :=
    ragdb_internal.planned_links(v_id, documents, touched, v_planned);
  v_kept constant integer[] := array(
    select p.chunk_no from unnest(v_planned) p where p.chunk_no < corpus.next_chunk_no);
  v_gone constant integer[] := array(
    select c.chunk_no from unnest(touched) t
      cross join lateral (select h.chunk_no from ragdb.chunks h
        where h.corpus_id = v_id and h.doc_no = t.doc_no offset 0) c
    where t.state in ('written', 'renamed', 'gone') and c.chunk_no not in (select unnest(v_kept)));
  v_changed integer[] := '{}';
  v_uris constant text[] := array(
    select s.uri from unnest(touched) t
      cross join lateral (select h.uri from ragdb.document_sources h
        where h.corpus_id = v_id and h.doc_no = t.doc_no offset 0) s
    where t.state <> 'same');
begin
  perform ragdb_internal.check_numbers(corpus, touched, v_planned),
    ragdb_internal.check_chunk_quota(
      corpus, cardinality(v_planned) - cardinality(v_kept || v_gone));
  perform ragdb_internal.check_ids(v_id, touched, v_planned);
  perform ragdb_internal.tell_progress('planned', cardinality(v_planned), cardinality(v_planned));
  if cardinality(v_kept) > 0 then
    v_changed := ragdb_internal.changed_chunks(v_id, touched, v_planned, force);
  end if;
  if cardinality(v_gone || v_changed) > 0 then
    perform ragdb_internal.unindex_chunks(v_id, v_gone || v_changed);
  end if;
  perform ragdb_internal.delete_chunks(v_id, v_gone);
  if cardinality(v_kept) > 0 then perform ragdb_internal.update_chunks(v_id, v_planned); end if;
  perform ragdb_internal.insert_chunks(corpus, v_planned);
  perform ragdb_internal.tell_progress('stored', cardinality(v_planned), cardinality(v_planned));
  perform ragdb_internal.delete_documents(v_id, touched);
  perform ragdb_internal.link_chunks(v_id, v_planned, v_links, v_kept, moved_uris || v_uris);
  return v_changed || array(
    select p.chunk_no from unnest(v_planned) p where p.chunk_no >= corpus.next_chunk_no);
end $$;

-- Indexes chunks, 16384 at a time, and says after each turn how far it is where they are many.
-- Those that a corpus begins with tell its pivot.
create or replace function ragdb_internal.index_in_turns(
  corpus_id integer, chunk_nos integer[], is_first_load boolean default false,
  ready ragdb_internal.analysed_chunks default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count constant integer := cardinality(chunk_nos);
  v_turn constant integer := 16384;
  v_done integer := 0;
begin
  while v_done < v_count loop
    perform ragdb_internal.index_chunks(
        corpus_id, chunk_nos[v_done + 1 : v_done + v_turn], is_first_load and v_done = 0,
        ready),
      ragdb_internal.renew_statistics('{ragdb.lexemes,ragdb.chunk_lexemes,ragdb.term_blocks}');
    v_done := v_done + v_turn;
    perform ragdb_internal.tell_progress('indexed', v_done, v_count);
  end loop;
  perform ragdb_internal.record_state('settings', corpus_id) where is_first_load;
end $$;

-- Returns for each of the touched documents its sources where nothing else of it changes, else
-- null.
create or replace function ragdb_internal.kept_sources(
  corpus_id integer, touched ragdb_internal.touched_document[])
returns bytea[]
language sql stable parallel safe
return array(
  select case t.state when 'same' then (
      select f.sources from ragdb_internal.found_at(kept_sources.corpus_id, t.doc_no) f) end
    from pg_catalog.unnest(kept_sources.touched) with ordinality t (doc_no, doc_cid, name,
      title_before, "position", uri, source_name, state, nth)
    order by t.nth);

-- Writes the events of the touched documents that are there and changed, or whose sources did.
create or replace function ragdb_internal.tell_of(
  corpus ragdb.corpora, touched ragdb_internal.touched_document[], sources_before bytea[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- those of an import come with its end
  if corpus.import_xid is distinct from pg_current_xact_id() then
    perform ragdb_internal.write_events(corpus, array_agg(t.doc_no order by t.position, t.doc_no),
        array_agg(case t.state when 'same' then t.chunks end order by t.position, t.doc_no),
        array_agg(case t.state when 'new' then t.event_id end order by t.position, t.doc_no))
      from (
        select c.*, d.chunks, d.event_id
        from unnest(touched, sources_before, ragdb_internal.kept_sources(corpus.corpus_id, touched))
          c (doc_no, doc_cid, name, title_before, "position", uri, source_name, state, before, now)
          left join lateral (select h.chunks, h.event_id from ragdb.documents h
            where h.corpus_id = corpus.corpus_id and h.doc_no = c.doc_no offset 0) d on true
        where c.state <> 'gone' and (c.state <> 'same' or c.before is distinct from c.now)) t
      having count(*) > 0;
  end if;
end $$;

-- Puts checked documents and takes sources away, changing only what differs; the caller holds the
-- corpus lock. Raises RG409, RG413.
create or replace function ragdb_internal.write_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[],
  ahead ragdb_internal.given_analysis default null)
returns table (
  "position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_id constant integer := corpus.corpus_id;
  v_now constant timestamptz := ragdb_internal.now();
  v_touched constant ragdb_internal.touched_document[] :=
    ragdb_internal.touched_documents(corpus, documents, force, gone_uris);
  v_doc_nos constant integer[] := array(select t.doc_no from unnest(v_touched) t);
  v_before constant ragdb_internal.document_counts :=
    ragdb_internal.count_documents(v_id, v_doc_nos);
  v_sources constant bytea[] := ragdb_internal.kept_sources(v_id, v_touched);
  v_to_index integer[];
begin
  perform ragdb_internal.store_documents(corpus, documents, v_touched, v_now);
  v_to_index := ragdb_internal.write_chunks(corpus, documents, v_touched, force,
    ragdb_internal.store_sources(v_id, documents, v_touched, gone_uris, v_now));
  perform ragdb_internal.copy_embeddings(corpus, v_touched);
  perform ragdb_internal.recount_corpus(
    corpus, v_before, ragdb_internal.count_documents(v_id, v_doc_nos), v_touched, v_to_index);
  perform ragdb_internal.index_in_turns(
    v_id, v_to_index, corpus.next_chunk_no = 1 and corpus.import_xid is null,
    ragdb_internal.ready_chunks(v_id, v_touched, ahead));
  perform ragdb_internal.embed_written(corpus, v_to_index);
  perform ragdb_internal.drop_unused_blobs(v_id, array(select t.doc_cid from unnest(v_touched) t
    where t.state = 'gone' and not ragdb_internal.has_bytes(v_id, t.doc_cid)));
  perform ragdb_internal.tell_of(corpus, v_touched, v_sources);
  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id,
      (t.state = 'same' or t.position is distinct from i.n - 1)
        and ragdb_internal.says_the_same(i.v, v_id, d.doc_no)
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join unnest(v_touched) t
        on (t.doc_cid, t.name) = (i.v ->> 'doc_cid', ragdb_internal.given_name(i.v))
      cross join lateral (select h.* from ragdb.documents h
        where h.corpus_id = v_id and h.doc_no = t.doc_no offset 0) d
    order by i.n;
end $$;
