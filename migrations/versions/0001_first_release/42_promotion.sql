-- What is promoted from slices, what was refused, and what went with its evidence.

create table ragdb.semantic_atoms (
  corpus_id integer not null
    constraint semantic_atoms_corpus_exists references ragdb.corpora on delete cascade,
  atom_id uuid not null,
  text text,
  text_hash bytea not null,
  source_chunk_ids text[] collate "C" not null,
  content_hashes bytea[] not null,
  source_slice_id text not null,
  trace_id uuid not null,
  checks jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  atom_hash bytea not null,
  atom_mac bytea,
  constraint semantic_atoms_are_unique_per_corpus primary key (corpus_id, atom_id),
  constraint semantic_atoms_text_hash_is_of_the_text
    check (text_hash = sha256(convert_to(text, 'UTF8')))
);
create index semantic_atoms_by_chunk on ragdb.semantic_atoms using gin (source_chunk_ids);
create index semantic_atoms_by_content on ragdb.semantic_atoms using gin (content_hashes);
comment on table ragdb.semantic_atoms is
  'Statements that were promoted from admissible retrievals. Append-only, except that the text of '
  'an atom or its row goes when that is in ragdb.erasures. Read it through ragdb.list_atoms, '
  'ragdb.verify_atom and ragdb.search_dual.';
comment on column ragdb.semantic_atoms.corpus_id is 'The corpus.';
comment on column ragdb.semantic_atoms.atom_id is 'UUID of version 7.';
comment on column ragdb.semantic_atoms.text is 'The statement; null once it was redacted.';
comment on column ragdb.semantic_atoms.text_hash is 'SHA-256 of the statement in UTF-8.';
comment on column ragdb.semantic_atoms.source_chunk_ids is
  'Hits of the trace that support the statement.';
comment on column ragdb.semantic_atoms.content_hashes is
  'SHA-256 of each of their canonical texts then, in the order of source_chunk_ids.';
comment on column ragdb.semantic_atoms.source_slice_id is 'Slice that admitted these hits.';
comment on column ragdb.semantic_atoms.trace_id is 'Retrieval that found these hits.';
comment on column ragdb.semantic_atoms.checks is
  'What ragdb.check_citations said of the statement: for each claim in it the chunk and the place '
  'that say it.';
comment on column ragdb.semantic_atoms.created_at is 'When the statement was promoted.';
comment on column ragdb.semantic_atoms.created_by is 'Role that promoted it.';
comment on column ragdb.semantic_atoms.lexemes is
  'Lexemes of the statement, for ragdb.search_dual.';
comment on column ragdb.semantic_atoms.atom_hash is
  'SHA-256 of every other column except text, lexemes and atom_mac. ragdb.verify_atom recomputes '
  'it.';
comment on column ragdb.semantic_atoms.atom_mac is
  'HMAC of atom_hash by a signing key; null where there was no active key.';

create table ragdb.semantic_proposals (
  corpus_id integer not null
    constraint semantic_proposals_corpus_exists references ragdb.corpora on delete cascade,
  proposal_id uuid not null,
  text text,
  text_hash bytea not null,
  source_atoms uuid[] not null,
  source_slice_id text not null,
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  proposal_hash bytea not null,
  proposal_mac bytea,
  constraint semantic_proposals_are_unique_per_corpus primary key (corpus_id, proposal_id),
  constraint semantic_proposals_text_hash_is_of_the_text
    check (text_hash = sha256(convert_to(text, 'UTF8')))
);
create index semantic_proposals_by_atom on ragdb.semantic_proposals using gin (source_atoms);
comment on table ragdb.semantic_proposals is
  'Conclusions drawn from atoms of one slice. Append-only, except that the text of a proposal or '
  'its row goes when that is in ragdb.erasures. Read it through ragdb.list_proposals and '
  'ragdb.search_dual.';
comment on column ragdb.semantic_proposals.corpus_id is 'The corpus.';
comment on column ragdb.semantic_proposals.proposal_id is 'UUID of version 7.';
comment on column ragdb.semantic_proposals.text is 'The conclusion; null once it was redacted.';
comment on column ragdb.semantic_proposals.text_hash is 'SHA-256 of the conclusion in UTF-8.';
comment on column ragdb.semantic_proposals.source_atoms is 'Atoms that support the conclusion.';
comment on column ragdb.semantic_proposals.source_slice_id is 'Slice of those atoms.';
comment on column ragdb.semantic_proposals.created_at is 'When the conclusion was proposed.';
comment on column ragdb.semantic_proposals.created_by is 'Role that proposed it.';
comment on column ragdb.semantic_proposals.lexemes is
  'Lexemes of the conclusion, for ragdb.search_dual.';
comment on column ragdb.semantic_proposals.proposal_hash is
  'SHA-256 of every other column except text, lexemes and proposal_mac. ragdb.list_proposals '
  'recomputes it.';
comment on column ragdb.semantic_proposals.proposal_mac is
  'HMAC of proposal_hash by a signing key; null where there was no active key.';

create table ragdb.proposal_decisions (
  corpus_id integer not null,
  proposal_id uuid not null,
  decision text not null constraint proposal_decisions_are_accepted_or_rejected
    check (decision in ('accepted', 'rejected')),
  reason text,
  reason_hash bytea,
  decided_at timestamptz not null,
  decided_by text not null,
  decision_hash bytea not null,
  decision_mac bytea,
  constraint proposal_decisions_are_made_once primary key (corpus_id, proposal_id),
  constraint proposal_decisions_proposal_exists foreign key (corpus_id, proposal_id)
    references ragdb.semantic_proposals,
  constraint proposal_decisions_reason_hash_is_of_the_reason
    check (reason is null or reason_hash = sha256(convert_to(reason, 'UTF8')))
);
comment on table ragdb.proposal_decisions is
  'Who accepted or rejected which proposal. Append-only like it. Read it through '
  'ragdb.list_proposals.';
