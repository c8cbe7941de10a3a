-- What was weighed and answered, on record: the inputs and the verdict of a gate, and what each
-- citation came to. No text is kept, of a question, an answer or a quote: hashes, ids, places,
-- codes and counts.

create or replace function ragdb_internal.check_client(client text, what text) returns void
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
comment on function ragdb_internal.check_client(text, text) is
  'Refuses a name of more than 200 characters. Raises RG413.';

-- Evidence is recorded under its corpus: that of its trace, or the one it names where chunks were
-- packed by their ids.
create or replace function ragdb_internal.evidence_corpus(
  evidence jsonb, trace_id uuid, out corpus ragdb.corpora, out trace uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_name text := coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id');
begin
  trace := coalesce(trace_id, ragdb_internal.trace_of(evidence), (
    select ragdb_internal.trace_of(c.chunk) from jsonb_array_elements(evidence -> 'chunks')
      with ordinality c (chunk, n)
    where c.chunk ? 'trace_id' order by c.n limit 1));
  if trace is not null then
    v_trace := ragdb_internal.open_trace(trace);
    select c.* into strict corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  elsif v_name is null then
    raise exception 'evidence names neither trace nor corpus'
      using errcode = 'RG460', detail = 'what is recorded is recorded under a corpus',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  else
    corpus := ragdb_internal.open_corpus(v_name, 'read');
  end if;
  if evidence ->> 'sha256' !~ '^[0-9a-f]{64}$' or evidence -> 'sha256' is null then
    raise exception 'evidence has no sha256'
      using errcode = 'RG460', detail = 'the hash of a pack says later what was weighed',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  if evidence ->> 'sha256'
      <> encode(sha256(ragdb_internal.utf8(evidence ->> 'canonical_text')), 'hex') then
    raise exception 'the sha256 of evidence is not that of its text'
      using errcode = 'RG460', detail = 'it is recorded as the hash of canonical_text',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  -- once an upgrade has brought the tables, the first month is made here
  if to_regclass('ragdb.answer_citations_default') is null then
    perform ragdb.maintain();
  end if;
end $$;
comment on function ragdb_internal.evidence_corpus(jsonb, uuid) is
  'Returns the corpus that evidence is of, and its trace, for what is recorded of it. Raises '
  'RG404, RG407, RG460.';

create or replace function ragdb_internal.check_evidence_recordable(what text) returns void
language sql stable parallel safe
return ragdb_internal.check_recordable(what,
  'ragdb.rag_enough_context_gate() and ragdb.check_citations() say the same and record nothing');
comment on function ragdb_internal.check_evidence_recordable(text) is
  'Refuses to record evidence in a read-only transaction. Raises 25006.';

-- Definer: it writes a table that is granted to nobody; the caller's right to the corpus is checked
-- by ragdb_internal.evidence_corpus.
create or replace function ragdb.record_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default null,
  min_coverage float8 default 0.5, trace_id uuid default null, client text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb_internal.evidence_of(pack);
  v_verdict jsonb := ragdb.rag_enough_context_gate(query, v_evidence || case
    when trace_id is null then '{}' else jsonb_build_object('trace_id', trace_id) end,
    min_chunks, min_score, min_coverage);
  v_of record;
  v_row ragdb.evidence_gates;
begin
  perform ragdb_internal.check_evidence_recordable('record_gate writes');
  perform ragdb_internal.check_client(client, 'client');
  select e.* into strict v_of from ragdb_internal.evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb_internal.uuid7(ragdb_internal.now());
  v_row.created_at := ragdb_internal.uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.query_hash := encode(sha256(ragdb_internal.utf8(query)), 'hex');
  end if;
  v_row.pack_hash := v_evidence ->> 'sha256';
  v_row.is_enough := (v_verdict ->> 'enough')::boolean;
  v_row.chunks := (v_verdict ->> 'chunks')::integer;
  v_row.min_chunks := min_chunks;
  v_row.best_score := (v_verdict ->> 'best_score')::float8;
  v_row.min_score := (v_verdict ->> 'min_score')::float8;
  v_row.min_score_by := v_verdict ->> 'min_score_by';
  v_row.rank_mode := v_verdict ->> 'rank_mode';
  v_row.terms := (v_verdict ->> 'terms')::integer;
  v_row.coverage := (v_verdict ->> 'coverage')::float8;
  v_row.min_coverage := min_coverage;
  if (v_of.corpus).record_query_text = 'full' then
    v_row.missing_terms := array(select t.term
      from jsonb_array_elements_text(v_verdict -> 'missing_terms') t (term));
  end if;
  v_row.client := client;
  v_row.caller := ragdb_internal.caller();
  insert into ragdb.evidence_gates values (v_row.*);
  perform ragdb_internal.note('gate', v_row.corpus_id || '/' || v_row.id);
  return v_verdict || jsonb_build_object('gate_id', v_row.id);
end $$;
comment on function ragdb.record_gate(text, jsonb, integer, float8, float8, uuid, text) is
  'Decides as ragdb.rag_enough_context_gate whether a pack is enough for a query, records what it '
  'was decided by and the verdict, and returns it with gate_id; trace_id is that of the pack '
  'unless given, client (up to 200 characters) names the program. Raises what '
  'ragdb.rag_enough_context_gate raises, RG404, RG407, and 25006 where nothing can be written.';

create or replace function ragdb_internal.check_answer_names(task text, model text, client text,
  attempt integer) returns void
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
end $$;
comment on function ragdb_internal.check_answer_names(text, text, text, integer) is
  'Refuses what an answer is recorded under when it is too long or out of range. Raises RG400, '
  'RG413.';

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
  return v_answer;
end $$;
comment on function ragdb_internal.new_answer(jsonb, jsonb, uuid) is
  'Returns what is recorded of an answer before its citations are checked. Raises RG404, RG407, '
  'RG460.';

-- What names no chunk of the evidence is the answer's own text, which is not kept.
create or replace function ragdb_internal.insert_answer(answer ragdb.evidence_answers,
  checks ragdb_internal.citation_check[], offsets text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.evidence_answers values (answer.*);
  insert into ragdb.answer_citations (corpus_id, answer_id, created_at, row_no, citation, code,
    is_advisory, source_id, chunk_id, method, start_offset, end_offset, unit, similarity)
    select answer.corpus_id, answer.id, answer.created_at, c.row_no, c.citation, c.code,
      c.is_advisory, case when c.is_ours then c.source_id end,
      case when c.is_ours then c.chunk_id end, c.method, c.start_offset, c.end_offset,
      insert_answer.offsets, c.similarity
    from (
      select u.*, coalesce(u.code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED'), true) as is_ours
      from unnest(checks) with ordinality u (citation, code, is_advisory, message, source_id,
        chunk_id, method, start_offset, end_offset, similarity, said, row_no)) c;
  perform ragdb_internal.note('answer', answer.corpus_id || '/' || answer.id);
end $$;
comment on function ragdb_internal.insert_answer(ragdb.evidence_answers,
  ragdb_internal.citation_check[], text) is
  'Records an answer and what each of its citations came to.';

-- Definer, as above.
create or replace function ragdb.record_answer(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
  min_quote integer default 8, offsets text default 'codepoint', task text default null,
  model text default null, attempt integer default 1, client text default null)
returns table (answer_id uuid, citation integer, code text, is_advisory boolean, message text,
  source_id text, chunk_id text, method text, start_offset integer, end_offset integer,
  similarity float8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_answer ragdb.evidence_answers;
  v_checks ragdb_internal.citation_check[];
begin
  perform ragdb_internal.check_evidence_recordable('record_answer writes');
  perform ragdb_internal.check_output(output, v_evidence);
  perform ragdb_internal.check_answer_names(task, model, client, attempt);
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
  perform ragdb_internal.insert_answer(v_answer, v_checks, offsets);
  return query
    select v_answer.id, c.citation, c.code, c.is_advisory, c.message, c.source_id, c.chunk_id,
      c.method, c.start_offset, c.end_offset, c.similarity
    from unnest(v_checks) c;
end $$;
comment on function ragdb.record_answer(jsonb, jsonb, uuid, boolean, boolean, float8, integer, text,
  text, text, integer, text) is
  'Checks the citations of an output as ragdb.check_citations, whose rows it returns after the id '
  'of the answer, and records the answer and what each citation came to, without any text; task, '
  'model and client (up to 200 characters each) are names, attempt (1 to 1000) counts the tries. '
  'Raises what ragdb.check_citations raises, RG404, RG413, and 25006 where nothing can be written.';
