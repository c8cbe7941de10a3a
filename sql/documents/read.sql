-- Reading documents back. Each function opens the corpus as the caller first, and is a definer
-- because nobody but the owner touches the tables.

-- Returns the document of a source; without one those of an external id; without these those of
-- some bytes. A source has one document. External ids and bytes may have several.
create or replace function ragdb_internal.documents_called(corpus_ids integer[], document text)
returns setof ragdb.documents
language sql stable parallel safe
begin atomic
  with called as materialized (
    select i.corpus_id, o.doc_no, o.rank
    from pg_catalog.unnest(documents_called.corpus_ids) i (corpus_id)
      cross join lateral (
        select s.doc_no, 1 as rank from ragdb.document_sources s
        where s.corpus_id = i.corpus_id and s.uri = documents_called.document
        union all
        select d.doc_no, 2 from ragdb.documents d
        where d.corpus_id = i.corpus_id and d.external_id = documents_called.document
        union all
        select d.doc_no, 3 from ragdb.documents d
        where d.corpus_id = i.corpus_id and d.doc_cid = documents_called.document
        offset 0) o
  )
  select d.*
  from called c
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = c.corpus_id and h.doc_no = c.doc_no offset 0) d
  where c.rank = (select min(m.rank) from called m)
  order by d.source;
end;

-- Records the read of the part that a document is in, where the corpus that was opened is the
-- whole. Raises RG471.
create or replace function ragdb_internal.open_part_of(
  document ragdb.documents, corpus ragdb.corpora)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.record_read(p) from ragdb.corpora p
    where p.corpus_id = document.corpus_id and p.corpus_id <> corpus.corpus_id
      and p.record_reads <> 'off';
end $$;

-- Returns the row of a document of a corpus, or of a part of it that the caller may read: of a
-- source, of an external id, or of some bytes. Raises RG405, RG425.
create or replace function ragdb_internal.find_document(corpus ragdb.corpora, document text)
returns ragdb.documents
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_documents constant ragdb.documents[] := array(
    select d from ragdb_internal.documents_called(
      ragdb_internal.readable_ids(corpus), document) d);
begin
  if cardinality(v_documents) = 0 then
    raise exception 'corpus % has no document %',
        ragdb_internal.quote(corpus.name), ragdb_internal.quote(document)
      using errcode = 'RG405',
        detail = 'a document is named by a source, by its external id, or by sha256: and the hash '
          'of its bytes',
        hint = 'ragdb.list_documents() lists them';
  end if;
  if cardinality(v_documents) > 1 then
    raise exception 'corpus % has % documents %', ragdb_internal.quote(corpus.name),
        cardinality(v_documents), ragdb_internal.quote(document)
      using errcode = 'RG425',
        detail = 'their sources are ' || (
          select string_agg(ragdb_internal.quote(d.source), ', ' order by d.source)
          from unnest(v_documents[:10]) d)
          || case when cardinality(v_documents) > 10 then ' and more' else '' end,
        hint = 'name one by its source';
  end if;
  perform ragdb_internal.open_part_of(v_documents[1], corpus) where corpus.parts > 0;
  return v_documents[1];
end $$;

-- Returns a document with its sources, as ragdb.list_documents does.
create or replace function ragdb_internal.document_rows(document ragdb.documents)
returns setof ragdb.document
language sql stable parallel safe
begin atomic
  select document.doc_cid, document.source,
    -- offset 0: sorted here, or those of the whole corpus are read in their order
    array(select s.uri from (select h.uri from ragdb.document_sources h
      where h.corpus_id = document.corpus_id and h.doc_no = document.doc_no offset 0) s
      order by s.uri),
    document.title, document.language, document.media_type, document.metadata, document.chunking,
    document.external_id, document.source_name, document.size_bytes, document.pages,
    document.chunks, document.tokens, document.event_id, document.created_at,
    document.updated_at;
end;

create or replace function ragdb.list_documents(
  corpus text, prefix text default '', after text default '', count integer default 100)
returns setof ragdb.document
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_with_parts(list_documents.corpus);
begin
  perform ragdb_internal.check_listed(coalesce(count, 1), 'documents'),
    ragdb_internal.check_paged(prefix, after, 'source');
  return query
    select r.*
    from (
      select o.document from unnest(v_corpora) c cross join lateral (
        select d as document, d.source from ragdb.documents d
        -- the first of the two is a range of the index, which the function is not
        where d.corpus_id = c.corpus_id and d.source >= prefix collate "C"
          and starts_with(d.source, prefix) and d.source > after collate "C"
        order by d.source limit count) o
      order by o.source fetch first (coalesce(count, 2147483647)) rows with ties) l
      cross join lateral ragdb_internal.document_rows(l.document) r
    order by (l.document).source;
end $$;
comment on function ragdb.list_documents is
  'Lists the documents of a corpus by their first source: those whose source begins with a prefix '
  'and comes after a given one, at most count (1 to 10000; null: all), and what other parts have '
  'under the last one''s source. Raises RG400, RG404.';

create or replace function ragdb.get_document(corpus text, document text)
returns setof ragdb.document
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(get_document.corpus, 'read', true);
  v_document constant ragdb.documents :=
    ragdb_internal.find_document(v_corpus, get_document.document);
begin
  return query select r.* from ragdb_internal.document_rows(v_document) r;
end $$;
comment on function ragdb.get_document is
  'Returns one document, as ragdb.list_documents does, by one of its sources, by its external id, '
  'or by the identity of its bytes (sha256: and 64 hex digits): the first of these three that the '
  'corpus has. The same bytes may be several documents, which are told apart by their sources. '
  'Raises RG400, RG404, RG405, RG425.';

create or replace function ragdb.get_source(corpus text, uri text)
returns table (
  doc_cid text, source_name text, etag text, chunking jsonb, seen_at timestamptz)
language plpgsql stable security definer rows 2 -- none or one; `rows 1` promises one
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(get_source.corpus, 'read', true);
begin
  if get_source.uri is null then
    raise exception 'uri is null'
      using errcode = 'RG400', detail = 'a source is named by its uri',
        hint = 'ragdb.list_documents() lists them';
  end if;
  return query
    select d.doc_cid, s.source_name, s.etag, d.chunking, s.seen_at
      from ragdb.document_sources s join ragdb.documents d using (corpus_id, doc_no)
      where s.corpus_id = any (ragdb_internal.readable_ids(v_corpus)) and s.uri = get_source.uri;
end $$;
comment on function ragdb.get_source is
  'Returns what document a source gave last, with the version that its store named (etag), its '
  'chunking and when that was; no row for a source that is not there. Raises RG400, RG404.';
