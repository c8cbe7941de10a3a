-- The versions of a document, as the events tell of them.
create or replace function ragdb.document_versions(
  corpus text, document text, count integer default 20)
returns table (
  event_id uuid, kind text, created_at timestamptz, author text, doc_cid text, title text,
  chunks integer, is_current boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(document_versions.corpus, 'read', true);
  v_document constant ragdb.documents :=
    ragdb_internal.find_document(v_corpus, document_versions.document);
begin
  perform ragdb_internal.check_listed(document_versions.count, 'versions');
  return query
    select e.event_id, e.kind, e.created_at, e.author, e.doc_cid, e.title, e.chunks,
        e.event_id = v_document.event_id
      from ragdb.events e
      where e.corpus_id = v_document.corpus_id and e.source = v_document.source
      order by e.lamport desc limit document_versions.count;
end $$;
comment on function ragdb.document_versions is
  'Returns when a document, named as for ragdb.get_document, was put under its first source and by '
  'whom, newest first, at most count (1 to 10000); doc_cid is the identity of its bytes then. The '
  'texts of earlier versions are not kept. Raises RG400, RG404, RG405, RG425.';
