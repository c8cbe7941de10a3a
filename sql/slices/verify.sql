-- A slice is verified against the rows: what was admitted must still be there and say the same.

-- Returns the members of a stored slice that are gone or say something else now.
create or replace function ragdb_internal.changed_members(slice ragdb.slices) returns text[]
language sql stable parallel safe
return array(
  select o.chunk_id
    from unnest((slice).chunk_ids, (slice).content_hashes) o (chunk_id, content_hash)
    left join lateral (
      select h.text from ragdb.chunks h
      where h.corpus_id = (slice).corpus_id and h.chunk_id = o.chunk_id offset 0) c on true
    where ragdb_internal.content_hash(c.text) is distinct from o.content_hash
    order by o.chunk_id collate "C");

-- Says what has changed about a stored slice whose fingerprint is no longer the same.
create or replace function ragdb_internal.slice_changes(slice ragdb.slices) returns text
language sql stable parallel safe
return coalesce(
  'chunks changed or gone since: ' || nullif(pg_catalog.left(
    pg_catalog.array_to_string(ragdb_internal.changed_members(slice), ', '), 500), ''),
  'edges between the members changed since');

-- Says why a token of a key (null: there is none of that id) cannot be verified by it.
create or replace function ragdb_internal.key_reason(key ragdb.signing_keys, key_id text)
returns text
language sql stable parallel safe
return case
  when (key).key_id is null then pg_catalog.format(
    'key_unknown: this database has no key %s', ragdb_internal.quote(key_id))
  when (key).compromised_since is not null then pg_catalog.format(
    'key_revoked: key %s is reported compromised', ragdb_internal.quote(key_id))
  when (key).state = 'revoked' or (key).not_after <= ragdb_internal.now() then pg_catalog.format(
    'key_revoked: key %s verifies nothing any more', ragdb_internal.quote(key_id))
  else pg_catalog.format('key_absent: the secret of key %s is not at hand; import it, or give it '
    'to this session', ragdb_internal.quote(key_id))
  end;

-- Says why a token is not one that was issued here for the fields of a slice under its policy
-- (null: not known) and has not ended; null when it is. What is wrong with a token is the first of
-- these that holds; null when nothing is.
create or replace function ragdb_internal.token_problem(
  corpus ragdb.corpora, token text, slice ragdb.slices, policy ragdb.slice_policies)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts constant text[] := string_to_array(token, '.');
  v_issued bigint;
  v_expires bigint;
  v_now constant bigint := floor(extract(epoch from ragdb_internal.now()));
  v_key ragdb.signing_keys;
  v_secret bytea;
begin
  if token is null or token
    !~ E'^rgt1\\.[A-Za-z0-9_-]{1,64}\\.[0-9]{1,12}\\.[0-9]{1,12}\\.[0-9a-f]{64}$'
  then
    return 'malformed: a token is rgt1.<key>.<issued>.<expires>.<64 hex digits>';
  end if;
  v_issued := v_parts[3];
  v_expires := v_parts[4];
  select k.* into v_key from ragdb.signing_keys k where k.key_id = v_parts[2];
  v_secret := ragdb_internal.secret_at_hand(v_key);
  if v_secret is null or v_key.state = 'revoked' or v_key.not_after <= ragdb_internal.now() then
    return ragdb_internal.key_reason(v_key, v_parts[2]);
  elsif policy.policy_id is null then
    return format('policy_unknown: policy %s with params_hash %s is not registered, or its row '
      'was changed since',
      ragdb_internal.quote(slice.policy_id), ragdb_internal.quote(slice.params_hash));
  -- both sides are hashed again, so that the time of the comparison tells nothing of the signature
  elsif sha256(ragdb_internal.hmac_sha256(v_secret, ragdb_internal.token_message(
      v_key.key_id, corpus.name, slice.slice_id, slice.anchor_chunk_id, slice.policy_id,
      policy.sha256, slice.graph_snapshot_hash, slice.schema_version, v_issued, v_expires)))
    is distinct from sha256(decode(v_parts[5], 'hex'))
  then
    return 'signature: this database did not issue the token for these fields';
  elsif v_expires <= v_now then
    return format('expired: the token ended %s seconds ago', v_now - v_expires);
  end if;
  return null;
