create or replace function ragdb_internal.support_form(text text) returns text
language sql immutable parallel safe
return pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
  ragdb_internal.fold(normalize(pg_catalog.replace(support_form.text, U&'\00AD', ''), nfkc)), '[.,;:!?]+',
    ' ', 'g'),
  U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", ' ',
    'g'));
comment on function ragdb_internal.support_form(text) is
  'Returns a text as lexical support compares it: NFKC, case folded, punctuation and white space '
  'one space.';

create or replace function ragdb_internal.diagnostic(code text, message text,
  span_index integer default null, chunk_id text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'code', code, 'message', message, 'spanIndex', span_index, 'chunkId', chunk_id));
comment on function ragdb_internal.diagnostic(text, text, integer, text) is
  'Returns a diagnostic of an answer.';

create or replace function ragdb_internal.is_answer_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(contract) is not distinct from 'object'
    and coalesce(pg_catalog.jsonb_typeof(contract -> 'evidencePolicy'), 'null') in ('object',
      'null')
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
      where pg_catalog.jsonb_typeof(f.value) <> 'null' and case pg_catalog.jsonb_typeof(f.value)
          when 'number' then (f.value #>> '{}')::numeric not between 0 and f.high
            or not f.is_fraction and pg_catalog.mod((f.value #>> '{}')::numeric, 1) <> 0
          else true end)
  else false end;
comment on function ragdb_internal.is_answer_contract(jsonb) is
  'Whether an object has what ragdb.evaluate_answer() takes, each of its type and in its range.';

-- A contract's answer node as ragdb.evaluate_answer takes it. Strict, which is the default, asks
-- for lexical support and full coverage; lenient for neither unless it is declared.
create or replace function ragdb_internal.answer_contract(declared ragdb.contract_nodes, answer text)
  returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'query', (declared).keys -> 'query', 'answer', coalesce(answer, (declared).keys ->> 'answer'),
    'requireCitations', coalesce((declared).keys ->> 'requireCitations', r.citations)::boolean,
    'minGroundingCoverage',
      coalesce(((declared).keys ->> 'minGroundingCoverage')::float8,
        case r.policy when 'lenient' then 0 else 1 end),
    'lexicalSupport', coalesce(((declared).keys ->> 'lexicalSupport')::boolean,
      r.policy is distinct from 'lenient'),
    'minCitedChunks', ((declared).keys ->> 'minCitedChunks')::integer,
    'evidencePolicy', pg_catalog.jsonb_build_object('minRetrievedChunks',
      ((declared).keys ->> 'minRetrievedChunks')::integer, 'minTopScore',
      ((declared).keys ->> 'minTopScore')::float8),
    'allowAbstain', ((declared).keys ->> 'allowAbstain')::boolean, 'abstainAnswer',
      (declared).keys -> 'abstainAnswer',
    'abstained', (declared).keys ? 'abstainAnswer'
      and coalesce(answer, (declared).keys ->> 'answer') = (declared).keys ->> 'abstainAnswer',
    'groundingSpans', coalesce((
      select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('start',
        (s.keys ->> 'start')::integer, 'end', (s.keys ->> 'end')::integer,
        'chunkIds', pg_catalog.to_jsonb(ragdb_internal.list(s.keys ->> 'chunks')), 'required',
          coalesce((s.keys ->> 'required')::boolean, false)) order by s.node_no)
      from ragdb.contract_nodes s where s.contract = (declared).contract
        and s.version = (declared).version and s.parent_no = (declared).node_no
        and s.node = 'answerSpan'), '[]')))
  from (select pg_catalog.max(g.keys ->> 'policy') as policy,
      case when pg_catalog.bool_or(coalesce(g.keys ->> 'requireCitations',
        g.keys ->> 'citations') = 'true') then 'true' end as citations
    from ragdb.contract_nodes g where g.contract = (declared).contract
      and g.version = (declared).version
      and g.node in ('rag', 'grounding') and g.rag = (declared).rag) r);
comment on function ragdb_internal.answer_contract(ragdb.contract_nodes, text) is
  'Returns a ragAnswerContract of a contract, for its own answer or another, as '
  'ragdb.evaluate_answer takes it.';

-- What a rag may use of what was retrieved: whole chunks in rank order while they fit its
-- maxContext (code points), the next one cut, none after it.
create or replace function ragdb_internal.rag_context(query text, hits ragdb_internal.eval_hit[],
  max_context integer) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('query', query, 'chunks', coalesce((
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', h.chunk_id, 'source', h.source,
    'score', h.score,
    'citation', coalesce(h.citation, '{}'), 'text',
      pg_catalog.left(h.text, coalesce(max_context, 2147483647) - h.before::integer))
      order by h.rank)
  from (select u.*, coalesce(pg_catalog.sum(pg_catalog.length(u.text)) over
    (order by u.rank rows between unbounded preceding and 1 preceding), 0) as before
    from pg_catalog.unnest(hits) u) h
  where h.before < coalesce(max_context, 2147483647)), '[]'));
comment on function ragdb_internal.rag_context(text, ragdb_internal.eval_hit[], integer) is
  'Returns retrieved chunks as JSON, cut to a rag''s maxContext in code points.';
