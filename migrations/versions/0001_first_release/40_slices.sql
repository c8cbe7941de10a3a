-- Slice policies, slices, and what is promoted from them.

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

create table ragdb.semantic_atoms (
  corpus_id integer not null
    constraint semantic_atoms_corpus_exists references ragdb.corpora on delete cascade,
  atom_id uuid not null,
  text text not null,
  source_chunk_ids text[] not null,
  source_slice_id text not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  constraint semantic_atoms_are_unique_per_corpus primary key (corpus_id, atom_id)
);
comment on table ragdb.semantic_atoms is
  'Statements that were promoted from admissible retrievals. Read it through ragdb.search_dual.';
comment on column ragdb.semantic_atoms.corpus_id is 'The corpus.';
comment on column ragdb.semantic_atoms.atom_id is 'UUID of version 7.';
comment on column ragdb.semantic_atoms.text is 'The statement.';
comment on column ragdb.semantic_atoms.source_chunk_ids is
  'Hits of the trace that support the statement.';
comment on column ragdb.semantic_atoms.source_slice_id is 'Slice that admitted these hits.';
comment on column ragdb.semantic_atoms.trace_id is 'Retrieval that found these hits.';
comment on column ragdb.semantic_atoms.created_at is 'When the statement was promoted.';
comment on column ragdb.semantic_atoms.created_by is 'Role that promoted it.';
comment on column ragdb.semantic_atoms.lexemes is
  'Lexemes of the statement, for ragdb.search_dual.';

create table ragdb.semantic_proposals (
  corpus_id integer not null
    constraint semantic_proposals_corpus_exists references ragdb.corpora on delete cascade,
  proposal_id uuid not null,
  text text not null,
  source_atoms uuid[] not null,
  source_slice_id text not null,
  status text not null constraint semantic_proposals_status_is_known
    check (status in ('open', 'accepted', 'rejected')),
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  decided_at timestamptz,
  decided_by text,
  decision_reason text,
  constraint semantic_proposals_are_unique_per_corpus primary key (corpus_id, proposal_id),
  constraint semantic_proposals_decision_has_a_time_and_a_role check (
    (status = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)
    and (decision_reason is null or decided_at is not null))
);
comment on table ragdb.semantic_proposals is
  'Conclusions drawn from atoms of one slice, and who accepted or rejected each. Read it through '
  'ragdb.list_proposals and ragdb.search_dual.';
comment on column ragdb.semantic_proposals.corpus_id is 'The corpus.';
comment on column ragdb.semantic_proposals.proposal_id is 'UUID of version 7.';
comment on column ragdb.semantic_proposals.text is 'The conclusion.';
comment on column ragdb.semantic_proposals.source_atoms is 'Atoms that support the conclusion.';
comment on column ragdb.semantic_proposals.source_slice_id is 'Slice of those atoms.';
comment on column ragdb.semantic_proposals.status is 'open, accepted or rejected.';
comment on column ragdb.semantic_proposals.created_at is 'When the conclusion was proposed.';
comment on column ragdb.semantic_proposals.created_by is 'Role that proposed it.';
comment on column ragdb.semantic_proposals.lexemes is
  'Lexemes of the conclusion, for ragdb.search_dual.';
comment on column ragdb.semantic_proposals.decided_at is
  'When the proposal was accepted or rejected; null while it is open.';
comment on column ragdb.semantic_proposals.decided_by is
  'Role that decided; null while it is open.';
comment on column ragdb.semantic_proposals.decision_reason is
  'Reason that the role gave; null without one.';

create table ragdb.admissibility_incidents (
  incident_id uuid constraint admissibility_incidents_id_is_unique primary key,
  created_at timestamptz not null,
  corpus_id integer,
  kind text not null constraint admissibility_incidents_kind_is_known check (kind in (
    'slice_boundary_violation', 'unverified_evidence_usage', 'content_hash_mismatch',
    'token_verification_failure', 'insufficient_evidence', 'other')),
  severity text not null constraint admissibility_incidents_severity_is_known
    check (severity in ('low', 'medium', 'high', 'critical')),
  trace_id uuid,
  caller text not null,
  reason text not null
);
create index admissibility_incidents_by_time on ragdb.admissibility_incidents (created_at);
comment on table ragdb.admissibility_incidents is
  'Every attempt to promote what may not be promoted. Read it through ragdb.list_incidents and '
  'bi.fact_incident.';
comment on column ragdb.admissibility_incidents.incident_id is 'UUID of version 7.';
comment on column ragdb.admissibility_incidents.created_at is 'When the attempt was refused.';
comment on column ragdb.admissibility_incidents.corpus_id is 'The corpus.';
comment on column ragdb.admissibility_incidents.kind is
  'slice_boundary_violation, unverified_evidence_usage, content_hash_mismatch, '
  'token_verification_failure, insufficient_evidence or other.';
comment on column ragdb.admissibility_incidents.severity is 'low, medium, high or critical.';
comment on column ragdb.admissibility_incidents.trace_id is 'Retrieval that was to be promoted.';
comment on column ragdb.admissibility_incidents.caller is 'Role that tried.';
comment on column ragdb.admissibility_incidents.reason is 'What was refused and why.';
