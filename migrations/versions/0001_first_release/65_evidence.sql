-- Verdicts on evidence, and answers with their citations.
-- Append-only, partitioned by month like the traces that they are about, and dropped with them.

create table ragdb.gate_calibrations (
  corpus_id integer not null
    constraint gate_calibrations_corpus_exists references ragdb.corpora on delete cascade,
  mode text collate "C" not null
    constraint gate_calibrations_mode_is_known check (mode in ('lexical', 'semantic', 'hybrid')),
  embedder_id integer
    constraint gate_calibrations_embedder_exists references ragdb.embedders,
  lexical_weight float8,
  floor float8 constraint gate_calibrations_floor_is_in_range check (floor between 0.1 and 0.5),
  own_score float8,
  other_score float8,
  own_questions integer not null,
  other_questions integer not null,
  chunks integer not null,
  pivot float8 not null,
  calibrated_at timestamptz not null,
  constraint gate_calibrations_are_unique_per_mode primary key (corpus_id, mode),
  constraint gate_calibrations_of_words_have_no_embedder
    check ((mode = 'lexical') = (embedder_id is null))
);
comment on table ragdb.gate_calibrations is
  'What a search of a corpus must score at least to be about what was asked, by mode, as '
  'ragdb.calibrate_gate measured it. Read it through ragdb.corpus_info.';
comment on column ragdb.gate_calibrations.corpus_id is 'The corpus.';
comment on column ragdb.gate_calibrations.mode is 'Mode of search: lexical, semantic or hybrid.';
comment on column ragdb.gate_calibrations.embedder_id is
  'Embedder that it holds for; null for words alone.';
comment on column ragdb.gate_calibrations.lexical_weight is
  'Weight of words that it holds for, 0 to 1; null but in mode hybrid.';
comment on column ragdb.gate_calibrations.floor is
  'The least best score, 0.1 to 0.5; null where fewer than ten questions could be embedded.';
comment on column ragdb.gate_calibrations.own_score is
  'Median of the best scores for pieces of the corpus, 0 to 1; null without one.';
comment on column ragdb.gate_calibrations.other_score is
  'Median of the best scores for questions about something else, 0 to 1; null without one.';
comment on column ragdb.gate_calibrations.own_questions is 'Number of pieces that were searched.';
comment on column ragdb.gate_calibrations.other_questions is
  'Number of questions about something else that were searched.';
comment on column ragdb.gate_calibrations.chunks is 'Chunks that the corpus had.';
comment on column ragdb.gate_calibrations.pivot is 'Pivot that the corpus had.';
comment on column ragdb.gate_calibrations.calibrated_at is
  'Start of the transaction that measured it.';

create table ragdb.evidence_gates (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
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
  rank_mode text
    constraint evidence_gates_rank_mode_is_known
      check (rank_mode in ('lexical', 'semantic', 'hybrid', 'reference')),
  min_score_by text not null
    constraint evidence_gates_min_score_by_is_known
      check (min_score_by in ('caller', 'corpus', 'none')),
  client text,
  caller text collate "C" not null,
  caller_oid oid not null,
  constraint evidence_gates_verdict_follows check (is_enough = (chunks >= min_chunks
    and coalesce(best_score, 0) >= min_score and coverage >= min_coverage))
) partition by range (created_at);
comment on table ragdb.evidence_gates is
  'One row for each weighing of evidence that ragdb.record_gate recorded: what decided it, and the '
  'verdict. Append-only, in the same months as retrieval_traces. Read it through bi.fact_gate.';
comment on column ragdb.evidence_gates.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_gates.id is 'UUID of version 7.';
comment on column ragdb.evidence_gates.created_at is
  'When the verdict was recorded: the millisecond in the id.';
comment on column ragdb.evidence_gates.trace_id is
  'Trace that retrieved the evidence, or the first of its chunks that any trace retrieved; null '
  'where none did.';
comment on column ragdb.evidence_gates.query_hash is
  'SHA-256 (hex) of the question in UTF-8; null where corpora.record_query_text is none.';
comment on column ragdb.evidence_gates.pack_hash is
  'SHA-256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_gates.is_enough is
  'The verdict: chunks, best_score and coverage all reach their thresholds.';
comment on column ragdb.evidence_gates.chunks is 'Number of chunks of the evidence.';
comment on column ragdb.evidence_gates.min_chunks is 'Threshold of chunks, 0 to 1000.';
comment on column ragdb.evidence_gates.best_score is
  'Best score of a chunk, 0 to 1, of those that the question itself found where it was searched '
  'for; null where no chunk has a score.';
comment on column ragdb.evidence_gates.min_score is 'Threshold of best_score, 0 to 1.';
comment on column ragdb.evidence_gates.terms is 'Number of different terms of the question.';
comment on column ragdb.evidence_gates.coverage is
  'Share of the terms that the evidence has, 0 to 1, each weighed by its idf in the corpus.';
comment on column ragdb.evidence_gates.min_coverage is 'Threshold of coverage, 0 to 1.';
comment on column ragdb.evidence_gates.missing_terms is
  'Terms that the evidence lacks; null unless corpora.record_query_text is full.';
comment on column ragdb.evidence_gates.rank_mode is
  'Mode of the search that best_score is of; null where it is not known.';
comment on column ragdb.evidence_gates.min_score_by is
  'Who set min_score: the caller, the corpus (its floor for rank_mode at that time), or none.';
