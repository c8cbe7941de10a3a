-- What an answer has to keep: the form of an answer contract, and a ragAnswerContract of a contract
-- in this form.

-- Whether a value has what ragdb.evaluate_answer() takes, each of its type and in its range.
create or replace function ragdb_internal.is_answer_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return case
  when pg_catalog.jsonb_typeof(contract) is not distinct from 'object'
    and coalesce(pg_catalog.jsonb_typeof(contract -> 'evidencePolicy'), 'null')
      in ('object', 'null')
  then coalesce(contract ->> 'unit', 'codepoint') in ('codepoint', 'utf16', 'byte')
    and not exists (
      select from pg_catalog.jsonb_each(contract) f (key, value)
      where f.key in ('requireCitations', 'lexicalSupport', 'abstained', 'allowAbstain')
        and pg_catalog.jsonb_typeof(f.value) not in ('boolean', 'null'))
    and not exists (
      select from (values
        (contract -> 'minGroundingCoverage', true, 1),
        (contract -> 'minCitedChunks', false, 1000000),
        (contract #> '{evidencePolicy,minRetrievedChunks}', false, 1000000),
        (contract #> '{evidencePolicy,minTopScore}', true, 1000000)) f (value, is_fraction, high)
      where pg_catalog.jsonb_typeof(f.value) <> 'null'
        and case pg_catalog.jsonb_typeof(f.value)
          when 'number' then (f.value #>> '{}')::numeric not between 0 and f.high
            or not f.is_fraction and pg_catalog.mod((f.value #>> '{}')::numeric, 1) <> 0
          else true end)
  else false end;

-- An answer (null unless it is a text) and what its contract asks of it, defaults filled in.
create type ragdb_internal.answer_terms as (
  answer text, min_coverage float8, needs_citations boolean, needs_support boolean,
  min_cited numeric, min_retrieved numeric, min_top_score float8, abstains boolean,
  may_abstain boolean, abstain_answer text);

-- Returns the terms of an answer contract.
create or replace function ragdb_internal.answer_terms(contract jsonb)
  returns ragdb_internal.answer_terms
language sql immutable parallel safe
return row(
  case pg_catalog.jsonb_typeof(contract -> 'answer') when 'string' then contract ->> 'answer' end,
  coalesce(ragdb_internal.double((contract ->> 'minGroundingCoverage')::numeric), 1),
  coalesce((contract ->> 'requireCitations')::boolean, false),
  coalesce((contract ->> 'lexicalSupport')::boolean, true),
  coalesce((contract ->> 'minCitedChunks')::numeric, 0),
  coalesce((contract #>> '{evidencePolicy,minRetrievedChunks}')::numeric, 0),
  coalesce(ragdb_internal.double((contract #>> '{evidencePolicy,minTopScore}')::numeric), 0),
  coalesce((contract ->> 'abstained')::boolean, false),
  coalesce((contract ->> 'allowAbstain')::boolean, false),
  contract ->> 'abstainAnswer')::ragdb_internal.answer_terms;

-- Returns the answerSpan nodes of a ragAnswerContract as ragdb.evaluate_answer takes them.
create or replace function ragdb_internal.declared_spans(declared ragdb.contract_nodes)
  returns jsonb
language sql stable parallel safe
return coalesce((
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
    'start', (s.keys ->> 'start')::integer, 'end', (s.keys ->> 'end')::integer,
    'chunkIds', pg_catalog.to_jsonb(ragdb_internal.list(s.keys ->> 'chunks')),
    'required', coalesce((s.keys ->> 'required')::boolean, false)) order by s.node_no)
  from ragdb.contract_nodes s
  where s.contract = (declared).contract and s.version = (declared).version
    and s.parent_no = (declared).node_no and s.node = 'answerSpan'), '[]');

-- Returns a ragAnswerContract of a contract as ragdb.evaluate_answer takes it. The grounding of the
-- rag says what is asked where the node itself does not.
create or replace function ragdb_internal.answer_contract(declared ragdb.contract_nodes)
returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'query', d.keys ->> 'query', 'answer', d.keys ->> 'answer',
    'requireCitations', coalesce(d.keys ->> 'requireCitations', r.citations)::boolean,
    'minGroundingCoverage',
      coalesce((d.keys ->> 'minGroundingCoverage')::float8, p.min_coverage),
    'lexicalSupport', coalesce((d.keys ->> 'lexicalSupport')::boolean, p.lexical_support),
    'minCitedChunks', (d.keys ->> 'minCitedChunks')::integer,
    'evidencePolicy', pg_catalog.jsonb_build_object(
      'minRetrievedChunks', (d.keys ->> 'minRetrievedChunks')::integer,
      'minTopScore', (d.keys ->> 'minTopScore')::float8),
    'allowAbstain', (d.keys ->> 'allowAbstain')::boolean,
    'abstainAnswer', d.keys ->> 'abstainAnswer',
    'abstained', d.keys ? 'abstainAnswer' and d.keys ->> 'answer' = d.keys ->> 'abstainAnswer',
    'groundingSpans', ragdb_internal.declared_spans(declared)))
  from (select (declared).keys) d
    cross join (
      select pg_catalog.max(g.keys ->> 'policy') as policy,
        case when pg_catalog.bool_or(
            coalesce(g.keys ->> 'requireCitations', g.keys ->> 'citations') = 'true')
          then 'true' end as citations
      from ragdb.contract_nodes g
      where g.contract = (declared).contract and g.version = (declared).version
        and g.node in ('rag', 'grounding') and g.rag = (declared).rag) r
    join ragdb_internal.grounding_policies() p on p.policy = coalesce(r.policy, 'strict'));
