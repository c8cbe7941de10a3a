-- Putting documents that are cut already: many at once, or one.

-- Returns a row for each given document when all of them are stored as they are given, else no row.
create or replace function ragdb_internal.stored_already(corpus ragdb.corpora, documents jsonb)
returns table (
  "position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_id constant integer := corpus.corpus_id;
  v_language constant text := ragdb_internal.config_language(corpus.text_config);
begin
  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id, true
    from jsonb_array_elements(documents) with ordinality i (v, n)
      cross join lateral (
        select h.* from ragdb.documents h
        where h.corpus_id = v_id and h.doc_cid = i.v ->> 'doc_cid'
          and h.name = ragdb_internal.given_name(i.v)
        offset 0) d
    where not exists (
      select from jsonb_array_elements(documents) g (v)
        left join lateral (
          select h.* from ragdb.document_sources h
          where h.corpus_id = v_id and h.uri = g.v ->> 'uri' offset 0) s on true
        left join lateral (
          select h.* from ragdb.documents h
          where h.corpus_id = v_id and h.doc_no = s.doc_no offset 0) d on true
      where (d.doc_cid, d.name)
          is distinct from (g.v ->> 'doc_cid', ragdb_internal.given_name(g.v))
        or (s.source_name, s.root, s.etag)
          is distinct from (ragdb_internal.given_source_name(g.v),
            coalesce(g.v ->> 'root', s.root), g.v ->> 'etag')
        or d.source = s.uri and ragdb_internal.stored_description(d)
          is distinct from ragdb_internal.given_description(g.v, v_language)
        or not ragdb_internal.says_the_same(g.v, v_id, d.doc_no))
    order by i.n;
end $$;

-- Notes that the caller brought to a corpus those of some blobs whose bytes it has put. Whoever
-- brought the bytes brings them to the corpus with their document. A session keeps the plan, which
-- looks up by key: to make one takes longer than all the rest of a blob.
create or replace function ragdb_internal.bring_blobs(corpus_id integer, cids text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform ragdb_internal.bring_original(row(bring_blobs.corpus_id, u.cid, u.media_type, u.role,
      ragdb_internal.now())::ragdb.corpus_blobs)
    from (select distinct c.cid from unnest(cids) c (cid) order by 1) c
      cross join lateral (
        select o.cid, o.role, o.media_type from ragdb.blob_uploads o
        where o.cid = c.cid and ragdb_internal.is_caller(o.role, o.role_oid) limit 1) u
    where not exists (
      select from ragdb.corpus_blobs b
      where b.corpus_id = bring_blobs.corpus_id and b.cid = u.cid offset 0);
end $$;

-- Notes that the caller brought to a corpus the bytes of those of some documents that it has put.
-- Under the lock of the corpus where it is taken at all: a drop that has it would wait for whoever
-- holds what is stored under the corpus, and he for the lock.
create or replace function ragdb_internal.bring_originals(corpus_id integer, documents jsonb)
returns void
language sql
return ragdb_internal.bring_blobs(bring_originals.corpus_id, array(
  select i ->> 'doc_cid' from pg_catalog.jsonb_array_elements(bring_originals.documents) i));

-- Puts documents, all of them conversations or none. Raises what ragdb.put_documents() raises.
create or replace function ragdb_internal.put_given(
  corpus text, documents jsonb, force boolean, are_turns boolean)
returns setof ragdb.put_result
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(put_given.corpus, 'write');
  v_ahead ragdb_internal.given_analysis;
begin
  perform ragdb_internal.check_documents(documents, are_turns);
  if force is null then
    raise exception 'force is null'
      using errcode = 'RG400',
        detail = 'it says whether documents that are stored already are written again',
        hint = 'the default is false';
  end if;
  -- a vacuum in the middle of the last put saw no row of it
  if v_corpus.next_doc_no > 1 then
    perform ragdb_internal.renew_statistics(
      '{ragdb.documents,ragdb.document_sources,ragdb.chunks}');
  end if;
  perform ragdb_internal.check_roots(v_corpus, documents);
  -- where all of it is stored already, nothing is written: not even the corpus row is locked
  if not force then
    return query
      select s.*, (extract(epoch from clock_timestamp() - v_began) * 1000)::float8
      from ragdb_internal.stored_already(v_corpus, documents) s;
    if found then
      perform ragdb_internal.bring_originals(v_corpus.corpus_id, documents);
      return;
    end if;
  end if;
  if jsonb_array_length(documents) = 0 then return; end if;
  v_ahead := ragdb_internal.analysed_ahead(v_corpus, documents);
  v_corpus := ragdb_internal.lock_corpus(put_given.corpus, 'write');
  -- the roots again, because another may have brought them meanwhile
  perform ragdb_internal.check_roots(v_corpus, documents),
    ragdb_internal.check_conversations_stay(v_corpus, documents),
    ragdb_internal.bring_originals(v_corpus.corpus_id, documents);
  return query
    select w.*, (extract(epoch from clock_timestamp() - v_began) * 1000)::float8
    from ragdb_internal.write_documents(v_corpus, documents, force, '{}', v_ahead) w;
end $$;

create or replace function ragdb.put_documents(
  corpus text, documents jsonb, force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer -- nobody but the owner touches the tables
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from ragdb_internal.put_given(corpus, documents, force, false);
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
