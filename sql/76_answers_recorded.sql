-- What was weighed and answered, on record: the inputs and the verdict of a gate, and what each
-- citation came to. No text is kept, of a question, an answer or a quote: hashes, ids, places,
-- codes and counts.

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

create or replace function ragdb._check_client(client text, what text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(client) > 200 then
    raise exception '% has % characters', what, length(client)
      using errcode = 'RG413', detail = 'it names a program, a task or a model',
        hint = 'give at most 200 characters';
  end if;
end $$;
comment on function ragdb._check_client(text, text) is
  'Refuses a name of more than 200 characters. Raises RG413.';

-- Evidence is recorded under its corpus: that of its trace, or the one it names where chunks were
-- packed by their ids.
create or replace function ragdb._evidence_corpus(
  evidence jsonb, trace_id uuid, out corpus ragdb.corpora, out trace uuid)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_name text := coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id');
begin
  trace := coalesce(trace_id, ragdb._trace_of(evidence), (
    select ragdb._trace_of(c.chunk) from jsonb_array_elements(evidence -> 'chunks')
      with ordinality c (chunk, n)
    where c.chunk ? 'trace_id' order by c.n limit 1));
  if trace is not null then
    v_trace := ragdb._open_trace(trace);
    select c.* into strict corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  elsif v_name is null then
    raise exception 'evidence names neither trace nor corpus'
      using errcode = 'RG460', detail = 'what is recorded is recorded under a corpus',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  else
    corpus := ragdb._open_corpus(v_name, 'read');
  end if;
  if evidence ->> 'sha256' !~ '^[0-9a-f]{64}$' or evidence -> 'sha256' is null then
    raise exception 'evidence has no sha256'
      using errcode = 'RG460', detail = 'the hash of a pack says later what was weighed',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  if evidence ->> 'sha256' <> encode(sha256(ragdb._utf8(evidence ->> 'canonical_text')), 'hex') then
    raise exception 'the sha256 of evidence is not that of its text'
      using errcode = 'RG460', detail = 'it is recorded as the hash of canonical_text',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  -- once an upgrade has brought the tables, the first month is made here
  if to_regclass('ragdb.answer_citations_default') is null then
    perform ragdb.maintain();
  end if;
end $$;
comment on function ragdb._evidence_corpus(jsonb, uuid) is
  'Returns the corpus that evidence is of, and its trace, for what is recorded of it. Raises '
  'RG404, RG407, RG460.';

create or replace function ragdb._check_writable(what text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception '% writes, and this transaction is read-only', what
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'ragdb.rag_enough_context_gate() and ragdb.check_citations() say the same and '
                   'record nothing';
  end if;
end $$;
comment on function ragdb._check_writable(text) is
  'Refuses to record in a read-only transaction. Raises 25006.';

-- Definer: it writes a table that is granted to nobody; the caller's right to the corpus is checked
-- by _evidence_corpus.
create or replace function ragdb.record_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default 0,
    min_coverage float8 default 0.6,
  trace_id uuid default null, client text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(pack);
  v_verdict jsonb := ragdb.rag_enough_context_gate(query, pack, min_chunks, min_score,
    min_coverage);
  v_of record;
  v_row ragdb.evidence_gates;
begin
  perform ragdb._check_writable('record_gate');
  perform ragdb._check_client(client, 'client');
  select e.* into strict v_of from ragdb._evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb._uuid7(ragdb._now());
  v_row.created_at := ragdb._uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.query_hash := encode(sha256(ragdb._utf8(query)), 'hex');
  end if;
  v_row.pack_hash := v_evidence ->> 'sha256';
  v_row.is_enough := (v_verdict ->> 'enough')::boolean;
  v_row.chunks := (v_verdict ->> 'chunks')::integer;
  v_row.min_chunks := min_chunks;
  v_row.best_score := (v_verdict ->> 'best_score')::float8;
  v_row.min_score := min_score;
  v_row.terms := (v_verdict ->> 'terms')::integer;
  v_row.coverage := (v_verdict ->> 'coverage')::float8;
  v_row.min_coverage := min_coverage;
  if (v_of.corpus).record_query_text = 'full' then
    v_row.missing_terms := array(select t.term
      from jsonb_array_elements_text(v_verdict -> 'missing_terms') t (term));
  end if;
  v_row.client := client;
  v_row.caller := ragdb._caller();
  insert into ragdb.evidence_gates values (v_row.*);
  return v_verdict || jsonb_build_object('gate_id', v_row.id);
end $$;
comment on function ragdb.record_gate(text, jsonb, integer, float8, float8, uuid, text) is
  'Decides as ragdb.rag_enough_context_gate whether a pack is enough for a query, records what it '
  'was decided by and the verdict, and returns it with gate_id; trace_id is that of the pack '
  'unless given, client (up to 200 characters) names the program. Raises what '
  'ragdb.rag_enough_context_gate raises, RG404, RG407, and 25006 where nothing can be written.';

-- Definer, as above.
create or replace function ragdb.record_answer(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
    min_quote integer default 8,
  offsets text default 'codepoint', task text default null, model text default null,
    attempt integer default 1,
  client text default null)
returns table (answer_id uuid, citation integer, code text, is_advisory boolean, message text,
  source_id text, chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_of record;
  v_row ragdb.evidence_answers;
  v_rows ragdb.answer_citations[] := '{}';
  v_check record;
begin
  perform ragdb._check_writable('record_answer');
  perform ragdb._check_output(output, v_evidence);
  perform ragdb._check_client(client, 'client');
  perform ragdb._check_client(task, 'task');
  perform ragdb._check_client(model, 'model');
  if attempt is null or attempt not between 1 and 1000 then
    raise exception 'attempt is %', coalesce(attempt::text, 'null')
      using errcode = 'RG400', detail = 'it counts the attempts at an answer',
        hint = 'give 1 to 1000';
  end if;
  select e.* into strict v_of from ragdb._evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb._uuid7(ragdb._now());
  v_row.created_at := ragdb._uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  v_row.pack_hash := v_evidence ->> 'sha256';
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.answer_hash := encode(sha256(ragdb._utf8(ragdb._answer_text(output))), 'hex');
  end if;
  v_row.is_insufficient := output -> 'insufficient_evidence' is not distinct from 'true';
  v_row.citations := case when v_row.is_insufficient then 0
    else (select count(distinct c.n) from ragdb._cited(output, v_evidence) c) end;
  v_row.problems := 0;
  v_row.task := task;
  v_row.model := model;
  v_row.attempt := attempt;
  v_row.client := client;
  v_row.caller := ragdb._caller();
  answer_id := v_row.id;
  for v_check in
    select c.* from ragdb.check_citations(output, evidence, trace_id, require_citations,
      require_admissible, min_coverage,
      min_quote, offsets) c
  loop
    citation := v_check.citation;
    code := v_check.code;
    is_advisory := v_check.is_advisory;
    message := v_check.message;
    source_id := v_check.source_id;
    chunk_id := v_check.chunk_id;
    method := v_check.method;
    start_offset := v_check.start_offset;
    end_offset := v_check.end_offset;
    similarity := v_check.similarity;
    v_row.problems := v_row.problems + (code is not null and not is_advisory)::integer;
    -- what names no chunk of the evidence is the answer's own text
    v_rows := v_rows || row(v_row.corpus_id, v_row.id, v_row.created_at, cardinality(v_rows) + 1,
      citation, code, is_advisory,
      case when code is null or code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED')
        then source_id end,
      case when code is null or code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED') then chunk_id end,
      method, start_offset, end_offset, offsets, similarity)::ragdb.answer_citations;
    return next;
  end loop;
  v_row.is_verified := v_row.problems = 0;
  insert into ragdb.evidence_answers values (v_row.*);
  insert into ragdb.answer_citations select r.* from unnest(v_rows) r;
end $$;
comment on function ragdb.record_answer(jsonb, jsonb, uuid, boolean, boolean, float8, integer, text,
  text, text, integer, text) is
  'Checks the citations of an output as ragdb.check_citations, whose rows it returns after the id '
  'of the answer, and records the answer and what each citation came to, without any text; task, '
  'model and client (up to 200 characters each) are names, attempt (1 to 1000) counts the tries. '
  'Raises what ragdb.check_citations raises, RG404, RG413, and 25006 where nothing can be written.';
