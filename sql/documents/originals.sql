-- Which original bytes a corpus has, recorded one by one: no document says that they are kept.

-- Returns the SHA-256 of what a corpus says of an original: its identity, which is that of its
-- bytes, its media type, who brought it and when.
create or replace function ragdb_internal.original_hash(original ragdb.corpus_blobs)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array((original).cid,
  (original).media_type, (original).brought_by, extract(epoch from (original).brought_at))::text));

-- Records of some originals of a corpus that they were brought, or that they went. A statement of
-- its own: who waited for another to bring the same bytes, or to drop them, sees what that one
-- recorded.
create or replace function ragdb_internal.record_originals(corpus_id integer, cids text[])
returns void
language sql
begin atomic
  select ragdb_internal.record_states(record_originals.corpus_id, 'original',
      array_agg(c.cid),
      array_agg(case when b.cid is not null then ragdb_internal.original_hash(b) end))
    from unnest(cids) c (cid)
      left join lateral (
        select o.* from ragdb.corpus_blobs o
        where o.corpus_id = record_originals.corpus_id and o.cid = c.cid offset 0) b on true
    having count(*) > 0;
end;

-- Notes that bytes came to a corpus, on record, where they are there and it does not have them yet.
-- Raises RG404.
create or replace function ragdb_internal.bring_original(original ragdb.corpus_blobs)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.hold_corpus(original.corpus_id);
  -- another may just have dropped them
  perform from ragdb.blobs b where b.cid = original.cid for key share;
  if not found then return; end if;
  insert into ragdb.corpus_blobs values (original.*) on conflict do nothing;
  if found then
    perform ragdb_internal.record_originals(original.corpus_id, array[original.cid]);
  end if;
end $$;
