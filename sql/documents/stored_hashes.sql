-- What an event says of a document beside its title: a hash of its row with its sources, and one of
-- its chunks, as they are stored, with their links and what was said by whom. So whoever changes
-- later where a citation points, or who spoke, is found.

-- Returns the bytes that are hashed of the sources of a document: of each in byte order its uri,
-- name, root, version and since when; null for none. A function of sets, because only these become
-- part of a query that has a query in them.
create or replace function ragdb_internal.found_at(corpus_id integer, doc_no integer)
returns table (sources bytea)
language sql stable parallel safe rows 1
begin atomic
  select string_agg(
      ragdb_internal.packed(s.uri) || ragdb_internal.packed(s.source_name)
        || coalesce(ragdb_internal.packed(s.root), '\xffffffff'::bytea)
        || coalesce(ragdb_internal.packed(s.etag), '\xffffffff'::bytea)
        || timestamptz_send(s.seen_at), ''::bytea order by s.uri)
    from (
      -- offset 0: else an index of the whole corpus by uri would look cheaper than to sort
      select h.* from ragdb.document_sources h
      where h.corpus_id = found_at.corpus_id and h.doc_no = found_at.doc_no offset 0) s;
end;

-- Returns the SHA-256 of a document: all its columns but the corpus and the event, and where it was
-- found.
create or replace function ragdb_internal.document_hash(document ragdb.documents, sources bytea)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(
  'ragdb.document/1', document.doc_no, document.doc_cid, document.title, document.language,
  document.media_type, document.metadata, document.chunking, document.external_id,
  document.source_name, document.source, document.name, document.size_bytes, document.pages,
  document.chunks, document.tokens)::text)
  || pg_catalog.timestamptz_send(document.created_at)
  || pg_catalog.timestamptz_send(document.updated_at)
  || coalesce(sources, ''));

-- Returns the bytes that are hashed of a chunk: all its columns, of its text the hash. The numbers
-- have a fixed width and the texts their lengths, so no two chunks have the same bytes. A chunk
-- without a page has 0 there: pages are numbered from 1, and one that was made 0 is another.
create or replace function ragdb_internal.stored_bytes(chunk ragdb.chunks) returns bytea
language sql stable parallel safe
return pg_catalog.int4send(chunk.ordinal) || pg_catalog.int4send(chunk.chunk_no)
  || pg_catalog.int4send((case chunk.page when 0 then -1 else coalesce(chunk.page, 0) end)::integer)
  || pg_catalog.int4send(chunk.start_offset) || pg_catalog.int4send(chunk.end_offset)
  || pg_catalog.int4send(chunk.token_count)
  || chunk.content_hash || ragdb_internal.packed(chunk.chunk_id)
  || ragdb_internal.packed(chunk.source) || ragdb_internal.packed(chunk.heading::text)
  || ragdb_internal.packed(coalesce(chunk.citation::text, ''));

-- Returns the bytes that are hashed of a turn: who said it in which session, when and as what, and
-- the turns of its document that it answers, by their places; no row for any other chunk. Not what
-- is derived of a turn beside its phase: that changes with the turns around it. A parent in another
-- document may go without this one.
create or replace function ragdb_internal.said_in(
  corpus_id integer, doc_no integer, chunk_no integer)
returns table (bytes bytea)
language sql stable parallel safe rows 1
begin atomic
  select 'turn'::bytea || ragdb_internal.packed(t.session_id) || ragdb_internal.packed(t.role)
      || ragdb_internal.packed(t.phase) || int4send(t.place) || float4send(t.complexity)
      || ragdb_internal.packed(t.given::text) || timestamptz_send(t.created_at)
      || ragdb_internal.packed(coalesce((
        select string_agg(int4send(p.ordinal) || ragdb_internal.packed(e.edge_type), ''::bytea
            order by p.ordinal, e.edge_type)
          from (
            select o.parent_no, o.edge_type from ragdb.edges o
              where o.corpus_id = said_in.corpus_id and o.child_no = said_in.chunk_no
                and not o.is_added offset 0) e
          cross join lateral (
            select c.ordinal, c.doc_no from ragdb.chunks c
              where c.corpus_id = said_in.corpus_id and c.chunk_no = e.parent_no offset 0) p
          where p.doc_no = said_in.doc_no), ''))
    -- offset 0: else a corpus whose turns are taken for few would be read by its number alone, and
    -- above after a vacuum a document by its
    from (
      select h.* from ragdb.turns h
      where h.corpus_id = said_in.corpus_id and h.chunk_no = said_in.chunk_no offset 0) t;
end;

-- Returns the bytes that are hashed of the hyperlinks of a chunk; null for none.
create or replace function ragdb_internal.linked_in(corpus_id integer, chunk_no integer)
returns table (bytes bytea)
language sql stable parallel safe rows 1
begin atomic
  select string_agg(ragdb_internal.packed(l.target), ''::bytea order by l.target)
    from ragdb.document_links l
    where l.corpus_id = linked_in.corpus_id and l.chunk_no = linked_in.chunk_no;
end;

-- Chunks of a document that are to be hashed: those from an ordinal on, onto the hash of those
-- before.
create type ragdb_internal.chunk_chain as (
  corpus_id integer, doc_no integer, first integer, hash bytea);

-- Returns for each of some documents the hash of its chunks: the SHA-256 of the hash so far and of
-- a chunk with its turn and its links, chunk by chunk; empty for no chunk. Chunk by chunk, so that
-- what is appended to a long document is hashed alone.
create or replace function ragdb_internal.chunks_hashes(chains ragdb_internal.chunk_chain[])
returns bytea[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set cpu_index_tuple_cost = 1000
as $$
declare
  v_hashes bytea[] := array(
    select coalesce(h.hash, ''::bytea) from unnest(chains) with ordinality h
    order by h.ordinality);
  v_chunk record;
  v_nth bigint := 0;
  v_hash bytea;
begin
  for v_chunk in
    select h.ordinality as nth, c.bytes
    from unnest(chains) with ordinality h
      cross join lateral (
        select o.ordinal,
          ragdb_internal.stored_bytes(o) || coalesce(t.bytes, '') || coalesce(l.bytes, '') as bytes
        from ragdb.chunks o
          left join lateral ragdb_internal.said_in(o.corpus_id, o.doc_no, o.chunk_no) t on true
          left join lateral ragdb_internal.linked_in(o.corpus_id, o.chunk_no) l on true
        where o.corpus_id = h.corpus_id and o.doc_no = h.doc_no and o.ordinal >= h.first
        offset 0) c
    order by h.ordinality, c.ordinal
  loop
    if v_chunk.nth <> v_nth then
      if v_nth > 0 then v_hashes[v_nth] := v_hash; end if;
      v_nth := v_chunk.nth;
      v_hash := v_hashes[v_nth];
    end if;
    v_hash := sha256(v_hash || v_chunk.bytes);
  end loop;
  if v_nth > 0 then v_hashes[v_nth] := v_hash; end if;
  return v_hashes;
end $$;
