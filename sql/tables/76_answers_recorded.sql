comment on table ragdb.evidence_gates is
  'One row per recorded weighing of evidence (ragdb.record_gate): what it was decided by, and the '
  'verdict. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.evidence_gates.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_gates.id is 'UUID of version 7.';
comment on column ragdb.evidence_gates.created_at is
  'When it was recorded: the millisecond in the id.';
comment on column ragdb.evidence_gates.trace_id is
  'Trace that retrieved the evidence, or the first of its chunks that any did; null where no trace '
  'did.';
comment on column ragdb.evidence_gates.query_hash is
  'Sha256 (hex) of the question in UTF-8; null where corpora.record_query_text is none.';
comment on column ragdb.evidence_gates.pack_hash is
  'Sha256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_gates.is_enough is
  'The verdict: chunks, best_score and coverage all reach their thresholds.';
comment on column ragdb.evidence_gates.chunks is 'Chunks of the evidence.';
comment on column ragdb.evidence_gates.min_chunks is 'Threshold of chunks, 0 to 1000.';
comment on column ragdb.evidence_gates.best_score is
  'Best score of a chunk, 0 to 1; null where none has a score.';
comment on column ragdb.evidence_gates.min_score is 'Threshold of best_score, 0 to 1.';
comment on column ragdb.evidence_gates.terms is 'Different terms of the question.';
comment on column ragdb.evidence_gates.coverage is
  'Share of the terms that the evidence has, 0 to 1.';
comment on column ragdb.evidence_gates.min_coverage is 'Threshold of coverage, 0 to 1.';
comment on column ragdb.evidence_gates.missing_terms is
  'Terms that the evidence lacks; null unless corpora.record_query_text is full.';
comment on column ragdb.evidence_gates.client is 'Program that asked, as it named itself.';
comment on column ragdb.evidence_gates.caller is 'Database role that asked.';
comment on table ragdb.evidence_answers is
  'One row per recorded answer, or attempt at one (ragdb.record_answer): whether its citations '
  'hold. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.evidence_answers.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_answers.id is 'UUID of version 7.';
comment on column ragdb.evidence_answers.created_at is
  'When it was recorded: the millisecond in the id.';
comment on column ragdb.evidence_answers.trace_id is
  'Trace that retrieved the evidence, or the first of its chunks that any did; null where no trace '
  'did.';
comment on column ragdb.evidence_answers.pack_hash is
  'Sha256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_answers.answer_hash is
  'Sha256 (hex) of the answer in UTF-8; null without one, and where corpora.record_query_text is '
  'none.';
comment on column ragdb.evidence_answers.is_insufficient is
  'Whether the answer is that the evidence is not enough.';
comment on column ragdb.evidence_answers.is_verified is
  'Whether nothing was found wrong with its citations; advice is nothing wrong.';
comment on column ragdb.evidence_answers.citations is
  'Citations of the answer, its [n] markers counted.';
comment on column ragdb.evidence_answers.problems is
  'Rows of answer_citations with a code that is no advice.';
comment on column ragdb.evidence_answers.task is
  'Task that was run, as it named itself; null for none.';
comment on column ragdb.evidence_answers.model is
  'Model that answered, as it named itself; null for an answer in the evidence''s own words.';
comment on column ragdb.evidence_answers.attempt is 'Which attempt at the answer this is, from 1.';
comment on column ragdb.evidence_answers.client is 'Program that asked, as it named itself.';
comment on column ragdb.evidence_answers.caller is 'Database role that asked.';
comment on table ragdb.answer_citations is
  'What ragdb.check_citations said of a recorded answer: a row for each citation that holds, and '
  'one for each thing that is wrong. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.answer_citations.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.answer_citations.answer_id is 'The answer.';
comment on column ragdb.answer_citations.created_at is 'The answer''s created_at.';
comment on column ragdb.answer_citations.row_no is 'Place among the rows of the answer, from 1.';
comment on column ragdb.answer_citations.citation is
  'Which citation, from 0; null for what is wrong with the answer as a whole.';
comment on column ragdb.answer_citations.code is
  'What is wrong with it (see ragdb.check_citations); null when it holds.';
comment on column ragdb.answer_citations.is_advisory is 'Whether the code is only advice.';
comment on column ragdb.answer_citations.source_id is
  'Source of the cited chunk; null where the evidence has no such chunk.';
comment on column ragdb.answer_citations.chunk_id is
  'The cited chunk; null where the evidence has no such chunk.';
comment on column ragdb.answer_citations.method is
  'How its quote was found: exact, normalised or approximate; null without a quote.';
comment on column ragdb.answer_citations.start_offset is
  'Where the quote or the cited range begins in the chunk''s text, from 0.';
comment on column ragdb.answer_citations.end_offset is 'Where it ends: behind its last character.';
comment on column ragdb.answer_citations.unit is
  'What start_offset and end_offset count: codepoint, utf16 or byte.';
comment on column ragdb.answer_citations.similarity is
  'Share of the quote''s letters that the chunk has, 0.85 to 1; null without a quote.';