end $$;

-- Says why a slice recomputed from the rows (its members, the stored slice, or a new build) is not
-- the one signed; null when it is.
create or replace function ragdb_internal.evidence_problem(
  corpus ragdb.corpora, signed ragdb.slices, policy ragdb.slice_policies)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stored ragdb.slices;
  v_slice ragdb.slices := signed;
  v_found ragdb.slices;
begin
  if signed.chunk_ids <> array(
    select distinct u collate "C" from unnest(signed.chunk_ids) u order by 1)
  then
    return 'evidence: the chunk ids are not the sorted, distinct members of a slice';
  end if;
  select s.* into v_stored from ragdb.slices s
    where s.corpus_id = corpus.corpus_id and s.slice_id = signed.slice_id;
  v_slice.chunk_ids := coalesce(signed.chunk_ids, v_stored.chunk_ids);
  if v_slice.chunk_ids is not null then
    v_found := ragdb_internal.fingerprinted(corpus, v_slice);
  elsif exists (select from ragdb.chunks c
    where c.corpus_id = corpus.corpus_id and c.chunk_id = signed.anchor_chunk_id)
  then
    v_found := (ragdb_internal.assemble_slice(corpus, signed.anchor_chunk_id, policy)).slice;
  end if;
  if v_found.slice_id = signed.slice_id
    and v_found.graph_snapshot_hash = signed.graph_snapshot_hash
  then
    return 'evidence: the slice has ' || ragdb_internal.counted(
        nullif(v_found.edge_count, signed.edge_count), 'edge') || ', not ' || signed.edge_count;
  end if;
  return 'evidence: ' || case
    when v_found.chunk_ids = v_stored.chunk_ids then ragdb_internal.slice_changes(v_stored)
    else 'the chunks, their contents or their edges are not those that were signed' end;
end $$;

-- The token says who signed what and until when; the rows say whether what was signed is still
-- there. Both must agree. Definer: slices and keys are granted to nobody.
create or replace function ragdb.verify_token(
  corpus text, token text, slice_id text, anchor_chunk_id text, policy_id text, params_hash text,
  graph_snapshot_hash text, schema_version text, chunk_ids text[] default null,
  edge_count integer default null)
returns table (valid boolean, reason text)
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(verify_token.corpus, 'read', false, true);
  v_policy constant ragdb.slice_policies :=
    ragdb_internal.known_policy(verify_token.policy_id, verify_token.params_hash);
  v_signed ragdb.slices;
begin
  v_signed.slice_id := verify_token.slice_id;
  v_signed.anchor_chunk_id := verify_token.anchor_chunk_id;
  v_signed.policy_id := verify_token.policy_id;
  v_signed.params_hash := verify_token.params_hash;
  v_signed.graph_snapshot_hash := verify_token.graph_snapshot_hash;
  v_signed.schema_version := verify_token.schema_version;
  v_signed.chunk_ids := verify_token.chunk_ids;
  v_signed.edge_count := verify_token.edge_count;
  reason := coalesce(
    ragdb_internal.token_problem(v_corpus, verify_token.token, v_signed, v_policy),
    ragdb_internal.evidence_problem(v_corpus, v_signed, v_policy));
  valid := reason is null;
  return next;
end $$;
comment on function ragdb.verify_token is
  'Tells whether a token was signed here for exactly these fields, has not ended, and whether the '
  'slice recomputed from the rows (the given members, the stored slice, or a new build) is the one '
  'signed and has edge_count edges (null: any number); reason says why not. Raises RG400, RG404.';
