-- Who accepted or rejected a proposal, and why.

alter table ragdb.semantic_proposals
  add column decided_at timestamptz,
  add column decided_by text,
  add column decision_reason text,
  add constraint semantic_proposals_decision_has_a_time_and_a_role check (
    (status = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)
    and (decision_reason is null or decided_at is not null));
