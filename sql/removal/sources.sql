-- Taking sources and documents away. A document goes with its last source; what is left is renamed
-- after its first.
--
-- All are definers, because nobody but the owner touches the tables.

-- Takes sources away, with what was derived from documents that go, on record, and counts what
-- went; the caller holds the corpus lock. A session may go on in another document: its turns there
-- are what they would be had the others never been.
create or replace function ragdb_internal.remove_sources(
  corpus ragdb.corpora, uris text[], derived text, cause text, reason text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_documents constant text[] := ragdb_internal.documents_at_sources(corpus.corpus_id, uris);
  v_sessions constant text[] := ragdb_internal.sessions_at_sources(corpus.corpus_id, uris);
  v_first constant ragdb_internal.turn_place := case when v_sessions <> '{}'
    then ragdb_internal.first_at_sources(corpus.corpus_id, uris) end;
begin
  -- the first by the key: to look for any, a plan for any corpus reads the atoms of the others
  if (select a.atom_id from ragdb.semantic_atoms a where a.corpus_id = corpus.corpus_id
      order by a.atom_id limit 1) is not null then
    perform ragdb_internal.erase_derived(corpus,
      ragdb_internal.chunks_that_go(corpus.corpus_id, uris), derived, cause, reason);
  end if;
  perform ragdb_internal.write_documents(corpus, '[]', false, uris);
  perform ragdb_internal.derive_turns(corpus.corpus_id, v_sessions, v_first);
  select corpus.documents - c.documents, corpus.chunks - c.chunks
    into documents_deleted, chunks_deleted
    from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
  perform ragdb_internal.record_deletion('deletion', corpus, v_documents,
    concat(ragdb_internal.counted(documents_deleted, 'document'), ', ',
      ragdb_internal.counted(chunks_deleted, 'chunk'), ': ' || reason));
  return next;
end $$;

create or replace function ragdb.delete_source(
  corpus text, uri text, derived text default 'redact', reason text default null)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(delete_source.corpus, 'write');
begin
  perform ragdb_internal.check_erasure(derived, reason);
  if uri is null or not exists (
      select from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.uri = delete_source.uri) then
    raise exception 'corpus % has no source %',
        ragdb_internal.quote(corpus), ragdb_internal.quote(uri)
      using errcode = 'RG405', detail = 'a source is what uri was when the document was put',
        hint = 'ragdb.list_documents() lists the sources';
  end if;
  return query select r.* from ragdb_internal.remove_sources(
    v_corpus, array[uri], derived, 'source ' || uri, reason) r;
end $$;
comment on function ragdb.delete_source is
  'Forgets one source, and its document when that was the last one; returns how many documents and '
  'chunks went. When no other document has its bytes, atoms and proposals that rest on chunks that '
  'go lose their texts (derived: redact) or go too (erase), which is recorded with the reason (up '
  'to 10000 characters). Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb.delete_sources(
  corpus text, uris text[], derived text default 'redact', reason text default null)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(delete_sources.corpus, 'write');
  v_uris text[];
begin
  perform ragdb_internal.check_erasure(derived, reason);
  if uris is null or not ragdb_internal.is_list(uris) then
    raise exception 'uris is not a list of sources'
      using errcode = 'RG400', detail = 'a source is what uri was when the document was put',
        hint = 'pass a plain list without nulls';
  end if;
  v_corpus := ragdb_internal.lock_corpus(delete_sources.corpus, 'write');
  v_uris := array(
    select s.uri from (select distinct u.uri from unnest(delete_sources.uris) u (uri)) g
      cross join lateral (
        select o.uri from ragdb.document_sources o
        where o.corpus_id = v_corpus.corpus_id and o.uri = g.uri offset 0) s);
  if cardinality(v_uris) = 0 then
    return query select 0, 0;
    return;
  end if;
  return query select r.* from ragdb_internal.remove_sources(
    v_corpus, v_uris, derived, ragdb_internal.counted(cardinality(v_uris), 'source'), reason) r;
end $$;
comment on function ragdb.delete_sources is
  'Forgets those of some sources that a corpus has, each as ragdb.delete_source does; returns how '
  'many documents and chunks went. Raises RG400, RG401, RG404.';

create or replace function ragdb.delete_document(
  corpus text, document text, derived text default 'redact', reason text default null)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(delete_document.corpus, 'write');
  v_doc_no constant integer :=
    (ragdb_internal.find_document(v_corpus, delete_document.document)).doc_no;
begin
  perform ragdb_internal.check_erasure(derived, reason);
  return query
    select r.* from ragdb_internal.remove_sources(v_corpus, array(
      select s.uri from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.doc_no = v_doc_no),
      derived, 'document ' || document, reason) r;
end $$;
comment on function ragdb.delete_document is
  'Removes a document, named as for ragdb.get_document, with all its sources and chunks, and what '
  'was derived from it, as ragdb.delete_source does; returns how many documents and chunks went. '
  'The same bytes under another name stay. Raises RG400, RG401, RG404, RG405, RG425.';

create or replace function ragdb.prune_sources(
  corpus text, prefix text, keep text[], root text default null, derived text default 'redact',
  reason text default null, dry_run boolean default false)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(prune_sources.corpus, 'write');
  v_uris text[];
begin
  perform ragdb_internal.check_erasure(derived, reason);
  if prefix is null or keep is null or dry_run is null or not ragdb_internal.is_list(keep) then
    raise exception '%',
        case when prefix is null or keep is null then 'prefix or keep is null'
          when dry_run is null then 'dry_run is null' else 'keep is not a list of sources' end
      using errcode = 'RG400',
        detail = 'sources that begin with prefix and are not in keep are removed',
        hint = 'an empty prefix means every source, an empty keep means none';
  end if;
  if not dry_run then
    v_corpus := ragdb_internal.lock_corpus(prune_sources.corpus, 'write');
  end if;
  v_uris := array(
    select s.uri from ragdb.document_sources s
    where s.corpus_id = v_corpus.corpus_id and starts_with(s.uri, prefix)
      -- which a range of the index has
      and s.uri >= prefix and s.uri <= ragdb_internal.past_prefix(prefix)
      and (prune_sources.root is null or s.root = prune_sources.root)
      and s.uri not in (select k from ragdb_internal.kept_below(v_corpus.corpus_id, keep) k));
  if cardinality(v_uris) = 0 or dry_run then
    return query select n.* from ragdb_internal.count_without(v_corpus.corpus_id, v_uris) n;
    return;
  end if;
  return query select r.* from ragdb_internal.remove_sources(
    v_corpus, v_uris, derived, 'sources that begin with ' || prefix, reason) r;
end $$;
comment on function ragdb.prune_sources is
  'Forgets the sources that begin with a prefix, came from a root (null: from anywhere) and are '
  'not among those to keep, every document that is left without one, and what was derived from it, '
  'as ragdb.delete_source does; returns how many documents and chunks went, with dry_run how many '
  'would go. One to keep that ends in # ("chats.json#") keeps what begins with it too. Raises '
  'RG400, RG401, RG404.';
