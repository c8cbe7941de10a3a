-- What people said of retrievals and answers.
-- Append-only, partitioned by month like the traces that it is about, and dropped with them.

create table ragdb.evidence_feedback (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  trace_id uuid not null,
  answer_id uuid,
  chunk_id text collate "C",
  verdict text not null
    constraint evidence_feedback_verdict_is_known check (verdict in ('good', 'bad')),
  comment text,
  client text,
  caller text collate "C" not null,
  caller_oid oid not null
) partition by range (created_at);
comment on table ragdb.evidence_feedback is
  'What people said of retrievals, hits and answers. Append-only, in the same months as '
  'retrieval_traces. Read it through ragdb.list_feedback, ragdb.feedback_cases and '
  'bi.fact_feedback.';
comment on column ragdb.evidence_feedback.corpus_id is 'Corpus of the trace.';
comment on column ragdb.evidence_feedback.id is 'UUID of version 7.';
comment on column ragdb.evidence_feedback.created_at is
  'When the verdict was given: the millisecond in the id.';
comment on column ragdb.evidence_feedback.trace_id is 'The retrieval that it is about.';
comment on column ragdb.evidence_feedback.answer_id is
  'The answer that it is about; null where it is about what was found.';
comment on column ragdb.evidence_feedback.chunk_id is
  'The hit that it is about; null where it is about all of them.';
comment on column ragdb.evidence_feedback.verdict is 'good or bad.';
comment on column ragdb.evidence_feedback.comment is 'What the person added; null for nothing.';
comment on column ragdb.evidence_feedback.client is 'Name that the asking program gave itself.';
comment on column ragdb.evidence_feedback.caller is 'Database role that gave it.';
comment on column ragdb.evidence_feedback.caller_oid is 'Oid of that role.';
