-- A question answered from a corpus without a model: plan, retrieve, pack, weigh, answer, verify,
-- record. A program that has a model takes the same steps and puts the model in its place.

create type ragdb.asked_retriever as (
  corpus text, retriever text, rag text, k integer, mode text, reranker text, max_context integer);
comment on type ragdb.asked_retriever is
  'What looks up the queries of a question: a corpus, or a retriever of a contract with its mode '
  'and reranker; k chunks, of which the grounding of the rag takes max_context characters (null: '
  'all).';

create type ragdb_internal.lookup as (
  source ragdb.asked_retriever, rerank text, record boolean,
  context ragdb_internal.call_context);
comment on type ragdb_internal.lookup is
  'How the queries of a question are looked up, and whether on record.';

create or replace function ragdb_internal.check_asked_corpus(corpus text, declared text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus <> declared then
    raise exception 'the retriever searches corpus % and not %', ragdb_internal.quote(declared),
        ragdb_internal.quote(corpus)
      using errcode = 'RG400', detail = 'a retriever of a contract names its corpus',
        hint = 'leave corpus out, or leave the retriever out';
  end if;
end $$;
comment on function ragdb_internal.check_asked_corpus(text, text) is
  'Refuses another corpus than the one that a retriever searches. Raises RG400.';

create or replace function ragdb_internal.check_rank_mode(rank_mode text, retriever text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rank_mode is not null and retriever is not null then
    raise exception 'both a retriever and rank_mode are given'
      using errcode = 'RG400', detail = 'a retriever of a contract declares how it ranks',
        hint = 'leave rank_mode out';
  end if;
end $$;
comment on function ragdb_internal.check_rank_mode(text, text) is
  'Refuses a mode of ranking beside a retriever, which has one. Raises RG400.';

-- A rag names its retriever and, in its grounding, how much evidence is taken. Definer: contracts
-- are granted to nobody.
create or replace function ragdb.ask_retriever(
  corpus text default null, retriever text default null, rag text default null,
  k integer default null, rank_mode text default null)
returns ragdb.asked_retriever
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked ragdb.asked_retriever := row(
    corpus, null, null, coalesce(k, 8), rank_mode, null, null);
  v_named ragdb_internal.named_retriever;
begin
  if coalesce(retriever, rag) is null then
    return v_asked;
  end if;
  v_named := ragdb_internal.named_retriever(retriever, rag);
  perform ragdb_internal.check_rank_mode(rank_mode, (v_named.retriever).name);
  perform ragdb_internal.check_asked_corpus(corpus, (v_named.settings).corpus);
  v_asked := row((v_named.settings).corpus, (v_named.retriever).name, v_named.rag,
    coalesce(k, (v_named.settings).k), (v_named.settings).mode, (v_named.settings).reranker, null);
  if rag is not null then
    select (g.keys ->> 'maxContext')::integer into v_asked.max_context
      from ragdb_internal.contract_node('rag', rag) r
        join ragdb.contract_nodes g on g.contract = r.contract and g.version = r.version
          and g.node = 'grounding' and g.rag = r.name;
  end if;
  return v_asked;
end $$;
comment on function ragdb.ask_retriever(text, text, text, integer, text) is
  'Returns what ragdb.ask looks up queries by: a corpus, or the retriever or rag of a contract '
  'that searches it, for k chunks (1 to 1000; 8 of a corpus, or as many as the retriever '
  'declares) by rank_mode, which a retriever declares. Raises RG400, RG404, RG417, RG441.';

create or replace function ragdb_internal.asked_hits(lookup ragdb_internal.lookup, query text)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source constant ragdb.asked_retriever := lookup.source;
  v_retriever constant text := case when v_source.rag is null then v_source.retriever end;
begin
  if v_source.retriever is null then
    if lookup.record then
      return query select h.* from ragdb_internal.retrieve_traced(
        v_source.corpus, query, v_source.k, v_source.mode, asker => lookup.context) h;
    end if;
    return query select null::uuid, h.*
      from ragdb.search(v_source.corpus, query, v_source.k, v_source.mode) h;
  elsif lookup.record then
    return query select h.* from ragdb.retrieve_with(
      v_retriever, query, v_source.k, rag => v_source.rag,
      client => (lookup.context).client, otel_trace_id => (lookup.context).otel_trace_id,
      otel_span_id => (lookup.context).otel_span_id, rerank => lookup.rerank) h;
  else
    return query select null::uuid, h.* from ragdb.search_with(
      v_retriever, query, v_source.k, rag => v_source.rag, rerank => lookup.rerank) h;
  end if;
end $$;
comment on function ragdb_internal.asked_hits(ragdb_internal.lookup, text) is
  'Returns what is found for a query, on record or not. Raises what ragdb.retrieve and '
  'ragdb.retrieve_with raise.';

create or replace function ragdb_internal.asked_result(lookup ragdb_internal.lookup, query text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunks constant jsonb := (
    select coalesce(jsonb_agg(jsonb_build_object('source_id', h.source, 'chunk_id', h.chunk_id,
        'text', h.text, 'score', h.score, 'corpus', h.corpus, 'title', h.title,
        'heading', h.heading, 'page', h.page, 'start_offset', h.start_offset,
        'end_offset', h.end_offset, 'content_hash', h.content_hash)
        || case when lookup.record then jsonb_build_object('trace_id', h.trace_id)
          else jsonb_build_object('mode', h.mode) end
        order by h.rank), '[]')
    from ragdb_internal.asked_hits(lookup, query) h);
begin
  return jsonb_build_object('chunks', v_chunks,
    'trace_id', case when lookup.record then ragdb.last_trace_id() end);
end $$;
comment on function ragdb_internal.asked_result(ragdb_internal.lookup, text) is
  'Returns what is found for a query as ragdb.ask_weigh takes it.';

create or replace function ragdb_internal.answered_run(
  run jsonb, lookup ragdb_internal.lookup, evidence jsonb, sentences integer)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found jsonb := '[]';
  v_query text;
  v_began timestamptz;
  v_output jsonb;
begin
  for v_query in
    select q.query
    from jsonb_array_elements_text(run -> 'queries') with ordinality q (query, n) order by q.n
  loop
    v_found := v_found || ragdb_internal.asked_result(lookup, v_query);
  end loop;
  run := ragdb.ask_weigh(run, v_found, evidence);
  if run ? 'status' then
    return run;
  end if;
  v_began := clock_timestamp();
  v_output := ragdb.answer_from_evidence(
    run ->> 'question', coalesce(run -> 'pack', '{"chunks": []}'), sentences);
  return ragdb.ask_verify(run, v_output,
    elapsed_ms => (1000 * extract(epoch from clock_timestamp() - v_began))::float8);
end $$;
comment on function ragdb_internal.answered_run(
  jsonb, ragdb_internal.lookup, jsonb, integer) is
  'Returns a planned run with what was found for it and an answer in the words of that.';

create type ragdb.asked_answer as (
  answer text, sources text[], status text, reason text, citations jsonb, problems text[],
  trace_id uuid, answer_id uuid, evidence_hash text, gate jsonb, trace_summary jsonb);
comment on type ragdb.asked_answer is
  'The answer to a question: its text and sources, what came of it (answered, insufficient, '
  'unverified, failed) and why, its citations, and what is on record of it.';

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
comment on function ragdb_internal.asked_sources(jsonb) is
  'Returns the sources that the output of a run cites, with their pages, in the order of the '
  'citations.';

create or replace function ragdb_internal.asked_answer(run jsonb) returns ragdb.asked_answer
language sql immutable parallel safe
return row(
  coalesce(run #>> '{output,answer}', ''), ragdb_internal.asked_sources(run), run ->> 'status',
  run ->> 'reason', coalesce(run #> '{output,citations}', '[]'),
  array(select p.problem from pg_catalog.jsonb_array_elements_text(run -> 'problems')
    with ordinality p (problem, n) order by p.n),
  (run #>> '{summary,trace_ids,0}')::uuid, (run #>> '{summary,answer_id}')::uuid,
  run #>> '{pack,hash}', run -> 'gate', run -> 'summary')::ragdb.asked_answer;
comment on function ragdb_internal.asked_answer(jsonb) is
  'Returns the row that a run comes to.';

-- Definer: it writes tables that are granted to nobody. A failure of the mode required is a row and
-- not an error: an error would take the traces and the verdict of the gate with it.
create or replace function ragdb.ask(
  corpus text, question text, mode text default 'on', k integer default null,
  rank_mode text default null, max_context integer default null, gate boolean default true,
  min_chunks integer default 1, min_score float8 default null, min_coverage float8 default 0.5,
  require_citations boolean default true, sentences integer default 2,
  evidence jsonb default null, plan jsonb default null, retriever text default null,
  rag text default null, rerank text default null, record boolean default true,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns ragdb.asked_answer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_source constant ragdb.asked_retriever := ragdb.ask_retriever(
    corpus, retriever, rag, k, rank_mode);
  v_lookup constant ragdb_internal.lookup := row(v_source, rerank, record,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id));
  v_evidence constant jsonb := coalesce(evidence -> 'chunks', evidence, '[]');
  v_run jsonb := ragdb.ask_plan(question, jsonb_build_object(
    'mode', coalesce(mode, 'on'), 'k', v_source.k, 'require_citations', require_citations,
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
comment on function ragdb.ask(
  text, text, text, integer, text, integer, boolean, integer, float8, float8, boolean, integer,
  jsonb, jsonb, text, text, text, boolean, text, text, text) is
  'Answers a question (at most 10000 characters) from a corpus in its own words, with citations '
  'that were checked, and records retrievals, gate and answer unless record is false. mode is off '
  '(only evidence, chunks that the caller gives), auto (retrieves where the plan needs it), on or '
  'required (status failed and the reason where it cannot be met). k (1 to 1000, default 8) and '
  'rank_mode are those of ragdb.search, max_context counts tokens (four characters each), gate, '
  'min_chunks, min_score and min_coverage are those of ragdb.rag_enough_context_gate, sentences '
  '(1 to 20) is the most of an answer; plan replaces that of ragdb.rag_query_plan; retriever or '
  'rag name one of a contract. Raises what ragdb.retrieve, ragdb.retrieve_with and '
  'ragdb.record_answer raise.';
