-- Original files against their hashes, and those that corpora have against what was recorded.

-- Hashes a batch of original files, and compares with the identity of each, and what corpora say of
-- it with what was recorded. A hundredth of the batch: files are larger than rows.
create or replace function ragdb_internal.verify_blobs(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := greatest(most / 100, 1);
begin
  return ragdb_internal.verified_rows('blobs', array(
    select row(jsonb_build_array(b.cid), 'original ' || b.cid,
        case
          when b.cid <> 'sha256:' || encode(sha256(b.bytes), 'hex')
            or b.size <> octet_length(b.bytes)
            then 'its bytes are not what its identity says'
          when exists (select from ragdb.corpus_blobs o where o.cid = b.cid
              and ragdb_internal.original_hash(o) is distinct from ragdb_internal.last_state(
                o.corpus_id, 'original', o.cid))
            then 'what a corpus says of it is not what was recorded'
        end)::ragdb_internal.checked_row
      from ragdb.blobs b where b.cid > coalesce(after ->> 0, '')
      order by b.cid limit v_most), v_most, 'ingest the file again');
end $$;

-- Looks for the original files that a batch of records says were brought.
create or replace function ragdb_internal.verify_originals(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('originals', array(
    select row(jsonb_build_array(s.corpus_id, s.key), format('original %s of corpus %s', s.key,
          coalesce((select c.name from ragdb.corpora c where c.corpus_id = s.corpus_id),
            s.corpus_id::text)), case
        when s.hash is not null and not exists (select from ragdb.corpus_blobs o
            join ragdb.blobs b on b.cid = o.cid
            where o.corpus_id = s.corpus_id and o.cid = s.key)
          then format('it was brought on %s, and is gone',
            ragdb_internal.minute_of(s.created_at))
        end)::ragdb_internal.checked_row
      from ragdb_internal.recorded_last('original', after, most) s
      order by s.corpus_id, s.key), most, 'put it again with ragdb.put_blob()');
end $$;
