-- Answers on record, and what each of their citations came to. No text of them is kept.

-- Refuses what an answer is recorded under when it is too long or out of range. Raises RG400,
-- RG413.
create or replace function ragdb_internal.check_answer_names(task text, model text, client text,
  attempt integer, elapsed_ms float8, input_tokens integer, output_tokens integer) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_client(client, 'client');
  perform ragdb_internal.check_client(task, 'task');
  perform ragdb_internal.check_client(model, 'model');
  if attempt is null or attempt not between 1 and 1000 then
    raise exception 'attempt is %', coalesce(attempt::text, 'null')
      using errcode = 'RG400', detail = 'it counts the attempts at an answer',
        hint = 'give 1 to 1000';
  end if;
  if (elapsed_ms between 0 and 1e12) is false or input_tokens < 0 or output_tokens < 0 then
    raise exception 'elapsed_ms, input_tokens or output_tokens is out of range'
      using errcode = 'RG400', detail = format('they are %s, %s and %s',
          coalesce(elapsed_ms::text, 'null'), coalesce(input_tokens::text, 'null'),
          coalesce(output_tokens::text, 'null')),
        hint = 'give what was measured, 0 or more, or nothing';
  end if;
end $$;

-- Returns what is recorded of an answer before its citations are checked. Raises RG404, RG407,
-- RG460.
create or replace function ragdb_internal.new_answer(output jsonb, evidence jsonb, trace_id uuid)
  returns ragdb.evidence_answers
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_of record;
  v_answer ragdb.evidence_answers;
begin
  select e.* into strict v_of from ragdb_internal.evidence_corpus(evidence, trace_id) e;
  v_answer.corpus_id := (v_of.corpus).corpus_id;
  v_answer.id := ragdb_internal.uuid7(ragdb_internal.now());
  v_answer.created_at := ragdb_internal.uuid_time(v_answer.id);
  v_answer.trace_id := v_of.trace;
  v_answer.pack_hash := evidence ->> 'sha256';
  if (v_of.corpus).record_query_text <> 'none' then
    v_answer.answer_hash :=
      encode(sha256(ragdb_internal.utf8(ragdb_internal.answer_text(output))), 'hex');
  end if;
  v_answer.is_insufficient := output -> 'insufficient_evidence' is not distinct from 'true';
  v_answer.citations := case when v_answer.is_insufficient then 0
    else (select count(distinct c.n) from ragdb_internal.cited(output, evidence) c) end;
  v_answer.caller := ragdb_internal.caller();
  v_answer.caller_oid := ragdb_internal.caller_oid();
  return v_answer;
end $$;

-- Records an answer and what each of its citations came to. What names no chunk of the evidence is
-- the answer's own text, which is not kept.
create or replace function ragdb_internal.insert_answer(answer ragdb.evidence_answers,
  checks ragdb_internal.citation_check[], offsets text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.evidence_answers values (answer.*);
  insert into ragdb.answer_citations (corpus_id, answer_id, created_at, row_no, citation, code,
    is_advisory, source_id, chunk_id, method, start_offset, end_offset, unit, similarity)
    select answer.corpus_id, answer.id, answer.created_at, c.ordinality, c.citation, c.code,
      c.is_advisory, case when c.is_ours then c.source_id end,
      case when c.is_ours then c.chunk_id end, c.method, c.start_offset, c.end_offset,
      insert_answer.offsets, c.similarity
    from (
      select u.*, coalesce(u.code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED'), true) as is_ours
      from unnest(checks) with ordinality u) c;
  perform ragdb_internal.note('answer', answer.corpus_id || '/' || answer.id);
end $$;

-- The id of an answer on record, and what each of its citations came to.
create type ragdb_internal.answer_on_record as (
  answer_id uuid, checks ragdb_internal.citation_check[]);

-- Does what ragdb.record_answer does. Raises what it raises.
create or replace function ragdb_internal.write_answer(
  output jsonb, evidence jsonb, trace_id uuid, require_citations boolean,
  require_admissible boolean, min_coverage float8, min_quote integer, offsets text, task text,
  model text, attempt integer, client text, elapsed_ms float8, input_tokens integer,
  output_tokens integer)
returns ragdb_internal.answer_on_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_answer ragdb.evidence_answers;
  v_checks ragdb_internal.citation_check[];
begin
  perform ragdb_internal.check_evidence_recordable('record_answer writes');
  perform ragdb_internal.check_output(output, v_evidence);
  perform ragdb_internal.check_answer_names(task, model, client, attempt, elapsed_ms,
    input_tokens, output_tokens);
  v_answer := ragdb_internal.new_answer(output, v_evidence, trace_id);
  v_checks := array(
    select row(c.*, null)::ragdb_internal.citation_check
    from ragdb.check_citations(output, evidence, trace_id, require_citations, require_admissible,
      min_coverage, min_quote, offsets) c);
  v_answer.problems := (
    select count(*) from unnest(v_checks) c where c.code is not null and not c.is_advisory);
  v_answer.is_verified := v_answer.problems = 0;
  v_answer.task := task;
  v_answer.model := model;
  v_answer.attempt := attempt;
  v_answer.client := client;
  v_answer.elapsed_ms := elapsed_ms;
  v_answer.input_tokens := input_tokens;
  v_answer.output_tokens := output_tokens;
  perform ragdb_internal.insert_answer(v_answer, v_checks, offsets);
  return row(v_answer.id, v_checks)::ragdb_internal.answer_on_record;
end $$;

-- Definer: it writes tables that are granted to nobody; the caller's right to the corpus is checked
-- by ragdb_internal.evidence_corpus.
create or replace function ragdb.record_answer(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
  min_quote integer default 8, offsets text default 'codepoint', task text default null,
  model text default null, attempt integer default 1, client text default null,
  elapsed_ms float8 default null, input_tokens integer default null,
  output_tokens integer default null)
returns table (answer_id uuid, citation integer, code text, is_advisory boolean, message text,
  source_id text, chunk_id text, method text, start_offset integer, end_offset integer,
  similarity float8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_record constant ragdb_internal.answer_on_record := ragdb_internal.write_answer(
    output, evidence, trace_id, require_citations, require_admissible, min_coverage, min_quote,
    offsets, task, model, attempt, client, elapsed_ms, input_tokens, output_tokens);
begin
  return query
    select v_record.answer_id, c.citation, c.code, c.is_advisory, c.message, c.source_id,
      c.chunk_id, c.method, c.start_offset, c.end_offset, c.similarity
    from unnest(v_record.checks) c;
end $$;
comment on function ragdb.record_answer is
  'Checks the citations of an output as ragdb.check_citations, whose rows it returns after the id '
  'of the answer, and records the answer and what each citation came to, without any text; task, '
  'model and client (up to 200 characters each) are names, attempt (1 to 1000) counts the tries, '
  'elapsed_ms (milliseconds), input_tokens and output_tokens say what the answer took. Raises what '
  'ragdb.check_citations raises, RG400, RG404, RG413, and 25006 where nothing can be written.';
