-- State of gates and answers: append-only, partitioned by month like the traces that they are about, and with them gone.

create table ragdb.evidence_gates (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  -- null for a pack that no retrieval found
  trace_id uuid,
  query_hash text,
  pack_hash text not null,
  is_enough boolean not null,
  chunks integer not null,
  min_chunks integer not null,
  best_score float8,
  min_score float8 not null,
  terms integer not null,
  coverage float8 not null,
  min_coverage float8 not null,
  missing_terms text[],
  client text,
  caller text not null
) partition by range (created_at);

create table ragdb.evidence_answers (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  trace_id uuid,
  pack_hash text not null,
  answer_hash text,
  is_insufficient boolean not null,
  is_verified boolean not null,
  citations integer not null,
  problems integer not null,
  task text,
  model text,
  attempt integer not null,
  client text,
  caller text not null,
  constraint evidence_answers_are_verified_without_problems check (is_verified = (problems = 0))
) partition by range (created_at);

create table ragdb.answer_citations (
  corpus_id integer not null,
  answer_id uuid not null,
  created_at timestamptz not null,
  -- a citation has a row for each thing that is wrong with it
  row_no integer not null,
  -- null for what is wrong with the answer as a whole
  citation integer,
  code text,
  is_advisory boolean not null,
  source_id text,
  chunk_id text collate "C",
  method text
    constraint answer_citations_method_is_known check (method in ('exact', 'normalised', 'approximate')),
  start_offset integer,
  end_offset integer,
  unit text not null
    constraint answer_citations_unit_is_known check (unit in ('codepoint', 'utf16', 'byte')),
  similarity float8,
  constraint answer_citations_place_is_a_range check (start_offset < end_offset)
) partition by range (created_at);
