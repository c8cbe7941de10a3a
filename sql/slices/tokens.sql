-- The admissibility token: a signature over the fingerprints of a slice.

-- Signs a slice with the active key, for 30 days. Raises RG433 when there is none, or its secret is
-- not at hand.
create or replace function ragdb_internal.issue_token(
  corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb_internal.signer := ragdb_internal.signing_key();
  v_issued constant bigint := floor(extract(epoch from ragdb_internal.now()));
  v_expires constant bigint := v_issued + 30 * 86400;
begin
  if v_key.key_id is null then
    raise exception 'there is no signing key'
      using errcode = 'RG433',
        detail = 'an admissibility token is signed, and nothing is signed with a default secret',
        hint = 'an admin calls ragdb.create_signing_key() once; '
          'what is only built needs none with sign => false';
  end if;
  return format('rgt1.%s.%s.%s.%s', v_key.key_id, v_issued, v_expires,
    encode(ragdb_internal.hmac_sha256(v_key.secret, ragdb_internal.token_message(
      v_key.key_id, corpus.name, slice.slice_id, slice.anchor_chunk_id, slice.policy_id,
      policy.sha256, slice.graph_snapshot_hash, slice.schema_version, v_issued, v_expires)),
      'hex'));
end $$;
