-- The original bytes of documents, kept once for all corpora. They are shown to who brought them,
-- and to who may read a corpus that somebody brought them to. A document that claims their hash
-- opens nothing: anybody can write a hash. Both public functions are definers because nobody but
-- the owner touches the tables.

-- Returns the media type of a blob that the caller put, or that somebody brought to a corpus that
-- the caller may read; null for any other. What others call the same bytes would tell that they
-- have them.
create or replace function ragdb_internal.blob_type(cid text) returns text
language sql stable parallel safe
return coalesce((
    select u.media_type from ragdb.blob_uploads u
    where u.cid = blob_type.cid and ragdb_internal.is_caller(u.role, u.role_oid) limit 1), (
    select b.media_type
    from ragdb.corpus_blobs b join ragdb.corpora c on c.corpus_id = b.corpus_id
    where b.cid = blob_type.cid and ragdb_internal.privilege(c) >= 1
    order by b.corpus_id limit 1));

-- Notes that the caller has put a blob, and what it calls it now: a type that was given by mistake
-- is put right by putting the bytes again. Only another type locks the row that is there.
create or replace function ragdb_internal.note_upload(cid text, media_type text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.blob_uploads (cid, role, role_oid, media_type)
    values (note_upload.cid, ragdb_internal.caller(), ragdb_internal.caller_oid(),
      note_upload.media_type)
    on conflict on constraint blob_uploads_are_unique do nothing;
  if not found then
    update ragdb.blob_uploads u set media_type = note_upload.media_type
      where u.cid = note_upload.cid and ragdb_internal.is_caller(u.role, u.role_oid)
        and u.media_type <> note_upload.media_type;
  end if;
end $$;

-- A session keeps its plans, of its foreign keys, too, and may have made them when there was none.
create or replace function ragdb.put_blob(
  bytes bytea, media_type text, corpus text default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_cid constant text := 'sha256:' || encode(sha256(bytes), 'hex');
  v_id constant integer := case when corpus is not null
    then (ragdb_internal.open_corpus(put_blob.corpus, 'write')).corpus_id end;
begin
  if bytes is null or media_type is null then
    raise exception 'bytes or media_type is null'
      using errcode = 'RG400', detail = 'a blob is bytes and their media type',
        hint = 'application/octet-stream is a media type';
  end if;
  if not exists (select from ragdb.corpora c where ragdb_internal.privilege(c) >= 2) then
    raise exception 'role % may not store blobs', ragdb_internal.quote(ragdb_internal.caller())
      using errcode = 'RG401', detail = 'it has no corpus that it may write to',
        hint = 'create a corpus first';
  end if;
  if exists (select from ragdb.corpus_blobs b where b.corpus_id = v_id and b.cid = v_cid) then
    return v_cid;
  end if;
  -- what it put before is counted already
  perform ragdb_internal.check_blob_quota(octet_length(bytes)) where not exists (
    select from ragdb.blob_uploads u
    where u.cid = v_cid and ragdb_internal.is_caller(u.role, u.role_oid));
  perform ragdb_internal.hold_corpus(v_id) where v_id is not null;
  -- held, or who drops them for another corpus takes them away before they are noted
  loop
    insert into ragdb.blobs (cid, bytes, size)
      values (v_cid, put_blob.bytes, octet_length(put_blob.bytes))
      on conflict on constraint blobs_cid_is_unique do nothing;
    perform from ragdb.blobs b where b.cid = v_cid for key share;
    exit when found;
  end loop;
  perform ragdb_internal.note_upload(v_cid, put_blob.media_type);
  if v_id is not null then
    perform ragdb_internal.bring_blobs(v_id, array[v_cid]);
  end if;
  return v_cid;
end $$;
comment on function ragdb.put_blob is
  'Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits. Of the '
  'media types that the caller gives the last one counts; that by which a corpus got the bytes '
  'stays there. Readers of the corpus may read them, and of every corpus in which the caller puts '
  'their document. Raises RG400, RG401, RG404, RG470.';

create or replace function ragdb.get_blob(cid text)
returns setof ragdb.blob
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := array(
    select c from ragdb.corpora c
      join ragdb.corpus_blobs b on b.corpus_id = c.corpus_id and b.cid = get_blob.cid
    where ragdb_internal.privilege(c) >= 1);
begin
  perform ragdb_internal.record_read(c)
    from unnest(v_corpora) c where c.record_reads <> 'off';
  return query
    select b.cid, t.media_type, b.size, b.bytes
    from ragdb.blobs b cross join lateral ragdb_internal.blob_type(b.cid) t (media_type)
    where b.cid = get_blob.cid and t.media_type is not null;
  if not found then
    raise exception 'no blob %', ragdb_internal.quote(get_blob.cid)
      using errcode = 'RG408',
        detail = 'bytes are shown to who brought them or may read a corpus that they came to',
        hint = 'originals are not kept where documents were put without them';
  end if;
end $$;
comment on function ragdb.get_blob is
  'Returns original bytes that the caller brought, or that somebody brought to a corpus that the '
  'caller may read. Raises RG408, RG471.';
