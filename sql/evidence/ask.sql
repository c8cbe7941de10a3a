-- A question answered from a corpus without a model: plan, retrieve, pack, weigh, answer, verify,
-- record. A program that has a model takes the same steps and puts the model in its place.

-- Returns a planned run with what was found for it and an answer in the words of that.
create or replace function ragdb_internal.answered_run(
  run jsonb, lookup ragdb_internal.lookup, evidence jsonb, sentences integer)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lookup ragdb_internal.lookup := lookup;
  v_found jsonb := '[]';
  v_query text;
  v_began timestamptz;
  v_output jsonb;
begin
  v_lookup.source.k := (run ->> 'depth')::integer;
  for v_query in
    select q.query
    from jsonb_array_elements_text(run -> 'queries') with ordinality q (query, n) order by q.n
  loop
    v_found := v_found || ragdb_internal.asked_result(v_lookup, v_query);
  end loop;
  run := ragdb.ask_weigh(run, v_found, evidence);
  if run ? 'status' then
    return run;
  end if;
  v_began := clock_timestamp();
  v_output := ragdb.answer_from_evidence(
    run ->> 'question', coalesce(run -> 'pack', '{"chunks": []}'), sentences,
    gate => run -> 'gate');
  return ragdb.ask_verify(run, v_output,
    elapsed_ms => ragdb_internal.ms_since(v_began)::float8);
end $$;

create type ragdb.asked_answer as (
  answer text, sources text[], status text, reason text, citations jsonb, problems text[],
  trace_id uuid, answer_id uuid, evidence_hash text, gate jsonb, trace_summary jsonb);
comment on type ragdb.asked_answer is
  'The answer to a question: its text and sources, what came of it (answered, insufficient, '
  'unverified, failed) and why, its citations, and what is on record of it.';

-- Returns the sources that the output of a run cites, with their pages, in the order of the
-- citations.
create or replace function ragdb_internal.asked_sources(run jsonb) returns text[]
language sql immutable parallel safe
return array(
  select '[' || pg_catalog.row_number() over (order by s.first) || '] ' || s.source
  from (
    select k.chunk ->> 'source_id' || coalesce(', page ' || (k.chunk ->> 'page'), '') as source,
      pg_catalog.min(c.n) as first
    from pg_catalog.jsonb_array_elements(
        case pg_catalog.jsonb_typeof(run #> '{output,citations}') when 'array'
          then run #> '{output,citations}' else '[]' end) with ordinality c (citation, n)
      join pg_catalog.jsonb_array_elements(run #> '{pack,chunks}') k (chunk)
        on k.chunk ->> 'chunk_id' = c.citation ->> 'chunk_id'
    group by k.chunk ->> 'chunk_id', 1) s
  order by s.first);

-- Returns the row that a run comes to.
create or replace function ragdb_internal.asked_answer(run jsonb) returns ragdb.asked_answer
language sql immutable parallel safe
return row(
  coalesce(run #>> '{output,answer}', ''), ragdb_internal.asked_sources(run), run ->> 'status',
  run ->> 'reason', coalesce(run #> '{output,citations}', '[]'),
  array(select p.problem from pg_catalog.jsonb_array_elements_text(run -> 'problems')
    with ordinality p (problem, n) order by p.n),
  (run #>> '{summary,trace_ids,0}')::uuid, (run #>> '{summary,answer_id}')::uuid,
  run #>> '{pack,hash}', run -> 'gate', run -> 'summary')::ragdb.asked_answer;

-- Definer: it writes tables that are granted to nobody. A failure of the mode required is a row and
-- not an error: an error would take the traces and the verdict of the gate with it.
create or replace function ragdb.ask(
  corpus text, question text, mode text default 'on', k integer default null,
  rank_mode text default null, max_context integer default null, gate boolean default true,
  min_chunks integer default 1, min_score float8 default null, min_coverage float8 default 0.5,
  require_citations boolean default true, sentences integer default 2,
  evidence jsonb default null, plan jsonb default null, retriever text default null,
  rag text default null, rerank text default null, filter jsonb default null,
  record boolean default true, client text default null, otel_trace_id text default null,
  otel_span_id text default null)
returns ragdb.asked_answer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_evidence constant jsonb := coalesce(evidence -> 'chunks', evidence, '[]');
  -- who brings evidence need not have a corpus
  v_source constant ragdb.asked_retriever := case
    when coalesce(corpus, retriever, rag) is not null
      or mode is distinct from 'off' and v_evidence = '[]'
    then ragdb.ask_retriever(corpus, retriever, rag, k, rank_mode) end;
  v_lookup constant ragdb_internal.lookup := row(v_source, rerank, filter, record,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id));
  v_run jsonb := ragdb.ask_plan(question, jsonb_build_object(
    'mode', coalesce(mode, 'on'), 'k', coalesce(v_source.k, k),
    'require_citations', require_citations,
    'max_context', coalesce(max_context, v_source.max_context),
    'unit', case when max_context is null and v_source.max_context is not null then 'char' end,
    'gate', case when gate then jsonb_build_object('min_chunks', min_chunks,
      'min_score', min_score, 'min_coverage', min_coverage) end,
    'has_retriever', v_source.corpus is not null, 'corpus', v_source.corpus, 'task', rag,
    'client', client), v_evidence <> '[]', plan);
begin
  if v_run ->> 'status' is distinct from 'failed' then
    v_run := ragdb_internal.answered_run(v_run, v_lookup, v_evidence, sentences);
  end if;
  return ragdb_internal.asked_answer(v_run);
end $$;
comment on function ragdb.ask is
  'Answers a question (at most 10000 characters) from a corpus (null: the only one that the caller '
  'may read, or none where evidence is given) in its own words, with citations that were checked, '
  'and records retrievals, gate and answer unless record is false. mode is off (only evidence, '
  'chunks that the caller gives), auto (retrieves where the plan needs it), on or '
  'required (status failed and the reason where it cannot be met). k (1 to 1000, default 8), '
  'rank_mode and filter are those of ragdb.search, max_context counts tokens (four characters '
  'each), gate, min_chunks, min_score and min_coverage are those of '
  'ragdb.rag_enough_context_gate, sentences (1 to 20) is the most of an answer; plan replaces that '
  'of ragdb.rag_query_plan; retriever or rag name one of a contract. Raises what ragdb.retrieve, '
  'ragdb.retrieve_with and ragdb.record_answer raise.';