comment on column ragdb.evidence_gates.client is 'Name that the asking program gave itself.';
comment on column ragdb.evidence_gates.caller is 'Database role that asked.';
comment on column ragdb.evidence_gates.caller_oid is 'Oid of that role.';

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
  elapsed_ms float8 constraint evidence_answers_elapsed_ms_is_positive check (elapsed_ms >= 0),
  input_tokens integer
    constraint evidence_answers_input_tokens_are_positive check (input_tokens >= 0),
  output_tokens integer
    constraint evidence_answers_output_tokens_are_positive check (output_tokens >= 0),
  client text,
  caller text collate "C" not null,
  caller_oid oid not null,
  constraint evidence_answers_are_verified_without_problems check (is_verified = (problems = 0))
) partition by range (created_at);
comment on table ragdb.evidence_answers is
  'One row for each answer, or attempt at one, that ragdb.record_answer recorded: whether its '
  'citations hold. Append-only, in the same months as retrieval_traces. Read it through '
  'bi.fact_answer.';
comment on column ragdb.evidence_answers.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_answers.id is 'UUID of version 7.';
comment on column ragdb.evidence_answers.created_at is
  'When the answer was recorded: the millisecond in the id.';
comment on column ragdb.evidence_answers.trace_id is
  'Trace that retrieved the evidence, or the first of its chunks that any trace retrieved; null '
  'where none did.';
comment on column ragdb.evidence_answers.pack_hash is
  'SHA-256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_answers.answer_hash is
  'SHA-256 (hex) of the answer in UTF-8; null without an answer, and where '
  'corpora.record_query_text is none.';
comment on column ragdb.evidence_answers.is_insufficient is
  'Whether the answer says that the evidence is not enough.';
comment on column ragdb.evidence_answers.is_verified is
  'Whether no problem was found with its citations. Advice is not a problem.';
comment on column ragdb.evidence_answers.citations is
  'Number of citations of the answer, its [n] markers counted.';
comment on column ragdb.evidence_answers.problems is
  'Rows of answer_citations with a code that is not advice.';
comment on column ragdb.evidence_answers.task is
  'Name that the task gave itself; null without a task.';
comment on column ragdb.evidence_answers.model is
  'Name that the answering model gave itself; null for an answer in the evidence''s own words.';
comment on column ragdb.evidence_answers.attempt is 'Number of the attempt at the answer, from 1.';
comment on column ragdb.evidence_answers.elapsed_ms is
  'Milliseconds that the answer took to make, without its evidence; null where nobody said.';
comment on column ragdb.evidence_answers.input_tokens is
  'Tokens that the model read, as it counted them; null where nobody said.';
comment on column ragdb.evidence_answers.output_tokens is
  'Tokens that the model wrote, as it counted them; null where nobody said.';
comment on column ragdb.evidence_answers.client is 'Name that the asking program gave itself.';
comment on column ragdb.evidence_answers.caller is 'Database role that asked.';
comment on column ragdb.evidence_answers.caller_oid is 'Oid of that role.';

create table ragdb.answer_citations (
  corpus_id integer not null,
  answer_id uuid not null,
  created_at timestamptz not null,
  row_no integer not null,
  citation integer,
  code text,
  is_advisory boolean not null,
  source_id text,
  chunk_id text collate "C",
  method text
    constraint answer_citations_method_is_known
      check (method in ('exact', 'normalised', 'approximate')),
  start_offset integer,
  end_offset integer,
  unit text not null
    constraint answer_citations_unit_is_known check (unit in ('codepoint', 'utf16', 'byte')),
  similarity float8,
  constraint answer_citations_place_is_a_range check (start_offset < end_offset)
) partition by range (created_at);
comment on table ragdb.answer_citations is
  'What ragdb.check_citations found in a recorded answer: a row for each citation that holds, and '
  'a row for each problem. Append-only, in the same months as retrieval_traces. Read it through '
  'bi.fact_citation.';
comment on column ragdb.answer_citations.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.answer_citations.answer_id is 'The answer.';
comment on column ragdb.answer_citations.created_at is 'The answer''s created_at.';
comment on column ragdb.answer_citations.row_no is 'Place among the rows of the answer, from 1.';
comment on column ragdb.answer_citations.citation is
  'Number of the citation, from 0; null for a problem of the answer as a whole.';
comment on column ragdb.answer_citations.code is
  'What is wrong (see ragdb.check_citations); null for a citation that holds.';
comment on column ragdb.answer_citations.is_advisory is 'Whether the code is only advice.';
comment on column ragdb.answer_citations.source_id is
  'Source of the cited chunk; null where the evidence does not contain such a chunk.';
comment on column ragdb.answer_citations.chunk_id is
  'The cited chunk; null where the evidence does not contain such a chunk.';
comment on column ragdb.answer_citations.method is
  'How its quote was found: exact, normalised or approximate; null without a quote.';
comment on column ragdb.answer_citations.start_offset is
  'Where the quote or the cited range begins in the chunk''s text, from 0.';
comment on column ragdb.answer_citations.end_offset is
  'Where the quote or the cited range ends: after its last character.';
comment on column ragdb.answer_citations.unit is
  'What start_offset and end_offset count: codepoint, utf16 or byte.';
comment on column ragdb.answer_citations.similarity is
  'Share of the quote''s letters that the chunk has, 0.85 to 1; null without a quote.';
