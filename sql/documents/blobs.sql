-- The original bytes of documents, kept once for all corpora and shown to who may read a corpus
-- with their document. Both functions are definers because nobody but the owner touches the tables.

create or replace function ragdb.put_blob(bytes bytea, media_type text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cid constant text := 'sha256:' || encode(sha256(bytes), 'hex');
begin
  if bytes is null or media_type is null then
    raise exception 'bytes or media_type is null'
      using errcode = 'RG400', detail = 'a blob is bytes and their media type',
        hint = 'application/octet-stream is a media type';
  end if;
  if not exists (
      select from ragdb.corpora c
      where ragdb_internal.privilege(c) >= 2) then
    raise exception 'role % may not store blobs', ragdb_internal.quote(ragdb_internal.caller())
      using errcode = 'RG401', detail = 'it has no corpus that it may write to',
        hint = 'create a corpus first';
  end if;
  perform ragdb_internal.check_blob_quota(octet_length(bytes));
  insert into ragdb.blobs (cid, bytes, media_type, size)
    values (v_cid, put_blob.bytes, put_blob.media_type, octet_length(put_blob.bytes))
    on conflict on constraint blobs_cid_is_unique do nothing;
  insert into ragdb.blob_uploads (cid, role, role_oid, put_at)
    values (v_cid, ragdb_internal.caller(), ragdb_internal.caller_oid(), ragdb_internal.now())
    on conflict on constraint blob_uploads_are_unique do nothing;
  return v_cid;
end $$;
comment on function ragdb.put_blob(bytea, text) is
  'Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits; the '
  'media type given first stays. Raises RG400, RG401, RG470.';

create or replace function ragdb.get_blob(cid text)
returns setof ragdb.blob
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := array(
    select c from ragdb.corpora c
      join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_cid = get_blob.cid
    where ragdb_internal.privilege(c) >= 1);
begin
  perform ragdb_internal.record_read(c)
    from unnest(v_corpora) c where c.record_reads <> 'off';
  return query
    select b.cid, b.media_type, b.size, b.bytes from ragdb.blobs b
    where b.cid = get_blob.cid and v_corpora <> '{}';
  if not found then
    raise exception 'no blob %', ragdb_internal.quote(get_blob.cid)
      using errcode = 'RG408',
        detail = 'bytes are shown to who may read a corpus with their document',
        hint = 'originals are not kept where documents were put without them';
  end if;
end $$;
comment on function ragdb.get_blob(text) is
  'Returns the original bytes of a document that the caller may read. Raises RG408, RG471.';
