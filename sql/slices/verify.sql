create or replace function ragdb_internal.changed_members(slice ragdb.slices) returns text[]
language sql stable parallel safe
return array(
  select o.chunk_id
    from unnest((slice).chunk_ids, (slice).content_hashes) o (chunk_id, content_hash)
    left join ragdb.chunks c on c.corpus_id = (slice).corpus_id and c.chunk_id = o.chunk_id
    where c.content_hash is distinct from o.content_hash
    order by o.chunk_id collate "C");
comment on function ragdb_internal.changed_members(ragdb.slices) is
  'Returns the members of a stored slice that are gone or say something else now.';

create or replace function ragdb_internal.slice_changes(slice ragdb.slices) returns text
language sql stable parallel safe
return coalesce('chunks changed or gone since: ' || nullif(pg_catalog.left(
  pg_catalog.array_to_string(ragdb_internal.changed_members(slice), ', '), 500), ''),
  'edges between the members changed since');
comment on function ragdb_internal.slice_changes(ragdb.slices) is
  'Says what has changed about a stored slice whose fingerprint is no longer the same.';

-- The token says who signed what and until when; the rows say whether what was signed is still
-- there. Both must agree.
create or replace function ragdb.verify_token(
  corpus text, token text, slice_id text, anchor_chunk_id text, policy_id text, params_hash text,
  graph_snapshot_hash text, schema_version text, chunk_ids text[] default null)
returns table (valid boolean, reason text)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(verify_token.corpus, 'read');
  v_parts constant text[] := string_to_array(verify_token.token, '.');
  v_now constant bigint := floor(extract(epoch from ragdb_internal.now()));
  v_key ragdb.signing_keys;
  v_policy ragdb.slice_policies;
  v_stored ragdb.slices;
  v_slice ragdb.slices;
  v_found ragdb.slices;
begin
  valid := false;
  if verify_token.token is null or verify_token.token
    !~ '^rgt1\.[A-Za-z0-9_-]{1,64}\.[0-9]{1,12}\.[0-9]{1,12}\.[0-9a-f]{64}$'
  then
    reason := 'malformed: a token is rgt1.<key>.<issued>.<expires>.<64 hex digits>';
    return next; return;
  end if;
  select k.* into v_key from ragdb.signing_keys k where k.key_id = v_parts[2];
  if not found then
    reason := format('key_unknown: this database has no key %s; import it if the token comes '
      'from the original of this copy', ragdb_internal.quote(v_parts[2]));
    return next; return;
  end if;
  if v_key.state = 'revoked' or v_key.not_after <= ragdb_internal.now() then
    reason := format('key_revoked: key %s verifies nothing any more', ragdb_internal.quote(v_key.key_id));
    return next; return;
  end if;
  v_policy := ragdb_internal.known_policy(verify_token.policy_id, verify_token.params_hash);
  if v_policy.policy_id is null then
    reason := format('policy_unknown: policy %s with params_hash %s is not registered, or its row '
      'was changed since',
      ragdb_internal.quote(verify_token.policy_id), ragdb_internal.quote(verify_token.params_hash));
    return next; return;
  end if;
  -- both sides are hashed again, so that the time of the comparison tells nothing of the signature
  if sha256(ragdb_internal.hmac_sha256(v_key.secret, ragdb_internal.token_message(v_key.key_id, v_corpus.name,
      verify_token.slice_id, verify_token.anchor_chunk_id, verify_token.policy_id, v_policy.sha256,
      verify_token.graph_snapshot_hash, verify_token.schema_version, v_parts[3]::bigint,
      v_parts[4]::bigint))) is distinct from sha256(decode(v_parts[5], 'hex'))
  then
    reason := 'signature: the token was not issued for these fields';
    return next; return;
  end if;
  if v_parts[4]::bigint <= v_now then
    reason := format('expired: the token ended %s seconds ago', v_now - v_parts[4]::bigint);
    return next; return;
  end if;
  if verify_token.chunk_ids is distinct from array(
      select distinct u collate "C" from unnest(verify_token.chunk_ids) u order by 1)
    and verify_token.chunk_ids is not null
  then
    reason := 'evidence: the chunk ids are not the sorted, distinct members of a slice';
    return next; return;
  end if;
  select s.* into v_stored from ragdb.slices s
    where s.corpus_id = v_corpus.corpus_id and s.slice_id = verify_token.slice_id;
  v_slice.anchor_chunk_id := verify_token.anchor_chunk_id;
  v_slice.policy_id := verify_token.policy_id;
  v_slice.params_hash := verify_token.params_hash;
  v_slice.chunk_ids := coalesce(verify_token.chunk_ids, v_stored.chunk_ids);
  if v_slice.chunk_ids is not null then
    v_found := ragdb_internal.fingerprinted(v_corpus, v_slice);
  elsif exists (select from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = verify_token.anchor_chunk_id)
  then
    v_found := (ragdb_internal.assemble_slice(v_corpus, verify_token.anchor_chunk_id, v_policy)).slice;
  end if;
  valid := coalesce(v_found.slice_id = verify_token.slice_id
    and v_found.graph_snapshot_hash = verify_token.graph_snapshot_hash, false);
  if not valid then
    reason := 'evidence: ' || case
      when v_found.chunk_ids = v_stored.chunk_ids then ragdb_internal.slice_changes(v_stored)
      else 'the chunks, their contents or their edges are not those that were signed' end;
  end if;
  return next;
end $$;
comment on function ragdb.verify_token(text, text, text, text, text, text, text, text, text[]) is
  'Tells whether a token was signed here for exactly these fields, has not ended, and whether the '
  'slice recomputed from the rows (the given members, the stored slice, or a new build) is the one '
  'signed; reason says why not. Raises RG400, RG404.';
