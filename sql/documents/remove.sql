-- Taking sources and documents away. A document goes with its last source; what is left is renamed
-- after its first.
--
-- All are definers, because nobody but the owner touches the tables.

create or replace function ragdb_internal.remove_sources(corpus ragdb.corpora, uris text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.write_documents(corpus, '[]', false, uris);
  return query
    select corpus.documents - c.documents, corpus.chunks - c.chunks
    from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb_internal.remove_sources(ragdb.corpora, text[]) is
  'Takes sources away and counts what went with them; the caller holds the corpus lock.';

create or replace function ragdb.delete_source(corpus text, uri text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(delete_source.corpus, 'write');
begin
  if uri is null or not exists (
      select from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.uri = delete_source.uri) then
    raise exception 'corpus % has no source %',
        ragdb_internal.quote(corpus), ragdb_internal.quote(uri)
      using errcode = 'RG405', detail = 'a source is what uri was when the document was put',
        hint = 'ragdb.list_documents() lists the sources';
  end if;
  return query select r.* from ragdb_internal.remove_sources(v_corpus, array[uri]) r;
end $$;
comment on function ragdb.delete_source(text, text) is
  'Forgets one source, and its document when that was the last one; returns how many documents and '
  'chunks went. Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb.delete_document(corpus text, doc_cid text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(delete_document.corpus, 'write');
  v_doc_no constant integer :=
    (ragdb_internal.find_document(v_corpus, delete_document.doc_cid)).doc_no;
begin
  return query
    select r.* from ragdb_internal.remove_sources(v_corpus, array(
      select s.uri from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.doc_no = v_doc_no)) r;
end $$;
comment on function ragdb.delete_document(text, text) is
  'Removes a document with all its sources and chunks; returns how many documents and chunks went. '
  'Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb.prune_sources(
  corpus text, prefix text, keep text[], root text default null)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(prune_sources.corpus, 'write');
  v_uris text[];
begin
  if prefix is null or keep is null or not ragdb_internal.is_list(keep) then
    raise exception '%',
        case when prefix is null or keep is null then 'prefix or keep is null'
          else 'keep is not a list of sources' end
      using errcode = 'RG400',
        detail = 'sources that begin with prefix and are not in keep are removed',
        hint = 'an empty prefix means every source, an empty keep means none';
  end if;
  v_uris := array(
    select s.uri from ragdb.document_sources s
    where s.corpus_id = v_corpus.corpus_id and starts_with(s.uri, prefix)
      and (prune_sources.root is null or s.root = prune_sources.root)
      and s.uri not in (select unnest(keep)));
  if cardinality(v_uris) = 0 then
    return query select 0, 0;
    return;
  end if;
  v_corpus := ragdb_internal.lock_corpus(prune_sources.corpus, 'write');
  return query select r.* from ragdb_internal.remove_sources(v_corpus, v_uris) r;
end $$;
comment on function ragdb.prune_sources(text, text, text[], text) is
  'Forgets the sources that begin with a prefix, came from a root (null: from anywhere) and are '
  'not among those to keep, and every document that is left without one; returns how many '
  'documents and chunks went. Raises RG400, RG401, RG404.';
