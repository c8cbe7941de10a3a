-- Putting documents that are cut already: many at once, or one. A text may take the place of a
-- conversation, whose session goes on elsewhere.

-- Returns the sessions of the conversations found at some sources. All turns of a conversation are
-- of one session.
create or replace function ragdb_internal.sessions_at_sources(corpus_id integer, uris text[])
returns text[]
language sql stable parallel safe
return array(
  select distinct t.session_id
  from pg_catalog.unnest(sessions_at_sources.uris) u (uri)
    cross join lateral (
      select h.doc_no from ragdb.document_sources h
      where h.corpus_id = sessions_at_sources.corpus_id and h.uri = u.uri offset 0) s
    cross join lateral (
      select h.chunk_no from ragdb.chunks h
      where h.corpus_id = sessions_at_sources.corpus_id and h.doc_no = s.doc_no and h.ordinal = 0
      offset 0) c
    cross join lateral (
      select h.session_id from ragdb.turns h
      where h.corpus_id = sessions_at_sources.corpus_id and h.chunk_no = c.chunk_no offset 0) t);

create or replace function ragdb.put_documents(
  corpus text, documents jsonb, force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer -- nobody but the owner touches the tables
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := ragdb_internal.corpus_number(put_documents.corpus);
  v_left text[];
begin
  -- the first by the key: to look for any, a plan for any corpus reads the turns of the others
  if jsonb_typeof(documents) = 'array' and (
      select t.chunk_no from ragdb.turns t where t.corpus_id = v_id
      order by t.chunk_no limit 1) is not null then
    -- any other is refused in the place of a conversation (check_conversations_stay)
    v_left := ragdb_internal.sessions_at_sources(v_id, array(
      select d ->> 'uri' from jsonb_array_elements(documents) d
      where d ? 'root' or d ? 'adopt'));
  end if;
  return query select * from ragdb_internal.put_given(corpus, documents, force, false);
  perform ragdb_internal.derive_turns(v_id, v_left);
end $$;
comment on function ragdb.put_documents is
  'Stores documents with their chunks, at most 10000, in one transaction and returns a row for '
  'each: its position from 0, its identity, chunks, tokens and event, whether it was there '
  'already, and the milliseconds of the whole call. What is there already is not written again '
  'unless force is true. A document is {"doc_cid", "uri", "media_type", "size_bytes", "chunking": '
  '{…}, "chunks": [{"text", "start", "end", "tokens", "page", "heading": […], "citation": {"uri", '
  '"locator", …}}], "title", "language", "metadata": {…}, "external_id", "source_name", "pages", '
  '"etag", "root", "adopt", "links": [{"chunk", "target"}]}; those from "title" on, "page", '
  '"heading" and "citation" may be missing. A source that came from another root, or that is a '
  'conversation and would be a plain document, is refused unless "adopt" is true. Raises RG400, '
  'RG401, RG404, RG409, RG412, RG413.';

create or replace function ragdb.put_document(
  corpus text, doc_cid text, uri text, chunks jsonb, chunking jsonb, title text default null,
  language text default null, media_type text default 'text/plain', metadata jsonb default '{}',
  external_id text default null, source_name text default '', size_bytes bigint default null,
  pages integer default null, etag text default null, links jsonb default '[]',
  force boolean default false)
returns setof ragdb.put_result
language sql rows 1
begin atomic
  select * from ragdb.put_documents(
    put_document.corpus,
    jsonb_build_array(jsonb_build_object(
      'doc_cid', put_document.doc_cid, 'uri', put_document.uri, 'chunks', put_document.chunks,
      'chunking', put_document.chunking, 'title', put_document.title,
      'language', put_document.language, 'media_type', put_document.media_type,
      'metadata', put_document.metadata, 'external_id', put_document.external_id,
      'source_name', put_document.source_name, 'pages', put_document.pages,
      'etag', put_document.etag, 'links', put_document.links,
      'size_bytes', coalesce(
        put_document.size_bytes,
        (select sum(octet_length(c ->> 'text')) from jsonb_array_elements(
          case jsonb_typeof(put_document.chunks) when 'array' then put_document.chunks end) c),
        0))),
    put_document.force);
end;
comment on function ragdb.put_document is
  'Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of its '
  'chunks. Raises RG400, RG401, RG404, RG409, RG412.';