comment on column ragdb.proposal_decisions.corpus_id is 'The corpus.';
comment on column ragdb.proposal_decisions.proposal_id is 'The proposal. It is decided once.';
comment on column ragdb.proposal_decisions.decision is 'accepted or rejected.';
comment on column ragdb.proposal_decisions.reason is
  'Reason that the role gave; null without one, or once it was redacted.';
comment on column ragdb.proposal_decisions.reason_hash is
  'SHA-256 of the reason in UTF-8; null without one.';
comment on column ragdb.proposal_decisions.decided_at is 'When the proposal was decided.';
comment on column ragdb.proposal_decisions.decided_by is 'Role that decided.';
comment on column ragdb.proposal_decisions.decision_hash is
  'SHA-256 of every other column except reason and decision_mac. ragdb.list_proposals recomputes '
  'it.';
comment on column ragdb.proposal_decisions.decision_mac is
  'HMAC of decision_hash by a signing key; null where there was no active key.';

create table ragdb.admissibility_incidents (
  incident_id uuid constraint admissibility_incidents_id_is_unique primary key,
  created_at timestamptz not null,
  corpus_id integer,
  kind text not null constraint admissibility_incidents_kind_is_known check (kind in (
    'slice_boundary_violation', 'unverified_evidence_usage', 'content_hash_mismatch',
    'token_verification_failure', 'insufficient_evidence', 'unsupported_claim', 'other')),
  severity text not null constraint admissibility_incidents_severity_is_known
    check (severity in ('low', 'medium', 'high', 'critical')),
  trace_id uuid,
  caller text not null,
  reason text not null,
  incident_hash bytea not null,
  incident_mac bytea
);
create index admissibility_incidents_by_time on ragdb.admissibility_incidents (created_at);
comment on table ragdb.admissibility_incidents is
  'Every attempt to promote what may not be promoted. Append-only. Read it through '
  'ragdb.list_incidents and bi.fact_incident.';
comment on column ragdb.admissibility_incidents.incident_id is 'UUID of version 7.';
comment on column ragdb.admissibility_incidents.created_at is 'When the attempt was refused.';
comment on column ragdb.admissibility_incidents.corpus_id is 'The corpus.';
comment on column ragdb.admissibility_incidents.kind is
  'slice_boundary_violation, unverified_evidence_usage, content_hash_mismatch, '
  'token_verification_failure, insufficient_evidence, unsupported_claim or other.';
comment on column ragdb.admissibility_incidents.severity is 'low, medium, high or critical.';
comment on column ragdb.admissibility_incidents.trace_id is 'Retrieval that was to be promoted.';
comment on column ragdb.admissibility_incidents.caller is 'Role that tried.';
comment on column ragdb.admissibility_incidents.reason is 'What was refused and why.';
comment on column ragdb.admissibility_incidents.incident_hash is
  'SHA-256 of every other column except incident_mac. ragdb.list_incidents recomputes it.';
comment on column ragdb.admissibility_incidents.incident_mac is
  'HMAC of incident_hash by a signing key; null where there was no active key.';

create table ragdb.erasures (
  erasure_id uuid constraint erasures_id_is_unique primary key,
  created_at timestamptz not null,
  corpus_id integer not null,
  corpus text not null,
  kind text not null constraint erasures_kind_is_known
    check (kind in ('atom', 'proposal', 'decision')),
  item_id uuid not null,
  item_hash bytea not null,
  action text not null constraint erasures_action_is_known
    check (action in ('redacted', 'erased')),
  cause text not null,
  caller text not null,
  reason text,
  erasure_hash bytea not null,
  erasure_mac bytea
);
create index erasures_by_item on ragdb.erasures (item_id);
create index erasures_by_corpus on ragdb.erasures (corpus_id, created_at);
comment on table ragdb.erasures is
  'Every atom, proposal and decision whose text or row went, with its hash, because what it was '
  'derived from was deleted. Append-only. Read it through ragdb.list_erasures.';
comment on column ragdb.erasures.erasure_id is 'UUID of version 7.';
comment on column ragdb.erasures.created_at is 'When it went.';
comment on column ragdb.erasures.corpus_id is 'The corpus.';
comment on column ragdb.erasures.corpus is 'Name of the corpus at that time.';
comment on column ragdb.erasures.kind is
  'atom, proposal or decision (about the proposal of item_id).';
comment on column ragdb.erasures.item_id is 'The atom or proposal.';
comment on column ragdb.erasures.item_hash is 'Its atom_hash, proposal_hash or decision_hash.';
comment on column ragdb.erasures.action is 'redacted (the text went) or erased (the row went).';
comment on column ragdb.erasures.cause is 'What was deleted, such as "document sha256:…".';
comment on column ragdb.erasures.caller is 'Role that deleted it.';
comment on column ragdb.erasures.reason is 'Reason that the role gave; null without one.';
comment on column ragdb.erasures.erasure_hash is
  'SHA-256 of every other column except erasure_mac. ragdb.list_erasures recomputes it.';
comment on column ragdb.erasures.erasure_mac is
  'HMAC of erasure_hash by a signing key; null where there was no active key.';
