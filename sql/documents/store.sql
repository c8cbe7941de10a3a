-- The rows of documents, sources and chunks, made what the plan says. A row that does not differ is
-- not written.
--
-- The functions that insert have a plan_cache_mode of their own: the checks of foreign keys are
-- planned under that of their statement, and to plan one for each row takes longer than to write
-- the row.

-- Stores the documents that are new or written, and the first source of those that are renamed.
create or replace function ragdb_internal.store_documents(
  corpus ragdb.corpora, documents jsonb, touched ragdb_internal.touched_document[],
  written_at timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
declare
  v_language constant text := ragdb_internal.config_language(corpus.text_config);
begin
  insert into ragdb.documents (corpus_id, doc_no, doc_cid, title, language, media_type, metadata,
      chunking, external_id, source_name, source, name, size_bytes, pages, chunks, tokens, event_id,
      created_at, updated_at)
    select corpus.corpus_id, t.doc_no, t.doc_cid, (d.description).*, t.source_name, t.uri,
      t.name, (g.given ->> 'size_bytes')::bigint, (g.given ->> 'pages')::integer,
      jsonb_array_length(g.given -> 'chunks'),
      (select coalesce(sum((c ->> 'tokens')::bigint), 0)
        from jsonb_array_elements(g.given -> 'chunks') c),
      case when corpus.import_xid is distinct from pg_current_xact_id()
        then ragdb_internal.tick_id(greatest(corpus.lamport, ragdb_internal.tick_of(written_at))
          + t.doc_no - corpus.next_doc_no + 1)
        -- until its event, which comes with the end of the import, has an id
        else '00000000-0000-0000-0000-000000000000' end, written_at, written_at
    from unnest(touched) t
      cross join lateral (select documents -> t.position as given offset 0) g
      cross join lateral (
        select ragdb_internal.given_description(g.given, v_language) as description offset 0) d
    where t.state in ('new', 'written')
    order by t.doc_no
    on conflict on constraint documents_number_is_unique_per_corpus do update
      set (title, language, media_type, metadata, chunking, external_id, source_name, source,
          size_bytes, pages, chunks, tokens, updated_at)
        = (excluded.title, excluded.language, excluded.media_type, excluded.metadata,
          excluded.chunking, excluded.external_id, excluded.source_name, excluded.source,
          excluded.size_bytes, excluded.pages, excluded.chunks, excluded.tokens,
          excluded.updated_at);
  update ragdb.documents d set source = t.uri, source_name = t.source_name, updated_at = written_at
    from unnest(touched) t
      cross join lateral (
        select h.ctid from ragdb.documents h
        where h.corpus_id = corpus.corpus_id and h.doc_no = t.doc_no offset 0) o
    where d.ctid = o.ctid and t.state = 'renamed';
  perform ragdb_internal.renew_statistics('{ragdb.documents}');
end $$;

-- Stores where the given documents were found, forgets the sources that are gone, and returns the
-- uris of both that changed.
create or replace function ragdb_internal.store_sources(
  corpus_id integer, documents jsonb, touched ragdb_internal.touched_document[], gone_uris text[],
  written_at timestamptz)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set plan_cache_mode = auto
as $$
#variable_conflict use_column
declare
  v_id constant integer := store_sources.corpus_id;
  -- the document of each position of the input
  v_doc_nos constant integer[] := array(
    select t.doc_no
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join unnest(touched) t
        on (t.doc_cid, t.name) = (i.v ->> 'doc_cid', ragdb_internal.given_name(i.v))
    order by i.n);
  v_moved text[];
begin
  delete from ragdb.document_sources s where s.ctid = any (array(
    select o.ctid from unnest(gone_uris) u (uri)
      cross join lateral (
        select h.ctid from ragdb.document_sources h
        where h.corpus_id = v_id and h.uri = u.uri offset 0) o));
  with put as (
    insert into ragdb.document_sources as s (corpus_id, uri, doc_no, source_name, root, etag,
        seen_at)
      select v_id, g.given ->> 'uri', x.doc_no, ragdb_internal.given_source_name(g.given),
        g.given ->> 'root', g.given ->> 'etag', written_at
      from unnest(v_doc_nos) with ordinality x (doc_no, n)
        cross join lateral (select documents -> x.n::integer - 1 as given offset 0) g
      order by 2
      on conflict on constraint document_sources_uri_is_unique_per_corpus do update
        set doc_no = excluded.doc_no, source_name = excluded.source_name,
          root = coalesce(excluded.root, s.root), etag = excluded.etag,
          seen_at = case s.doc_no when excluded.doc_no then s.seen_at else excluded.seen_at end
        where (s.doc_no, s.source_name, s.root, s.etag)
          is distinct from (excluded.doc_no, excluded.source_name,
            coalesce(excluded.root, s.root), excluded.etag)
      returning uri
  )
  select gone_uris || coalesce(array_agg(p.uri), '{}') into v_moved from put p;
  perform ragdb_internal.renew_statistics('{ragdb.document_sources}');
  return v_moved;
end $$;

-- Returns the chunks that stay and whose indexed text changes: title, heading or text.
create or replace function ragdb_internal.changed_chunks(
  corpus_id integer, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[], force boolean)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
#variable_conflict use_variable
begin
  return array(
    select k.chunk_no
    from (
        select p.chunk_no, c.doc_no, d.title,
          c.heading <> p.heading or c.text <> p.text as is_changed
        from unnest(planned) p
          cross join lateral (
            select h.doc_no, h.heading, h.text from ragdb.chunks h
            where h.corpus_id = changed_chunks.corpus_id and h.chunk_no = p.chunk_no offset 0) c
          cross join lateral (
            select h.title from ragdb.documents h
            where h.corpus_id = changed_chunks.corpus_id and h.doc_no = p.doc_no offset 0) d
        offset 0) k
      join unnest(touched) t on t.doc_no = k.doc_no
    where force or k.title is distinct from t.title_before or k.is_changed);
end $$;

-- Makes the chunks that stay what they shall be.
create or replace function ragdb_internal.update_chunks(
  corpus_id integer, planned ragdb_internal.planned_chunk[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.chunks c
    set doc_no = p.doc_no, ordinal = p.ordinal, chunk_id = p.chunk_id, source = p.source,
      page = p.page, heading = p.heading, start_offset = p.start_offset,
      end_offset = p.end_offset, token_count = p.token_count, content_hash = p.content_hash,
      citation = p.citation, text = p.text
    from unnest(planned) p
      cross join lateral (
        select h.ctid from ragdb.chunks h
        where h.corpus_id = update_chunks.corpus_id and h.chunk_no = p.chunk_no offset 0) o
    where c.ctid = o.ctid
      and (c.doc_no, c.ordinal, c.chunk_id, c.source, c.heading, c.page, c.start_offset,
          c.end_offset, c.token_count, c.content_hash, c.citation, c.text)
        is distinct from (p.doc_no, p.ordinal, p.chunk_id, p.source, p.heading, p.page,
          p.start_offset, p.end_offset, p.token_count, p.content_hash, p.citation, p.text);
end $$;

-- Stores the chunks that are new.
create or replace function ragdb_internal.insert_chunks(
  corpus ragdb.corpora, planned ragdb_internal.planned_chunk[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
begin
  insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source, heading, page,
      start_offset, end_offset, token_count, content_hash, citation, text)
    select corpus.corpus_id, p.chunk_no, p.doc_no, p.ordinal, p.chunk_id, p.source, p.heading,
      p.page, p.start_offset, p.end_offset, p.token_count, p.content_hash, p.citation, p.text
    from unnest(planned) p
    where p.chunk_no >= corpus.next_chunk_no
    order by p.chunk_no;
  perform ragdb_internal.renew_statistics('{ragdb.chunks}');
end $$;

-- Removes some chunks of a corpus. Rows are found by key, and then taken away by where they are, as
-- in links.sql.
create or replace function ragdb_internal.delete_chunks(corpus_id integer, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.chunks c where c.ctid = any (array(
    select o.ctid from unnest(delete_chunks.chunk_nos) g (chunk_no)
      cross join lateral (
        select h.ctid from ragdb.chunks h
        where h.corpus_id = delete_chunks.corpus_id and h.chunk_no = g.chunk_no offset 0) o));
end $$;

-- Removes the documents that are gone.
create or replace function ragdb_internal.delete_documents(
  corpus_id integer, touched ragdb_internal.touched_document[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.documents d where d.ctid = any (array(
    select o.ctid from unnest(touched) t
      cross join lateral (
        select h.ctid from ragdb.documents h
        where h.corpus_id = delete_documents.corpus_id and h.doc_no = t.doc_no offset 0) o
    where t.state = 'gone'));
end $$;

-- Tells whether a corpus has a document of some bytes.
create or replace function ragdb_internal.has_bytes(corpus_id integer, doc_cid text)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.documents d
  where d.corpus_id = has_bytes.corpus_id and d.doc_cid = has_bytes.doc_cid);

-- Corrects the counts of a corpus by what its touched documents counted before and after, and moves
-- its next numbers past those that were given.
create or replace function ragdb_internal.recount_corpus(
  corpus ragdb.corpora, before ragdb_internal.document_counts,
  after ragdb_internal.document_counts, touched ragdb_internal.touched_document[],
  indexed integer[])
returns void
language sql
begin atomic
  update ragdb.corpora c
  set documents = c.documents + ((after).documents - (before).documents)::integer,
    token_count = c.token_count + (after).tokens - (before).tokens,
    size_bytes = c.size_bytes + (after).size_bytes - (before).size_bytes,
    languages = ragdb_internal.recounted(c.languages, (before).languages, (after).languages),
    next_doc_no = c.next_doc_no + (select count(*) from unnest(touched) t where t.state = 'new'),
    next_chunk_no = c.next_chunk_no
      + (select count(*) from unnest(indexed) n where n >= (corpus).next_chunk_no)
  where c.corpus_id = (corpus).corpus_id;
end;
