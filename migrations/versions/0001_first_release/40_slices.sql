-- Slice policies and slices.

create table ragdb.slice_policies (
  policy_id text collate "C" not null,
  params_hash text collate "C" not null
    constraint slice_policies_params_hash_is_xxh64 check (params_hash ~ '^[0-9a-f]{16}$'),
  -- somebody can make two policies of one 64-bit hash, so tokens cover the sha256
  canonical text collate "C" not null,
  sha256 bytea not null,
  policy jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  constraint slice_policies_are_unique primary key (policy_id, params_hash)
);
comment on table ragdb.slice_policies is
  'Registered slice policies. Rows never change, so a reference means the same for ever. Read it '
  'through ragdb.list_policies and bi.dim_policy.';
comment on column ragdb.slice_policies.policy_id is 'The version field of the policy.';
comment on column ragdb.slice_policies.params_hash is
  'xxHash64 of the canonical form, 16 hex digits.';
comment on column ragdb.slice_policies.canonical is 'The canonical JSON that both hashes cover.';
comment on column ragdb.slice_policies.sha256 is 'SHA-256 of the canonical form. Tokens cover it.';
comment on column ragdb.slice_policies.policy is 'The complete policy as registered.';
comment on column ragdb.slice_policies.created_at is 'When the policy was registered.';
comment on column ragdb.slice_policies.created_by is 'Role that registered it.';

create table ragdb.slices (
  corpus_id integer not null
    constraint slices_corpus_exists references ragdb.corpora on delete cascade,
  slice_id text collate "C" not null,
  anchor_chunk_id text collate "C" not null,
  policy_id text collate "C" not null,
  params_hash text collate "C" not null,
  chunk_ids text[] not null,
  content_hashes bytea[] not null,
  selection_order text[] not null,
  edge_count integer not null,
  schema_version text not null,
  graph_snapshot_hash text not null,
  created_at timestamptz not null,
  constraint slices_are_unique_per_corpus primary key (corpus_id, slice_id),
  constraint slices_policy_exists
    foreign key (policy_id, params_hash) references ragdb.slice_policies
);
create index slices_by_time on ragdb.slices (corpus_id, created_at, slice_id);
comment on table ragdb.slices is
  'Slices that were exported or retrieved from, once for each state of the graph. Read its members '
  'through ragdb.slice_members.';
comment on column ragdb.slices.corpus_id is 'The corpus.';
comment on column ragdb.slices.slice_id is
  'Fingerprint of corpus, anchor, policy, members with content, and edges.';
comment on column ragdb.slices.anchor_chunk_id is 'The chunk that the slice was built around.';
comment on column ragdb.slices.policy_id is 'First half of the reference to the policy.';
comment on column ragdb.slices.params_hash is 'Second half of the reference to the policy.';
comment on column ragdb.slices.chunk_ids is 'Members, sorted by bytes.';
comment on column ragdb.slices.content_hashes is
  'SHA-256 of each member''s canonical text, in the order of chunk_ids.';
comment on column ragdb.slices.selection_order is
  'Members in the order in which the policy chose them.';
comment on column ragdb.slices.edge_count is 'Number of edges between members.';
comment on column ragdb.slices.schema_version is 'Version of the fingerprint''s definition.';
comment on column ragdb.slices.graph_snapshot_hash is
  'Hash of the members'' contents and the edge count.';
comment on column ragdb.slices.created_at is 'When the slice was first stored.';
