comment on table ragdb.semantic_atoms is
  'Statements that were promoted from admissible retrievals.';
comment on column ragdb.semantic_atoms.corpus_id is 'The corpus.';
comment on column ragdb.semantic_atoms.atom_id is 'UUID of version 7.';
comment on column ragdb.semantic_atoms.text is 'The statement.';
comment on column ragdb.semantic_atoms.source_chunk_ids is 'Hits of the trace that it rests on.';
comment on column ragdb.semantic_atoms.source_slice_id is 'Slice that admitted them.';
comment on column ragdb.semantic_atoms.trace_id is 'Retrieval that found them.';
comment on column ragdb.semantic_atoms.created_at is 'When it was promoted.';
comment on column ragdb.semantic_atoms.created_by is 'Role that promoted it.';
comment on column ragdb.semantic_atoms.lexemes is
  'Lexemes of the statement, for ragdb.search_dual.';
comment on table ragdb.semantic_proposals is 'Conclusions drawn from atoms of one slice.';
comment on column ragdb.semantic_proposals.corpus_id is 'The corpus.';
comment on column ragdb.semantic_proposals.proposal_id is 'UUID of version 7.';
comment on column ragdb.semantic_proposals.text is 'The conclusion.';
comment on column ragdb.semantic_proposals.source_atoms is 'Atoms that it rests on.';
comment on column ragdb.semantic_proposals.source_slice_id is 'Slice of those atoms.';
comment on column ragdb.semantic_proposals.status is 'open, accepted or rejected.';
comment on column ragdb.semantic_proposals.created_at is 'When it was proposed.';
comment on column ragdb.semantic_proposals.created_by is 'Role that proposed it.';
comment on column ragdb.semantic_proposals.lexemes is
  'Lexemes of the conclusion, for ragdb.search_dual.';
comment on column ragdb.semantic_proposals.decided_at is
  'When it was accepted or rejected; null while it is open.';
comment on column ragdb.semantic_proposals.decided_by is
  'Role that decided; null while it is open.';
comment on column ragdb.semantic_proposals.decision_reason is
  'Why, in that role''s words; null where none were given.';
comment on table ragdb.admissibility_incidents is
  'Every attempt to promote what may not be promoted.';
comment on column ragdb.admissibility_incidents.incident_id is 'UUID of version 7.';
comment on column ragdb.admissibility_incidents.created_at is 'When.';
comment on column ragdb.admissibility_incidents.corpus_id is 'The corpus.';
comment on column ragdb.admissibility_incidents.kind is
  'slice_boundary_violation, unverified_evidence_usage, content_hash_mismatch, '
  'token_verification_failure, insufficient_evidence or other.';
comment on column ragdb.admissibility_incidents.severity is 'low, medium, high or critical.';
comment on column ragdb.admissibility_incidents.trace_id is 'Retrieval that was to be promoted.';
comment on column ragdb.admissibility_incidents.caller is 'Role that tried.';
comment on column ragdb.admissibility_incidents.reason is 'What was refused and why.';
