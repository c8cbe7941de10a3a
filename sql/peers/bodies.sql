-- Documents as they go to peers: as an export has them, under one source. Added edges and other
-- sources of a record stay here, and so do the names that contracts give to sources.

-- Returns the document at a source as it goes to peers, a text of JSON; null where there is none.
create or replace function ragdb_internal.shared_body(corpus_id integer, source text)
returns text
language sql stable parallel safe
set extra_float_digits = 1 -- numbers as exact as they are
return (
  select ((ragdb_internal.exported_document(s.corpus_id, s.doc_no) - array['sources', 'edges'])
      || pg_catalog.jsonb_build_object('sources',
        pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('uri', s.uri))))::text
    from ragdb.document_sources s
    where s.corpus_id = shared_body.corpus_id and s.uri = shared_body.source);

-- Returns the SHA-256 of a text in UTF-8.
create or replace function ragdb_internal.text_hash(value text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(text_hash.value));

-- Returns the event of the last change of the document at a source; null where there is none. The
-- event of the last change of a document moves with every change of it, and with no other.
create or replace function ragdb_internal.local_event(corpus_id integer, source text)
returns uuid
language sql stable parallel safe
return (
  select d.event_id from ragdb.document_sources s
    cross join lateral (
      select h.event_id from ragdb.documents h
      where h.corpus_id = s.corpus_id and h.doc_no = s.doc_no offset 0) d
    where s.corpus_id = local_event.corpus_id and s.uri = local_event.source);

-- Locks a shared corpus to the end of the transaction and returns how it is shared. Writers of the
-- corpus wait from here on, so what is read of it is what is signed. Raises RG400, RG401, RG404,
-- RG491.
create or replace function ragdb_internal.hold_shared(corpus text)
returns ragdb.shared_corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(hold_shared.corpus, 'admin');
begin
  perform from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id for no key update;
  return ragdb_internal.hold_feed(v_corpus);
end $$;

-- Returns the hashes of the events of a source that nothing has replaced.
create or replace function ragdb_internal.event_heads(corpus_id integer, source text)
returns bytea[]
language sql stable parallel safe
return array(
  select e.hash from ragdb.shared_events e
    where e.corpus_id = event_heads.corpus_id and e.source = event_heads.source and e.is_head
    order by e.hash);

-- Returns the document of an event; null where it was erased, replaced, or is not here.
create or replace function ragdb_internal.event_body(event ragdb.shared_events) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_body text;
begin
  if (event).body_hash is null then
    return null;
  end if;
  if exists (
      select from ragdb.shared_documents s
      where s.corpus_id = (event).corpus_id and s.source = (event).source
        and s.hash = (event).hash and s.state = 'present') then
    v_body := ragdb_internal.shared_body((event).corpus_id, (event).source);
  else
    select c.body into v_body from ragdb.shared_conflicts c
      where c.corpus_id = (event).corpus_id and c.loser = (event).hash;
  end if;
  -- it may have been changed here, and that not be published yet
  return case when ragdb_internal.text_hash(v_body) = (event).body_hash then v_body end;
end $$;
