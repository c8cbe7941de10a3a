comment on table ragdb.slice_policies is
  'Registered slice policies: rows never change, so a reference means the same for ever.';
comment on column ragdb.slice_policies.policy_id is 'The version field of the policy.';
comment on column ragdb.slice_policies.params_hash is
  '16 hex digits of xxHash64 over the canonical form.';
comment on column ragdb.slice_policies.canonical is 'The canonical JSON that both hashes cover.';
comment on column ragdb.slice_policies.sha256 is
  'SHA-256 of the canonical form; what a token covers.';
comment on column ragdb.slice_policies.policy is 'The complete policy as registered.';
comment on column ragdb.slice_policies.created_at is 'When it was registered.';
comment on column ragdb.slice_policies.created_by is 'The role that registered it.';
comment on table ragdb.signing_keys is
  'HMAC keys of admissibility tokens and traces; read by the functions that sign and verify only, '
  'and left out of dumps of an extension.';
comment on column ragdb.signing_keys.key_id is 'Name of the key, part of every token it signs.';
comment on column ragdb.signing_keys.secret is '32 to 128 bytes.';
comment on column ragdb.signing_keys.state is
  'active (signs and verifies; at most one), verify_only or revoked.';
comment on column ragdb.signing_keys.created_at is
  'When the key was made, here or in the original.';
comment on column ragdb.signing_keys.active_until is
  'When it ceased to sign; null while it is active.';
comment on column ragdb.signing_keys.not_after is
  'From this time on it neither signs nor verifies tokens; null for never.';
comment on table ragdb.slices is
  'Slices that were exported or retrieved from, once per graph state.';
comment on column ragdb.slices.corpus_id is 'The corpus.';
comment on column ragdb.slices.slice_id is
  'Fingerprint of corpus, anchor, policy, members with content, and edges.';
comment on column ragdb.slices.anchor_chunk_id is 'The chunk that the slice was built around.';
comment on column ragdb.slices.policy_id is 'Policy reference, first half.';
comment on column ragdb.slices.params_hash is 'Policy reference, second half.';
comment on column ragdb.slices.chunk_ids is 'Members, sorted by bytes.';
comment on column ragdb.slices.content_hashes is
  'SHA-256 of each member''s canonical text, in the order of chunk_ids.';
comment on column ragdb.slices.selection_order is
  'Members in the order in which the policy chose them.';
comment on column ragdb.slices.edge_count is 'Number of edges between members.';
comment on column ragdb.slices.schema_version is 'Version of the fingerprint''s definition.';
comment on column ragdb.slices.graph_snapshot_hash is
  'Hash of the members'' contents and the edge count.';
comment on column ragdb.slices.created_at is 'When it was first stored.';
