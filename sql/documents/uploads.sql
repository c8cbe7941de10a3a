-- Blobs that a role has put: listed for it, and taken back. What no document was made of would
-- stay, and count in its quota, for ever.

create or replace function ragdb.list_blobs(after text default '', count integer default 100)
returns table (cid text, media_type text, size bigint, is_in_corpus boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_paged('', after, 'cid'),
    ragdb_internal.check_listed(count, 'blobs');
  return query
    select u.cid, u.media_type, b.size, exists (
        select from ragdb.corpus_blobs o where o.cid = u.cid and o.brought_by = u.role)
    from ragdb.blob_uploads u
      cross join lateral (select h.size from ragdb.blobs h where h.cid = u.cid offset 0) b
    where u.role = ragdb_internal.caller() and u.role_oid = ragdb_internal.caller_oid()
      and u.cid > list_blobs.after collate "C"
    order by u.cid limit list_blobs.count;
end $$;
comment on function ragdb.list_blobs is
  'Lists the next count (1 to 10000) blobs after a cid that the caller has put, in the order of '
  'their cids: the media type that it gave, the bytes, which count in its quota, and whether a '
  'corpus has them because of the caller. One that no corpus has can be taken back: '
  'ragdb.drop_blob. Raises RG400.';

-- Locked before a look who has it, as ragdb_internal.drop_unused_blobs does.
create or replace function ragdb.drop_blob(cid text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_admin constant boolean :=
    coalesce(pg_has_role(ragdb_internal.caller_oid(), 'ragdb_admin', 'usage'), false);
  v_corpora text;
begin
  perform from ragdb.blobs b where b.cid = drop_blob.cid for update;
  perform from ragdb.blob_uploads u where u.cid = drop_blob.cid
    and (v_is_admin or ragdb_internal.is_caller(u.role, u.role_oid));
  if not found then
    raise exception 'no blob % to take back', ragdb_internal.quote(drop_blob.cid)
      using errcode = 'RG408', detail = 'a blob is taken back by who put it, or by ragdb_admin',
        hint = 'ragdb.list_blobs() lists what you have put';
  end if;
  select string_agg(ragdb_internal.quote(c.name), ', ' order by c.name) into v_corpora
    from ragdb.corpus_blobs o join ragdb.corpora c on c.corpus_id = o.corpus_id
    where o.cid = drop_blob.cid
      and (v_is_admin or o.brought_by = ragdb_internal.caller());
  if v_corpora is not null then
    raise exception 'blob % is in a corpus', ragdb_internal.quote(drop_blob.cid)
      using errcode = 'RG409', detail = format('%s has it', v_corpora),
        hint = 'delete its document there: ragdb.delete_source() or ragdb.delete_document()';
  end if;
  delete from ragdb.blob_uploads u where u.cid = drop_blob.cid
    and (v_is_admin or ragdb_internal.is_caller(u.role, u.role_oid));
  delete from ragdb.blobs b where b.cid = drop_blob.cid
    and not exists (select from ragdb.corpus_blobs o where o.cid = b.cid)
    and not exists (select from ragdb.blob_uploads u where u.cid = b.cid);
end $$;
comment on function ragdb.drop_blob is
  'Takes back a blob that the caller has put and that no corpus has because of it; its bytes go '
  'with the last who has put them. A member of ragdb_admin takes it from all who have put it. A '
  'job that waits to read it fails. Raises RG408, RG409.';
