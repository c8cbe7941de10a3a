-- State of the graph: turns, slice policies, slices, signing keys, atoms, proposals, incidents.

create table ragdb.turns (
  corpus_id integer not null,
  chunk_no integer not null,
  session_id text collate "C" not null,
  role text not null
    constraint turns_role_is_known check (role in ('user', 'assistant', 'system', 'tool')),
  phase text not null constraint turns_phase_is_known
    check (phase in ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis')),
  salience real not null constraint turns_salience_is_a_share check (salience between 0 and 1),
  depth integer not null constraint turns_depth_is_not_negative check (depth >= 0),
  sibling_order integer not null
    constraint turns_sibling_order_is_not_negative check (sibling_order >= 0),
  homogeneity real not null
    constraint turns_homogeneity_is_a_share check (homogeneity between 0 and 1),
  temporal real not null constraint turns_temporal_is_a_share check (temporal between 0 and 1),
  complexity real not null constraint turns_complexity_is_not_negative check (complexity >= 0),
  -- of phase, salience and feedback, what the author of the conversation gave
  given jsonb not null default '{}',
  created_at timestamptz not null,
  constraint turns_are_unique primary key (corpus_id, chunk_no) include (phase, salience),
  constraint turns_chunk_exists foreign key (corpus_id, chunk_no)
    references ragdb.chunks on delete cascade
);
create index turns_by_session on ragdb.turns (corpus_id, session_id, created_at);
create index turns_by_time on ragdb.turns (corpus_id, created_at);

create table ragdb.slice_policies (
  policy_id text collate "C" not null,
  params_hash text collate "C" not null
    constraint slice_policies_params_hash_is_xxh64 check (params_hash ~ '^[0-9a-f]{16}$'),
  -- the bytes that both hashes cover; 64 bits can collide by intent, so tokens cover the sha256
  canonical text collate "C" not null,
  sha256 bytea not null,
  policy jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  constraint slice_policies_are_unique primary key (policy_id, params_hash)
);

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

create table ragdb.signing_keys (
  key_id text collate "C" constraint signing_keys_id_is_unique primary key
    constraint signing_keys_id_is_a_word check (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  secret bytea not null
    constraint signing_keys_secret_is_long_enough check (length(secret) between 32 and 128),
  state text collate "C" not null
    constraint signing_keys_state_is_known check (state in ('active', 'verify_only', 'revoked')),
  created_at timestamptz not null,
  active_until timestamptz,
  not_after timestamptz,
  constraint signing_keys_active_has_no_end
    check ((state = 'active') = (active_until is null))
);
create unique index signing_keys_one_is_active on ragdb.signing_keys (state) where state = 'active';

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
  constraint semantic_proposals_are_unique_per_corpus primary key (corpus_id, proposal_id)
);

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
