-- Contracts: what each node and key may be, validation, storage by version, retrieval through a
-- retriever.

-- ── the language ─────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._contract_parents()
  returns table (node text, parents text[], rule text)
language sql immutable parallel safe
begin atomic
  -- '' is the top
  select * from (values
    ('corpus', array[''], 'contract-node-misplaced'),
    ('source', array['corpus', ''], 'contract-node-misplaced'),
    ('chunking', array['corpus', ''], 'contract-node-misplaced'),
    ('embed', array[''], 'contract-node-misplaced'),
    ('retriever', array[''], 'contract-node-misplaced'),
    ('rag', array[''], 'contract-node-misplaced'),
    ('grounding', array['rag', ''], 'contract-node-misplaced'),
    ('ragEval', array['rag', ''], 'contract-node-misplaced'),
    ('ragCase', array['ragEval'], 'rag-case-missing-eval'),
    ('ragAssert', array['ragCase'], 'rag-assert-missing-case'),
    ('ragAnswerContract', array['rag', ''], 'contract-node-misplaced'),
    ('answerSpan', array['ragAnswerContract'], 'rag-answer-span-missing-contract'),
    ('tool', array[''], 'contract-node-misplaced'),
    ('prompt', array[''], 'contract-node-misplaced'),
    ('param', array['tool', 'prompt'], 'contract-node-misplaced'),
    ('retrieve', array['tool', 'prompt'], 'mcp-retrieve-missing-container')
  ) as p (node, parents, rule);
end;
comment on function ragdb._contract_parents() is
  'Lists the nodes of the contract language with the nodes they may be children of (empty: none) '
  'and the rule that another place breaks.';

-- One row a key. `missing` is the rule that its absence, or a blank text, breaks; null where it may
-- be left out.
create or replace function ragdb._contract_keys()
returns table (node text, key text, type text, low float8, high float8, choices text[], rule text,
  missing text)
language sql immutable parallel safe
begin atomic
  select k.node, k.key, k.type, k.low, k.high, pg_catalog.string_to_array(k.choices, ' '), k.rule,
    k.missing
  from (values
    ('corpus', 'name', 'text', null::float8, null::float8, null, null, 'contract-name-required'),
    ('corpus', 'title', 'text', null, null, null, null, null),
    ('corpus', 'tenant', 'text', null, null, null, null, null),
    ('corpus', 'refresh', 'interval', null, null, null, 'rag-corpus-refresh-invalid', null),
    ('source', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('source', 'corpus', 'text', null, null, null, null, null),
    ('source', 'kind', 'choice', null, null, 'local s3 http mcp', 'rag-source-kind-invalid', null),
    ('source', 'uri', 'text', null, null, null, null, null),
    ('source', 'media', 'text', null, null, null, null, null),
    ('source', 'resource', 'text', null, null, null, null, null),
    ('source', 'acl', 'list', null, null, null, 'contract-list-empty', null),
    ('chunking', 'name', 'text', null, null, null, null, null),
    ('chunking', 'corpus', 'text', null, null, null, null, null),
    ('chunking', 'source', 'text', null, null, null, null, null),
    ('chunking', 'strategy', 'choice', null, null, 'paragraph window semantic page',
      'rag-chunking-strategy-invalid', null),
    ('chunking', 'maxTokens', 'integer', 1, 100000, null, 'rag-chunking-max-tokens-invalid', null),
    ('chunking', 'overlap', 'integer', 0, 100000, null, 'rag-chunking-overlap-invalid', null),
    ('chunking', 'unit', 'choice', null, null, 'token tokens word words char chars',
      'rag-chunking-unit-invalid', null),
    ('embed', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('embed', 'corpus', 'text', null, null, null, null, 'rag-embed-unknown-corpus'),
    ('embed', 'model', 'text', null, null, null, null, 'rag-embed-model-required'),
    ('embed', 'dims', 'integer', 1, 4000, null, 'rag-embed-dims-invalid', 'rag-embed-dims-invalid'),
    ('embed', 'metric', 'choice', null, null, 'cosine ip l2', 'rag-embed-metric-invalid', null),
    ('retriever', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('retriever', 'corpus', 'text', null, null, null, null, 'rag-retriever-unknown-corpus'),
    ('retriever', 'embed', 'text', null, null, null, null, null),
    ('retriever', 'mode', 'choice', null, null, 'lexical semantic hybrid reference',
      'rag-retriever-mode-invalid', null),
    ('retriever', 'topK', 'integer', 1, 1000, null, 'rag-retriever-topk-invalid', null),
    ('retriever', 'minScore', 'number', 0, 1, null, 'rag-retriever-minscore-invalid', null),
    ('retriever', 'rerank', 'text', null, null, null, null, null),
    ('rag', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('rag', 'retriever', 'text', null, null, null, null, 'rag-unknown-retriever'),
    ('rag', 'prompt', 'text', null, null, null, null, null),
    ('rag', 'answer', 'text', null, null, null, null, null),
    ('rag', 'citations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('grounding', 'name', 'text', null, null, null, null, null),
    ('grounding', 'rag', 'text', null, null, null, null, null),
    ('grounding', 'requireCitations', 'boolean', null, null, null, 'contract-boolean-invalid',
      null),
    ('grounding', 'policy', 'choice', null, null, 'strict lenient', 'rag-grounding-policy-invalid',
      null),
    ('grounding', 'maxContext', 'integer', 1, 10000000, null, 'rag-grounding-max-context-invalid',
      null),
    ('ragEval', 'name', 'text', null, null, null, null, 'rag-eval-name-required'),
    ('ragEval', 'rag', 'text', null, null, null, null, null),
    ('ragEval', 'metric', 'metric', null, null, null, 'rag-eval-metric-invalid', null),
    ('ragEval', 'threshold', 'number', 0, 1, null, 'rag-eval-threshold-invalid', null),
    ('ragEval', 'mode', 'choice', null, null, 'contract', 'rag-eval-mode-invalid', null),
    ('ragCase', 'name', 'text', null, null, null, null, 'rag-case-name-required'),
    ('ragCase', 'query', 'text', null, null, null, null, 'rag-case-query-required'),
    ('ragCase', 'tags', 'list', null, null, null, 'contract-list-empty', null),
    ('ragCase', 'topK', 'integer', 1, 1000, null, 'rag-case-topk-invalid', null),
    ('ragCase', 'minScore', 'number', 0, 1, null, 'rag-case-minscore-invalid', null),
    ('ragCase', 'chunkCount', 'integer', 0, 1000, null, 'rag-case-chunk-count-invalid', null),
    ('ragCase', 'sources', 'list', null, null, null, 'contract-list-empty', null),
    ('ragCase', 'anchor', 'text', null, null, null, null, null),
    ('ragCase', 'policy', 'text', null, null, null, null, null),
    ('ragAssert', 'kind', 'text', null, null, null, null, 'rag-assert-kind-invalid'),
    ('ragAssert', 'value', 'text', null, null, null, null, null),
    ('ragAssert', 'threshold', 'number', 0, 1, null, 'rag-assert-threshold-invalid', null),
    ('ragAssert', 'count', 'integer', 0, 1000000, null, 'rag-assert-count-invalid', null),
    ('ragAssert', 'valueMs', 'integer', 0, 86400000, null, 'rag-assert-value-ms-invalid', null),
    ('ragAssert', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAssert', 'negate', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAssert', 'quantifier', 'choice', null, null, 'any all', 'rag-assert-quantifier-invalid',
      null),
    ('ragAnswerContract', 'name', 'text', null, null, null, null,
      'rag-answer-contract-name-required'),
    ('ragAnswerContract', 'rag', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'query', 'text', null, null, null, null,
      'rag-answer-contract-query-required'),
    ('ragAnswerContract', 'answer', 'text', null, null, null, null,
      'rag-answer-contract-answer-required'),
    ('ragAnswerContract', 'prompt', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'requireCitations', 'boolean', null, null, null,
      'contract-boolean-invalid', null),
    ('ragAnswerContract', 'minGroundingCoverage', 'number', 0, 1, null,
      'rag-answer-contract-min-grounding-coverage-invalid', null),
    ('ragAnswerContract', 'minCitedChunks', 'integer', 0, 1000, null,
      'rag-answer-contract-min-cited-chunks-invalid', null),
    ('ragAnswerContract', 'minRetrievedChunks', 'integer', 0, 1000, null,
      'rag-answer-contract-evidence-policy-invalid', null),
    ('ragAnswerContract', 'minTopScore', 'number', 0, 1, null,
      'rag-answer-contract-evidence-policy-invalid', null),
    ('ragAnswerContract', 'allowAbstain', 'boolean', null, null, null, 'contract-boolean-invalid',
      null),
    ('ragAnswerContract', 'abstainAnswer', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'lexicalSupport', 'boolean', null, null, null, 'contract-boolean-invalid',
      null),
    ('answerSpan', 'start', 'integer', 0, 100000000, null, 'rag-answer-span-range-invalid',
      'rag-answer-span-range-invalid'),
    ('answerSpan', 'end', 'integer', 1, 100000000, null, 'rag-answer-span-range-invalid',
      'rag-answer-span-range-invalid'),
    ('answerSpan', 'chunks', 'list', null, null, null, 'rag-answer-span-chunks-required',
      'rag-answer-span-chunks-required'),
    ('answerSpan', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('tool', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('tool', 'title', 'text', null, null, null, null, null),
    ('tool', 'description', 'text', null, null, null, null, null),
    ('prompt', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('prompt', 'title', 'text', null, null, null, null, null),
    ('prompt', 'description', 'text', null, null, null, null, null),
    ('param', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('param', 'type', 'choice', null, null, 'string', 'mcp-param-type-invalid', null),
    ('param', 'description', 'text', null, null, null, null, null),
    ('param', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'name', 'text', null, null, null, null, null),
    ('retrieve', 'rag', 'text', null, null, null, null, null),
    ('retrieve', 'retriever', 'text', null, null, null, null, null),
    ('retrieve', 'queryParam', 'text', null, null, null, null, null),
    ('retrieve', 'query', 'text', null, null, null, null, null),
    ('retrieve', 'as', 'text', null, null, null, null, null),
    ('retrieve', 'topK', 'integer', 1, 1000, null, 'mcp-retrieve-topk-invalid', null),
    ('retrieve', 'minScore', 'number', 0, 1, null, 'mcp-retrieve-minscore-invalid', null),
    ('retrieve', 'requireGrounding', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'output', 'text', null, null, null, null, null),
    ('retrieve', 'requireCitations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'provenance', 'text', null, null, null, null, null),
    ('retrieve', 'citationField', 'text', null, null, null, null, null),
    ('retrieve', 'sourceField', 'text', null, null, null, null, null),
    ('retrieve', 'scoreField', 'text', null, null, null, null, null)
  ) as k (node, key, type, low, high, choices, rule, missing);
end;
comment on function ragdb._contract_keys() is
  'Lists the keys of the contract language with type, range or choices, and the rules that a wrong '
  'or missing value breaks.';

create or replace function ragdb.assertion_kinds()
returns table (kind text, is_frozen boolean, property text, meaning text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('factId', true, 'value', 'the case is rag:eval:case'),
    ('chunkHash', true, 'value', 'some chunk has this content_hash or kern_chunk_hash'),
    ('scoreGte', true, 'threshold',
      'there is a chunk, and one scores at least so much (quantifier=all: every one)'),
    ('scoreLte', true, 'threshold',
      'there is a chunk, and one scores at most so much (quantifier=all: every one)'),
    ('contains', true, 'value', 'some chunk''s text has this text, in any case'),
    ('sourceEq', true, 'value', 'some chunk has this source'),
    ('sourceGlob', true, 'value',
      'some chunk''s source matches: * any run of characters, ? any one, in any case'),
    ('uniqueSourcesGte', true, 'count', 'chunks have at least so many sources'),
    ('chunkCountEq', true, 'count', 'there are exactly so many chunks'),
    ('latencyLte', true, 'valueMs', 'the retrieval took at most so many milliseconds'),
    ('citesRequired', true, null,
      'there is a chunk, and every one has a uri or locator that is not blank'),
    ('recallAtK', false, 'threshold',
      'of the labelled items at least this share is among the first count'),
    ('precisionAtK', false, 'threshold',
      'of the first count places at least this share has a labelled item'),
    ('ndcgAtK', false, 'threshold', 'nDCG of the first count places is at least so much'),
    ('reciprocalRank', false, 'threshold',
      '1 / rank of the first labelled item is at least so much'),
    ('averagePrecision', false, 'threshold', 'average precision is at least so much'),
    ('hitAtK', false, 'count', 'a labelled item is among the first count'),
    ('rankLte', false, 'value count',
      'a chunk with this id or source (glob) is among the first count'),
    ('topSourceEq', false, 'value', 'the first chunk has this source'),
    ('notRetrieved', false, 'value', 'no chunk has this id or source (glob)'),
    ('orderedBefore', false, 'value',
      'of two ids or sources, separated by a comma, the first one ranks before the second'),
    ('containsAny', false, 'value', 'some chunk has one of these texts, separated by commas'),
    ('containsAll', false, 'value', 'each of these texts, separated by commas, is in some chunk'),
    ('chunkCountGte', false, 'count', 'there are at least so many chunks'),
    ('chunkCountLte', false, 'count', 'there are at most so many chunks'),
    ('maxChunksPerSourceLte', false, 'count', 'no source has more chunks than this'),
    ('contextTokensLte', false, 'count', 'the chunks have at most so many tokens'),
    ('topScoreGte', false, 'threshold', 'the first chunk scores at least so much'),
    ('scoreMarginGte', false, 'threshold',
      'the first chunk scores at least so much more than the second'),
    ('withinSlice', false, 'value', 'there is a chunk, and every one is in this stored slice'),
    ('admissible', false, null, 'the trace is admissible'),
    ('tokenValid', false, null, 'the trace''s admissibility token verifies'),
    ('policyEq', false, 'value', 'the trace''s slice was built by this policy'),
    ('noShortfall', false, null, 'the trace has no admissibility shortfall'),
    ('embeddingModelEq', false, 'value', 'the query was embedded by this model'),
    ('resultHashEq', false, 'value', 'the trace has this result_hash'),
    ('replayMatches', false, null, 'a replay of the trace gives the same result'),
    ('groundingCoverageGte', false, 'threshold',
      'the answer contract of the same query is grounded to this share'),
    ('citationsResolve', false, null, 'every span of that answer cites chunks that were retrieved'),
    ('numbersGrounded', false, null,
      'every number in a span of that answer is in a chunk it cites'),
    ('abstains', false, null, 'that answer contract abstains')
  ) as k (kind, is_frozen, property, meaning);
end;
comment on function ragdb.assertion_kinds() is
  'Lists the kinds of ragAssert: the closed group of eleven (is_frozen) and the second one, the '
  'properties each takes and when it passes.';

-- `metric=`: as written in a contract, as stored, and the default depth of those at k
create or replace function ragdb._eval_metric(metric text) returns text
language sql immutable parallel safe
return (
  select case
    when m.name in ('hit_rate', 'citation_coverage', 'min_relevance', 'grounding', 'faithfulness',
      'mrr', 'map')
      and m.k is null then m.name
    when m.name in ('recall', 'precision', 'ndcg', 'judged')
      and coalesce(m.k, '10') ~ '^([1-9][0-9]{0,2}|1000)$' then m.name || '@' || coalesce(m.k, '10')
  end
  from (select pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.replace(
      pg_catalog.split_part(_eval_metric.metric, '@', 1), 'DCG', 'dcg'), '([a-z])([A-Z])', '\1_\2',
        'g') collate "C") as name,
    nullif(pg_catalog.split_part(_eval_metric.metric, '@', 2), '') as k) m);
comment on function ragdb._eval_metric(text) is
  'Returns the stored name of a metric, in camel or snake case, with @k (10 unless given); null '
  'for an unknown one.';

-- ── reading a contract ───────────────────────────────────────────────────────────────────────────

-- Levenshtein over lower case; only for what is not known, and for short words.
create or replace function ragdb._edit_distance(a text, b text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row integer[] := array(select generate_series(0, length(b)));
  v_diagonal integer;
  v_above integer;
begin
  for i in 1 .. length(a) loop
    v_diagonal := v_row[1];
    v_row[1] := i;
    for j in 1 .. length(b) loop
      v_above := v_row[j + 1];
      v_row[j + 1] := least(v_above + 1, v_row[j] + 1,
        v_diagonal + (lower(substr(a, i, 1)) <> lower(substr(b, j, 1)))::integer);
      v_diagonal := v_above;
    end loop;
  end loop;
  return v_row[length(b) + 1];
end $$;
comment on function ragdb._edit_distance(text, text) is
  'Returns the Levenshtein distance of two words, case left aside.';

create or replace function ragdb._nearest_name(word text, names text[]) returns text
language sql immutable parallel safe
return (
  select pg_catalog.left(n.name, 64) from pg_catalog.unnest(_nearest_name.names) n (name)
  where n.name is not null and _nearest_name.word is not null
  order by ragdb._edit_distance(pg_catalog.left(_nearest_name.word, 40),
    pg_catalog.left(n.name, 64)), n.name collate "C" limit 1);
comment on function ragdb._nearest_name(text, text[]) is
  'Returns the name nearest to a word; null when there is none, or no word.';

create or replace function ragdb._contract_slug(name text) returns text
language sql immutable parallel safe
return pg_catalog.left(pg_catalog.regexp_replace(pg_catalog.lower(_contract_slug.name collate "C"),
  '[^a-z0-9-]+', '-', 'g'), 64);
comment on function ragdb._contract_slug(text) is
  'Returns the stored name of a contract''s corpus: lower case, every other run of characters a '
  'hyphen.';

create or replace function ragdb._list(value text) returns text[]
language sql immutable parallel safe
return array(select pg_catalog.btrim(i.item, E' \t')
  from pg_catalog.unnest(pg_catalog.string_to_array(_list.value, ',')) with ordinality i (item, n)
  where i.item ~ '\S' order by i.n);
comment on function ragdb._list(text) is
  'Returns the items of a list separated by commas, trimmed, without empty ones.';

create or replace function ragdb._number(value text, low float8, high float8) returns float8
language sql immutable parallel safe
return case when _number.value
  ~ '^[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?$'
    and _number.value::float8 between coalesce(_number.low, '-infinity')
      and coalesce(_number.high, 'infinity')
  then _number.value::float8 end;
comment on function ragdb._number(text, float8, float8) is
  'Returns a decimal number in a range; null for any other text.';

create or replace function ragdb._whole(value text, low float8, high float8) returns bigint
language sql immutable parallel safe
return case when _whole.value ~ '^[+-]?[0-9]{1,15}$'
    and _whole.value::bigint between coalesce(_whole.low, '-infinity')
      and coalesce(_whole.high, 'infinity')
  then _whole.value::bigint end;
comment on function ragdb._whole(text, float8, float8) is
  'Returns a whole number in a range; null for any other text.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.contract_item') is null then
    create type ragdb.contract_item as (
      node_no integer, parent_no integer, node text, name text, corpus text, rag text, keys jsonb,
        columns jsonb,
      prompt_sha256 text, line integer, "column" integer, parent_node text, parent_name text,
        grandparent_node text, depth integer, is_sound boolean);
  end if;
end $$;
comment on type ragdb.contract_item is
  'A node of a contract being read: what it is, what it is in, and whether it has the form of a '
  'node.';

-- A position is a message's only, so a wrong one is none
create or replace function ragdb._contract_items(contract jsonb) returns setof ragdb.contract_item
language sql immutable parallel safe
begin atomic
  with recursive walk as (
    select array[n.ord] as path, n.v, 1 as depth
    from pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(contract -> 'nodes')
      when 'array' then contract -> 'nodes' else '[]' end) with ordinality n (v, ord)
    union all
    select w.path || c.ord, c.v, w.depth + 1
    from walk w cross join lateral
      pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(w.v -> 'children')
      when 'array' then w.v -> 'children' else '[]' end) with ordinality c (v, ord)
    where w.depth < 17
  ), numbered as materialized (
    select w.path, w.depth, pg_catalog.row_number() over (order by w.path)::integer as node_no,
      w.v ->> 'node' as node,
      case pg_catalog.jsonb_typeof(w.v -> 'keys') when 'object' then w.v -> 'keys'
        else '{}' end as keys,
      case pg_catalog.jsonb_typeof(w.v -> 'columns') when 'object' then w.v -> 'columns'
        else '{}' end as columns,
      w.v ->> 'prompt_sha256' as prompt_sha256,
      ragdb._whole(w.v ->> 'line', 1, 10000000)::integer as line,
        ragdb._whole(w.v ->> 'column', 1, 10000000)::integer as "column",
      pg_catalog.jsonb_typeof(w.v) = 'object'
        and pg_catalog.jsonb_typeof(w.v -> 'node') is not distinct from 'string'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'keys'), 'object') = 'object'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'children'), 'array') in ('array', 'null')
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'columns'), 'object') = 'object'
        and coalesce(w.v ->> 'prompt_sha256', 'a') ~ '^(a|[0-9a-f]{64})$'
        and not pg_catalog.jsonb_path_exists(w.v,
          'strict $.keys.* ? (@.type() == "object" || @.type() == "array" || @.type() == "null")',
          '{}', true)
        as is_sound
    from walk w
  ), placed as materialized (
    select n.*, p.node_no as parent_no, p.node as parent_node, p.keys ->> 'name' as parent_name
    from numbered n left join numbered p on p.path = n.path[:pg_catalog.cardinality(n.path) - 1]
  )
  select n.node_no, n.parent_no, n.node, n.keys ->> 'name',
    case
      when n.node = 'corpus' then n.keys ->> 'name'
      when n.node in ('source', 'chunking')
        then coalesce(n.keys ->> 'corpus', case n.parent_node when 'corpus' then n.parent_name end)
      when n.node in ('embed', 'retriever') then n.keys ->> 'corpus'
    end,
    case
      when n.node = 'rag' then n.keys ->> 'name'
      when n.node in ('grounding', 'ragEval', 'ragAnswerContract')
        then coalesce(n.keys ->> 'rag', case n.parent_node when 'rag' then n.parent_name end)
      when n.node in ('ragCase', 'answerSpan')
        then coalesce(p.keys ->> 'rag', case p.parent_node when 'rag' then p.parent_name end)
      when n.node = 'ragAssert'
        then coalesce(g.keys ->> 'rag', case g.parent_node when 'rag' then g.parent_name end)
      when n.node = 'retrieve' then n.keys ->> 'rag'
    end,
    n.keys, n.columns, n.prompt_sha256, n.line, n."column", n.parent_node, n.parent_name,
      p.parent_node, n.depth, n.is_sound
  from placed n
    left join placed p on p.node_no = n.parent_no
    left join placed g on g.node_no = p.parent_no;
end;
comment on function ragdb._contract_items(jsonb) is
  'Returns the nodes of a contract in their order, with the corpus and the rag that each belongs '
  'to.';

-- ── validation ───────────────────────────────────────────────────────────────────────────────────

-- Every rule is a branch; what another rule reports already is left out.
create or replace function ragdb._contract_problems(items ragdb.contract_item[])
returns table (rule text, severity text, node_no integer, key text, message text, hint text)
language sql immutable parallel safe
begin atomic
  with n as materialized (
    select i.*, i.node || case when i.name ~ '\S' then ' ' || ragdb._quote(i.name)
      else '' end as title
    from pg_catalog.unnest(_contract_problems.items) i
  ), corpora as materialized (select distinct n.name from n where n.node = 'corpus'
    and n.name is not null),
  sources as materialized (select distinct n.corpus, n.name from n where n.node = 'source'
    and n.name is not null),
  embeds as materialized (select n.name, pg_catalog.min(n.corpus) as corpus from n
    where n.node = 'embed' group by n.name),
  retrievers as materialized (select distinct n.name from n where n.node = 'retriever'),
  rags as materialized (select distinct n.name from n where n.node = 'rag'),
  grounded as materialized (
    select distinct n.rag from n where n.node = 'grounding'
      and n.keys ->> 'requireCitations' = 'true'
  ), cited as materialized (
    select g.rag from grounded g
    union select n.name from n where n.node = 'rag' and n.keys ->> 'citations' = 'true'
  ), known as materialized (select * from ragdb._contract_parents()),
  kinds as materialized (select * from ragdb.assertion_kinds()),
  keys as materialized (
    select n.node_no, n.node, n.title, e.key, n.keys ->> e.key as value,
      k.key is not null as is_known,
      k.type, k.low, k.high, k.choices, k.rule
    from n cross join lateral pg_catalog.jsonb_object_keys(n.keys) e (key)
      left join ragdb._contract_keys() k on k.node = n.node and k.key = e.key
    where exists (select from known where known.node = n.node)
  ), spans as materialized (
    select n.node_no, n.parent_no, ragdb._whole(n.keys ->> 'start', 0, 1e8) as start,
      ragdb._whole(n.keys ->> 'end', 0, 1e8) as stop, p.keys ->> 'answer' as answer
    from n join n p on p.node_no = n.parent_no and p.node = 'ragAnswerContract'
      where n.node = 'answerSpan'
  ), problems as (
    -- form
    select 'contract-malformed' as rule, 'error' as severity, n.node_no, null as key,
      'a node is not {"node", "keys", "children"}' as message,
      'keys is an object of texts, numbers and booleans' as hint
    from n where not n.is_sound
    union all select 'contract-too-deep', 'error', n.node_no, null,
      'a node is more than 16 levels deep', 'the language has five'
    from n where n.depth > 16
    union all select 'contract-unknown-node', 'error', n.node_no, null,
      'unknown node ' || ragdb._quote(n.node),
      'did you mean ' || ragdb._nearest_name(n.node, array(select k.node from known k)) || '?'
    from n where n.is_sound and not exists (select from known k where k.node = n.node)
    union all select k.rule, 'error', n.node_no, null,
      n.title || case n.parent_node is null when true then ' stands at the top'
        else ' stands in ' || ragdb._quote(n.parent_node) end,
      'it belongs ' || (select pg_catalog.string_agg(case p when '' then 'at the top'
        else 'in ' || p end, ' or ') from pg_catalog.unnest(k.parents) p)
    from n join known k on k.node = n.node where coalesce(n.parent_node, '') <> all (k.parents)
    union all select 'rag-assert-missing-eval', 'error', n.node_no, null,
      n.title || ' belongs to no ragEval', 'indent its ragCase below one'
    from n where n.node = 'ragAssert' and n.parent_node = 'ragCase'
      and coalesce(n.grandparent_node, '') <> 'ragEval'
    union all select 'contract-unknown-key', 'error', k.node_no, k.key,
      k.title || ' has no key ' || ragdb._quote(k.key),
      'did you mean ' || ragdb._nearest_name(k.key,
        array(select c.key from ragdb._contract_keys() c where c.node = k.node)) || '?'
    from keys k where not k.is_known
    -- values
    union all select k.rule, 'error', k.node_no, k.key,
      k.key || ' of ' || k.title || ' is ' || ragdb._quote(k.value) || ', not ' || case k.type
        when 'integer' then 'a whole number from ' || k.low || ' to ' || k.high
        when 'number' then 'a number from ' || k.low || ' to ' || k.high
        when 'boolean' then 'true or false'
        when 'list' then 'a list with an item'
        when 'metric' then 'a metric'
        when 'interval' then 'a length of time'
        else pg_catalog.array_to_string(k.choices, ', ') end,
      case k.type when 'choice' then 'did you mean ' || ragdb._nearest_name(k.value, k.choices)
        || '?'
        when 'metric' then 'faithfulness, grounding, hitRate, citationCoverage, minRelevance, '
                           'recall@k, precision@k, ndcg@k, judged@k, mrr or map'
        when 'interval' then 'such as 24h, 7d, "30 minutes"'
        when 'list' then 'separate items by commas' end
    from keys k
    where k.is_known and not (k.type <> 'text' and k.value = '' and k.type = 'list'
      and k.key = 'chunks') and not case k.type
      when 'integer' then ragdb._whole(k.value, k.low, k.high) is not null
      when 'number' then ragdb._number(k.value, k.low, k.high) is not null
      when 'boolean' then k.value in ('true', 'false')
      when 'choice' then k.value = any (k.choices)
      when 'list' then ragdb._list(k.value) <> '{}'
      when 'metric' then ragdb._eval_metric(k.value) is not null
      when 'interval' then k.value
        ~ '^\s*[0-9]{1,6}\s*(s|m|h|d|w|second|minute|hour|day|week)s?\s*$'
      else true end
    union all select c.missing, 'error', n.node_no, c.key, n.title || ' has no ' || c.key,
      'give ' || c.key || '='
    from n join ragdb._contract_keys() c on c.node = n.node and c.missing is not null
    where n.is_sound and (n.keys ->> c.key) ~ '\S' is not true
      and not (c.type in ('integer', 'number', 'choice') and n.keys ? c.key)
    -- names
    union all select 'contract-name-too-long', 'error', n.node_no, 'name',
      'the name of a ' || n.node || ' has ' || pg_catalog.length(n.name) || ' characters',
      'a name has at most 200'
    from n where pg_catalog.length(n.name) > 200
    union all select 'rag-duplicate-' || n.node || '-name', 'error', n.node_no, 'name',
      n.title || ' is declared twice',
      'the first is ' || coalesce('in line ' || n.first_line, 'node ' || n.first_no)
    from (select n.*, pg_catalog.first_value(n.line) over same as first_line,
      pg_catalog.first_value(n.node_no) over same as first_no,
        pg_catalog.row_number() over same as nth
      from n where n.node in ('corpus', 'embed', 'retriever', 'rag') and n.name is not null
      window same as (partition by n.node,
        case n.node when 'corpus' then ragdb._contract_slug(n.name)
        else n.name end order by n.node_no)) n
    where n.nth > 1
    union all select case n.node when 'source' then 'rag-duplicate-source-name'
      when 'ragEval' then 'rag-duplicate-eval-name'
        when 'ragCase' then 'rag-duplicate-case-name'
          when 'ragAnswerContract' then 'rag-duplicate-answer-contract-name'
        when 'param' then 'mcp-duplicate-param-name' else 'mcp-duplicate-tool-name' end,
      'error', n.node_no, 'name', n.title || ' is declared twice',
        'names are unique per ' || case n.node when 'source' then 'corpus'
        when 'ragEval' then 'rag' when 'ragCase' then 'ragEval' when 'ragAnswerContract' then 'rag'
          when 'param' then 'tool' else 'contract' end
    from (select n.*, pg_catalog.row_number() over
      (partition by case when n.node in ('tool', 'prompt') then 'tool' else n.node end,
        case n.node when 'source' then n.corpus
          when 'ragEval' then n.rag when 'ragCase' then n.parent_no::text
            when 'ragAnswerContract' then n.rag
          when 'param' then n.parent_no::text end, n.name order by n.node_no) as nth
      from n where n.node in ('source', 'ragEval', 'ragCase', 'ragAnswerContract', 'tool', 'prompt',
        'param') and n.name is not null) n
    where n.nth > 1
    -- corpora, sources, chunking
    union all select 'rag-corpus-name-invalid', 'error', n.node_no, 'name',
      n.title || ' has no letter or digit of ASCII', 'the corpus is stored under a-z, 0-9 and -'
    from n where n.node = 'corpus' and n.name ~ '\S' and ragdb._contract_slug(n.name) !~ '[a-z0-9]'
    union all select 'rag-' || n.node || '-missing-corpus', 'error', n.node_no, null,
      n.title || ' is of no corpus', 'indent it below a corpus, or give corpus='
    from n where n.node in ('source', 'chunking') and n.corpus is null
    union all select case n.node when 'source' then 'rag-source-missing-corpus'
      else 'rag-' || n.node || '-unknown-corpus' end, 'error', n.node_no, 'corpus',
      'corpus ' || ragdb._quote(n.corpus) || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.corpus, array(select c.name from corpora c))
        || '?', 'declare it: corpus name=…')
    from n where n.node in ('source', 'chunking', 'embed', 'retriever') and n.corpus ~ '\S'
      and not exists (select from corpora c where c.name = n.corpus)
    union all select 'rag-source-uri-empty', 'error', n.node_no, 'uri', n.title || ' has no uri',
      'give uri= with a path, a glob or an address'
    from n where n.node = 'source' and coalesce(n.keys ->> 'kind', 'local') <> 'mcp'
      and (n.keys ->> 'uri') ~ '\S' is not true
    union all select 'rag-source-uri-invalid', 'error', n.node_no, 'uri',
      'uri of ' || n.title || ' is not of kind ' || (n.keys ->> 'kind'),
      case n.keys ->> 'kind' when 's3' then 'such as s3://bucket/docs/*.md'
        when 'http' then 'such as https://host/page.html'
        else 'a path below the contract''s folder, such as ./docs/**/*.md' end
    from n where n.node = 'source' and (n.keys ->> 'uri') ~ '\S'
      and not case coalesce(n.keys ->> 'kind', 'local')
      when 's3' then n.keys ->> 'uri' ~ '^s3://[^/]+/'
        when 'http' then n.keys ->> 'uri' ~ '^https?://[^/]'
      when 'local' then n.keys ->> 'uri' !~ '^([/~]|[a-z0-9]+://)'
        and n.keys ->> 'uri' !~ '(^|/)\.\.(/|$)' else true end
    union all select 'rag-source-glob-invalid', 'error', n.node_no, 'uri',
      'the glob of ' || n.title || ' is too long', 'a glob has at most 1024 characters and 16 stars'
    from n where n.node = 'source' and ragdb._is_long_glob(n.keys ->> 'uri')
    union all select 'rag-source-mcp-resource-required', 'error', n.node_no, 'resource',
      n.title || ' is of kind mcp and has no resource',
      'give resource= with the address of the resource'
    from n where n.node = 'source' and n.keys ->> 'kind' = 'mcp'
      and (n.keys ->> 'resource') ~ '\S' is not true
    union all select 'rag-source-resource-requires-mcp-kind', 'error', n.node_no, 'resource',
      n.title || ' has a resource and is not of kind mcp', 'give kind=mcp, or no resource'
    from n where n.node = 'source' and n.keys ? 'resource'
      and coalesce(n.keys ->> 'kind', 'local') <> 'mcp'
    union all select 'rag-source-acl-conflict', 'error', n.node_no, 'acl',
      n.title || ' has another acl than the corpus''s first source',
      'a right is to a whole corpus: give every source of it the same acl, or put the source into '
      'a corpus of its own'
    from (select n.*, pg_catalog.first_value(ragdb._list(n.keys ->> 'acl')) over
      (partition by n.corpus order by n.node_no) as first_acl from n where n.node = 'source') n
    where ragdb._list(n.keys ->> 'acl') is distinct from n.first_acl
    union all select 'rag-chunking-unknown-source', 'error', n.node_no, 'source',
      'source ' || ragdb._quote(n.keys ->> 'source') || ' of a chunking is not in corpus '
      || ragdb._quote(n.corpus),
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'source',
        array(select s.name from sources s where s.corpus = n.corpus)) || '?',
        'declare it in that corpus')
    from n where n.node = 'chunking' and n.keys ? 'source' and n.corpus is not null
      and not exists (select from sources s where s.corpus = n.corpus
        and s.name = n.keys ->> 'source')
    union all select 'rag-chunking-duplicate', 'error', n.node_no, 'source',
      'a source has two chunkings', 'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.corpus, n.keys ->> 'source'
      order by n.node_no) as nth from n where n.node = 'chunking') n where n.nth > 1
    union all select 'rag-chunking-overlap-invalid', 'error', n.node_no, 'overlap',
      'overlap is ' || (n.keys ->> 'overlap') || ', not less than maxTokens',
      'it must be below ' || coalesce(n.keys ->> 'maxTokens', '240')
    from n where n.node = 'chunking'
      and ragdb._whole(n.keys ->> 'overlap', 0,
        100000) >= coalesce(ragdb._whole(n.keys ->> 'maxTokens', 1, 100000), 240)
    union all select 'rag-chunking-overlap-invalid', 'error', n.node_no, 'maxTokens',
      'maxTokens is ' || (n.keys ->> 'maxTokens') || ', not more than the default overlap of 48',
      'give overlap='
    from n where n.node = 'chunking' and not n.keys ? 'overlap'
      and ragdb._whole(n.keys ->> 'maxTokens', 1, 100000) <= 48
    -- embed, retriever
    union all select 'rag-embed-duplicate-corpus', 'error', n.node_no, 'corpus',
      'corpus ' || ragdb._quote(n.corpus) || ' is embedded by two models',
      'a corpus has one; put the other into a corpus of its own'
    from (select n.*, pg_catalog.row_number() over (partition by n.corpus order by n.node_no) as nth
      from n where n.node = 'embed' and n.corpus is not null) n where n.nth > 1
    union all select 'rag-retriever-unknown-embed', 'error', n.node_no, 'embed',
      'embed ' || ragdb._quote(n.keys ->> 'embed') || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'embed',
        array(select e.name from embeds e)) || '?', 'declare it: embed name=…')
    from n where n.node = 'retriever' and n.keys ? 'embed'
      and not exists (select from embeds e where e.name = n.keys ->> 'embed')
    union all select 'rag-retriever-embed-corpus-mismatch', 'error', n.node_no, 'embed',
      n.title || ' is of corpus ' || ragdb._quote(n.corpus) || ' and its embed of '
      || ragdb._quote(e.corpus), 'both must be of one corpus'
    from n join embeds e on e.name = n.keys ->> 'embed' where n.node = 'retriever'
      and e.corpus <> n.corpus
    union all select 'rag-retriever-embed-required', 'error', n.node_no, 'mode',
      n.title || ' is ' || (n.keys ->> 'mode') || ' and has no embed',
      'give embed=, or mode=lexical'
    from n where n.node = 'retriever' and n.keys ->> 'mode' in ('semantic', 'hybrid')
      and not n.keys ? 'embed'
    -- rag, grounding
    union all select 'rag-unknown-retriever', 'error', n.node_no, 'retriever',
      'retriever ' || ragdb._quote(n.keys ->> 'retriever') || ' of ' || n.title
      || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'retriever',
        array(select r.name from retrievers r where r.name is not null)) || '?',
        'declare it: retriever name=…')
    from n where n.node = 'rag' and (n.keys ->> 'retriever') ~ '\S'
      and not exists (select from retrievers r where r.name = n.keys ->> 'retriever')
    union all select 'rag-citations-require-grounding', 'error', n.node_no, 'citations',
      n.title || ' has citations=true and no grounding with requireCitations=true',
      'add: grounding requireCitations=true'
    from n where n.node = 'rag' and n.keys ->> 'citations' = 'true'
      and not exists (select from grounded g where g.rag = n.name)
    union all select case n.node when 'grounding' then 'rag-grounding'
      when 'ragEval' then 'rag-eval' else 'rag-answer-contract' end || '-missing-rag',
      'error', n.node_no, null, n.title || ' is of no rag', 'indent it below a rag, or give rag='
    from n where n.node in ('grounding', 'ragEval', 'ragAnswerContract') and n.rag is null
    union all select case n.node when 'grounding' then 'rag-grounding'
      when 'ragEval' then 'rag-eval' else 'rag-answer-contract' end || '-unknown-rag',
      'error', n.node_no, 'rag', 'rag ' || ragdb._quote(n.rag) || ' of ' || n.title
        || ' is not declared',
      coalesce('did you mean '
        || ragdb._nearest_name(n.rag, array(select r.name from rags r where r.name is not null))
        || '?', 'declare it: rag name=…')
    from n where n.node in ('grounding', 'ragEval', 'ragAnswerContract') and n.rag is not null
      and not exists (select from rags r where r.name = n.rag)
    union all select 'rag-grounding-duplicate', 'error', n.node_no, null,
      'rag ' || ragdb._quote(n.rag) || ' has two groundings', 'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.rag order by n.node_no) as nth
      from n where n.node = 'grounding' and n.rag is not null) n where n.nth > 1
    -- eval, cases, assertions
    union all select 'rag-eval-mode-required', 'error', n.node_no, 'mode',
      n.title || ' has cases and no mode', 'give mode=contract'
    from n where n.node = 'ragEval' and not n.keys ? 'mode'
      and exists (select from n c where c.parent_no = n.node_no and c.node = 'ragCase')
    union all select 'rag-eval-threshold-without-metric', 'error', n.node_no, 'threshold',
      n.title || ' has a threshold and no metric', 'give metric='
    from n where n.node = 'ragEval' and n.keys ? 'threshold' and not n.keys ? 'metric'
    union all select 'rag-eval-threshold-vacuous', 'warning', n.node_no, 'threshold',
      'threshold 0 of ' || n.title || ' cannot be missed, so the gate fails',
      'give a threshold above 0'
    from n where n.node = 'ragEval' and ragdb._number(n.keys ->> 'threshold', 0, 1) = 0
    union all select 'rag-case-sources-require-citations', 'error', n.node_no, 'sources',
      n.title || ' lists sources and its rag requires no citations',
      'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragCase' and n.keys ? 'sources' and n.rag is not null
      and not exists (select from cited c where c.rag = n.rag)
    union all select 'rag-case-policy-requires-anchor', 'error', n.node_no, 'policy',
      n.title || ' has a policy and no anchor', 'a slice is built around a chunk: give anchor='
    from n where n.node = 'ragCase' and n.keys ? 'policy' and not n.keys ? 'anchor'
    union all select 'rag-assert-kind-invalid', 'error', n.node_no, 'kind',
      'unknown kind of assertion ' || ragdb._quote(n.keys ->> 'kind'),
      'did you mean ' || ragdb._nearest_name(n.keys ->> 'kind', array(select k.kind from kinds k))
        || '?'
    from n where n.node = 'ragAssert' and (n.keys ->> 'kind') ~ '\S'
      and not exists (select from kinds k where k.kind = n.keys ->> 'kind')
    union all select 'rag-assert-citations-require-grounding', 'error', n.node_no, 'kind',
      'citesRequired, and its rag requires no citations',
      'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'citesRequired' and n.rag is not null
      and not exists (select from cited c where c.rag = n.rag)
    union all select case p.property when 'value' then 'rag-assert-value-required'
      when 'threshold' then 'rag-assert-threshold-required'
        when 'count' then 'rag-assert-count-invalid' else 'rag-assert-value-ms-invalid' end,
      'error', n.node_no, p.property, (n.keys ->> 'kind') || ' needs ' || p.property, k.meaning
    from n join kinds k on k.kind = n.keys ->> 'kind'
      cross join lateral pg_catalog.string_to_table(k.property, ' ') p (property)
    where n.node = 'ragAssert' and (n.keys ->> p.property) ~ '\S' is not true
    union all select 'rag-assert-count-invalid', 'error', n.node_no, 'count',
      (n.keys ->> 'kind') || ' among the first 0 cannot pass', 'count from 1'
    from n where n.node = 'ragAssert'
      and n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'hitAtK', 'rankLte')
      and ragdb._whole(n.keys ->> 'count', 0, 1e6) = 0
    union all select 'rag-assert-property-unused', 'error', n.node_no, u.key,
      (n.keys ->> 'kind') || ' does not take ' || u.key,
      coalesce('it takes ' || k.property, 'it takes none')
    from n join kinds k on k.kind = n.keys ->> 'kind'
      cross join lateral (values ('value'), ('threshold'), ('count'), ('valueMs'),
        ('quantifier')) u (key)
    where n.node = 'ragAssert' and n.keys ? u.key
      and u.key <> all (pg_catalog.string_to_array(coalesce(k.property, ''), ' '))
      and not (u.key = 'count' and n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK'))
      and not (u.key = 'quantifier' and n.keys ->> 'kind' in ('scoreGte', 'scoreLte'))
    union all select 'rag-assert-negate-invalid', 'error', n.node_no, 'negate',
      (n.keys ->> 'kind') || ' cannot be negated',
      'the eleven kinds are as they are; the others take negate'
    from n join kinds k on k.kind = n.keys ->> 'kind' where n.node = 'ragAssert'
      and n.keys ? 'negate' and k.is_frozen
    union all select 'rag-assert-chunk-hash-invalid', 'error', n.node_no, 'value',
      'chunkHash is not 32 to 128 hex digits', 'kern_chunk_hash has 32, content_hash 64'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'chunkHash'
      and n.keys ->> 'value' ~ '\S' and n.keys ->> 'value' !~ '^[0-9a-fA-F]{32,128}$'
    union all select 'rag-assert-glob-invalid', 'error', n.node_no, 'value', 'the glob is too long',
      'a glob has at most 1024 characters and 16 stars'
    from n where n.node = 'ragAssert'
      and n.keys ->> 'kind' in ('sourceGlob', 'rankLte', 'notRetrieved', 'orderedBefore')
      and ragdb._is_long_glob(n.keys ->> 'value')
    union all select 'rag-assert-value-invalid', 'error', n.node_no, 'value',
      'orderedBefore takes two ids or sources', 'separate them by a comma'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'orderedBefore'
      and pg_catalog.cardinality(ragdb._list(n.keys ->> 'value')) <> 2
    union all select 'rag-assert-vacuous', 'warning', n.node_no, null,
      (n.keys ->> 'kind') || ' cannot fail with this value', 'raise it'
    from n where n.node = 'ragAssert'
      and ((n.keys ->> 'kind' in ('uniqueSourcesGte', 'chunkCountGte')
        and ragdb._whole(n.keys ->> 'count', 0, 1e6) = 0)
      or (n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank',
        'averagePrecision', 'groundingCoverageGte')
        and ragdb._number(n.keys ->> 'threshold', 0, 1) = 0))
    -- answers
    union all select 'rag-answer-contract-citations-require-grounding', 'error', n.node_no,
      'requireCitations', n.title || ' requires citations and its rag does not',
      'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragAnswerContract' and n.keys ->> 'requireCitations' = 'true'
      and n.rag is not null and not exists (select from cited c where c.rag = n.rag)
    union all select 'rag-answer-span-range-invalid', 'error', s.node_no, 'end',
      'span ' || s.start || '..' || s.stop || ' is not in an answer of '
      || pg_catalog.length(s.answer) || ' characters', '0 <= start < end <= length of the answer'
    from spans s where s.start is not null and s.stop is not null
      and (s.start >= s.stop or s.stop > pg_catalog.length(s.answer))
    union all select 'rag-answer-contract-grounding-coverage-insufficient', 'error', n.node_no,
      'minGroundingCoverage',
      pg_catalog.format('spans of %s cover %s of its %s characters, less than %s', n.title,
        c.covered, c.total, n.keys ->> 'minGroundingCoverage'),
        'add spans, or lower minGroundingCoverage'
    from n cross join lateral (
      select pg_catalog.count(*) as total, pg_catalog.count(*) filter (where exists (
          select from spans s where s.parent_no = n.node_no and a.ord - 1 >= s.start
            and a.ord - 1 < s.stop)) as covered
      from pg_catalog.string_to_table(pg_catalog.left(n.keys ->> 'answer', 100000), null)
        with ordinality a (c, ord) where a.c ~ '\S') c
    where n.node = 'ragAnswerContract' and n.keys ->> 'allowAbstain' is distinct from 'true'
      and ragdb._number(n.keys ->> 'minGroundingCoverage', 0, 1) > c.covered::float8
        / nullif(c.total, 0)
    -- tools
    union all select 'mcp-retrieve-duplicate', 'error', n.node_no, null, 'a tool has two retrieves',
      'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.parent_no order by n.node_no)
      as nth from n where n.node = 'retrieve' and n.parent_no is not null) n where n.nth > 1
    union all select 'mcp-retrieve-target-required', 'error', n.node_no, null,
      'a retrieve has neither rag nor retriever', 'give one of them'
    from n where n.node = 'retrieve' and not n.keys ? 'rag' and not n.keys ? 'retriever'
    union all select 'mcp-retrieve-target-exclusive', 'error', n.node_no, 'retriever',
      'a retrieve has both rag and retriever', 'give one of them'
    from n where n.node = 'retrieve' and n.keys ? 'rag' and n.keys ? 'retriever'
    union all select 'mcp-retrieve-unknown-retriever', 'error', n.node_no, 'retriever',
      'retriever ' || ragdb._quote(n.keys ->> 'retriever') || ' of a retrieve is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'retriever',
        array(select r.name from retrievers r where r.name is not null)) || '?',
        'declare it: retriever name=…')
    from n where n.node = 'retrieve' and n.keys ? 'retriever'
      and not exists (select from retrievers r where r.name = n.keys ->> 'retriever')
    union all select 'mcp-retrieve-unknown-rag', 'error', n.node_no, 'rag',
      'rag ' || ragdb._quote(n.rag) || ' of a retrieve is not declared',
      coalesce('did you mean '
        || ragdb._nearest_name(n.rag, array(select r.name from rags r where r.name is not null))
        || '?', 'declare it: rag name=…')
    from n where n.node = 'retrieve' and n.keys ? 'rag'
      and not exists (select from rags r where r.name = n.rag)
    union all select 'mcp-retrieve-query-required', 'error', n.node_no, null,
      'a retrieve has neither queryParam nor query', 'give one of them'
    from n where n.node = 'retrieve' and not n.keys ? 'query' and not n.keys ? 'queryParam'
    union all select 'mcp-retrieve-query-exclusive', 'error', n.node_no, 'query',
      'a retrieve has both queryParam and query', 'give one of them'
    from n where n.node = 'retrieve' and n.keys ? 'query' and n.keys ? 'queryParam'
    union all select 'mcp-retrieve-query-param-unknown', 'error', n.node_no, 'queryParam',
      'the tool has no param ' || ragdb._quote(n.keys ->> 'queryParam'),
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'queryParam',
        array(select p.name from n p where p.node = 'param' and p.parent_no = n.parent_no
          and p.name is not null)) || '?', 'declare it: param name=…')
    from n where n.node = 'retrieve' and n.keys ? 'queryParam'
      and not exists (select from n p where p.node = 'param' and p.parent_no = n.parent_no
        and p.name = n.keys ->> 'queryParam')
    union all select 'mcp-retrieve-citations-require-grounding', 'error', n.node_no,
      'requireCitations', 'a retrieve requires citations and its rag does not',
      'add to the rag: grounding requireCitations=true'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'true'
      and n.rag is not null and exists (select from rags r where r.name = n.rag)
      and not exists (select from cited c where c.rag = n.rag)
    union all select 'mcp-retrieve-output-array-required', 'error', n.node_no, 'output',
      'output RetrievedChunk is not an array', 'write output="RetrievedChunk[]"'
    from n where n.node = 'retrieve' and n.keys ->> 'output' = 'RetrievedChunk'
    union all select 'mcp-retrieve-output-unknown', 'error', n.node_no, 'output',
      'unknown output ' || ragdb._quote(n.keys ->> 'output'), 'write output="RetrievedChunk[]"'
    from n where n.node = 'retrieve'
      and n.keys ->> 'output' not in ('RetrievedChunk[]', 'RetrievedChunk')
    union all select 'mcp-retrieve-output-field-without-output', 'error', n.node_no, f.key,
      f.key || ' without an output', 'give output="RetrievedChunk[]"'
    from n cross join (values ('citationField'), ('sourceField'), ('scoreField'),
      ('provenance')) f (key)
    where n.node = 'retrieve' and n.keys ? f.key and not n.keys ? 'output'
    union all select 'mcp-retrieve-output-required', 'error', n.node_no, 'requireCitations',
      'citations are required of no output', 'give output="RetrievedChunk[]"'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'true'
      and not n.keys ? 'output'
    union all select 'mcp-retrieve-output-citations-cannot-weaken-rag', 'error', n.node_no,
      'requireCitations', 'a retrieve may not do without the citations that its rag requires',
      'leave requireCitations out'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'false'
      and exists (select from cited c where c.rag = n.rag)
    union all select 'mcp-retrieve-output-citation-field-required', 'error', n.node_no,
      'citationField', 'citations are required and no field carries them', 'give citationField='
    from n where n.node = 'retrieve' and n.keys ? 'output' and not n.keys ? 'citationField'
      and (n.keys ->> 'requireCitations' = 'true'
        or exists (select from cited c where c.rag = n.rag))
    union all select 'mcp-retrieve-output-source-required', 'error', n.node_no, 'sourceField',
      'provenance=source and no field carries the source', 'give sourceField='
    from n where n.node = 'retrieve' and n.keys ->> 'provenance' = 'source'
      and not n.keys ? 'sourceField'
    union all select 'mcp-retrieve-output-field-conflict', 'error', n.node_no, f.key,
      f.key || ' of a retrieve is ' || ragdb._quote(f.field) || ', which another field is',
      'id, text and provenance are always there; citation, source and score where no field is '
      'named for them'
    from n cross join lateral
      (values ('citationField', coalesce(n.keys ->> 'citationField', 'citation'), 1),
        ('sourceField', coalesce(n.keys ->> 'sourceField', 'source'), 2),
      ('scoreField', coalesce(n.keys ->> 'scoreField', 'score'), 3),
        ('as', n.keys ->> 'as', 4)) f (key, field, ord)
    where n.node = 'retrieve' and n.keys ? f.key
      and (f.field = 'provenance' or f.field !~ '\S' or f.key <> 'as' and (f.field in ('id', 'text')
      or f.field in (case when f.ord <> 1 then coalesce(n.keys ->> 'citationField', 'citation') end,
        case when f.ord <> 2 then coalesce(n.keys ->> 'sourceField', 'source') end,
        case when f.ord <> 3 then coalesce(n.keys ->> 'scoreField', 'score') end)))
    union all select 'mcp-tool-name-invalid', 'error', n.node_no, 'name',
      n.title || ' has a name that clients refuse', 'a name has 1 to 64 of A-Z, a-z, 0-9, _ and -'
    from n where n.node in ('tool', 'prompt') and n.name ~ '\S'
      and n.name !~ '^[A-Za-z0-9_-]{1,64}$'
    union all select 'mcp-tool-name-reserved', 'error', n.node_no, 'name',
      n.title || ' has the name of a tool of ragdb mcp', 'give it another name'
    from n where n.node in ('tool', 'prompt')
      and n.name in ('search', 'fetch', 'search_slice', 'list_corpora', 'get_trace', 'replay_trace',
        'validate_citations')
    union all select 'mcp-param-unused', 'warning', n.node_no, null, n.title || ' does nothing',
      'only the param that a retrieve names as queryParam is used'
    from n join n c on c.node = 'retrieve' and c.parent_no = n.parent_no where n.node = 'param'
      and n.name ~ '\S' and n.name is distinct from c.keys ->> 'queryParam'
  )
  select p.rule, p.severity, p.node_no, p.key, p.message, p.hint from problems p;
end;
comment on function ragdb._contract_problems(ragdb.contract_item[]) is
  'Returns everything that is wrong with the nodes of a contract, in no order.';

-- Scores of what ranked first in this corpus lately: what a threshold has to be compared with.
create or replace function ragdb._top_scores(corpus_id integer, mode text) returns float8[]
language sql stable parallel safe
return array(
  select h.score from (
    select t.id, t.created_at from ragdb.retrieval_traces t
    where t.corpus_id = _top_scores.corpus_id and t.retrieval_mode = 'global'
      and t.rank_mode = _top_scores.mode and t.error_code is null
    order by t.id desc limit 1000) t
  join ragdb.retrieval_hits h on h.corpus_id = _top_scores.corpus_id and h.trace_id = t.id
    and h.created_at = t.created_at and h.rank = 1);
comment on function ragdb._top_scores(integer, text) is
  'Returns the best score of each of the last 1,000 recorded retrievals of a corpus in a mode.';

create or replace function ragdb._is_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(_is_contract.contract) = 'object'
  and coalesce(pg_catalog.jsonb_typeof(_is_contract.contract -> 'nodes') = 'array', false)
  and coalesce(_is_contract.contract ->> 'contract',
    'contract') ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
comment on function ragdb._is_contract(jsonb) is
  'Whether a value has the form {"contract": name, "nodes": […]}.';

-- Definer: it looks at rerankers, and at corpora and their recorded scores, of those only that the
-- caller may read.
create or replace function ragdb.validate_contract(contract jsonb)
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_items ragdb.contract_item[];
begin
  if contract is null then
    raise exception 'contract is null'
      using errcode = 'RG400', detail = 'there is nothing to validate',
        hint = 'pass {"contract": name, "nodes": […]}';
  end if;
  if not ragdb._is_contract(contract) then
    return query select 'contract-malformed', 'error', null::text, null::integer, null::integer,
      'the contract is not {"contract": name, "nodes": […]}',
        'a name has 1 to 128 of A-Z, a-z, 0-9, . _ -';
    return;
  end if;
  v_items := array(select i from ragdb._contract_items(contract) i);
  if v_items = '{}' then
    return query select 'contract-empty', 'error', null::text, null::integer, null::integer,
      'the contract has no node', 'begin with: corpus name=…';
  end if;
  return query
    select p.rule, p.severity, i.node,
      i.line, coalesce(ragdb._whole(i.columns ->> p.key, 1, 10000000)::integer, i."column"),
        p.message, p.hint
    from ragdb._contract_problems(v_items) p join unnest(v_items) i on i.node_no = p.node_no
    union all
    select 'rag-' || case i.node when 'ragCase' then 'case'
      else 'retriever' end || '-minscore-unreachable', 'warning', i.node, i.line,
      coalesce(ragdb._whole(i.columns ->> 'minScore', 1, 10000000)::integer, i."column"),
      format('minScore %s is above the 95th percentile of the best scores of corpus %s (%s)',
        i.keys ->> 'minScore',
        ragdb._quote(c.name), round(q.p95::numeric, 3)),
      'few queries reach it: the guide says how scores are distributed'
    from unnest(v_items) i
      left join unnest(v_items) e on e.node_no = i.parent_no
      left join unnest(v_items) r on r.node = 'rag' and r.name = i.rag
      join unnest(v_items) t on t.node = 'retriever'
        and t.name = case i.node when 'retriever' then i.name else r.keys ->> 'retriever' end
      join ragdb.corpora c on c.name = ragdb._contract_slug(t.corpus)
        and c.personal_of is not distinct from case when c.name = 'personal'
          then ragdb._caller() end
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      cross join lateral (select percentile_cont(0.95) within group (order by s.score) as p95,
        count(*) as n
        from unnest(ragdb._top_scores(c.corpus_id,
          coalesce(t.keys ->> 'mode', case when t.keys ? 'embed' then 'hybrid' else 'lexical' end)))
          s (score)) q
    where i.node in ('retriever', 'ragCase') and q.n >= 20
      and ragdb._number(i.keys ->> 'minScore', 0, 1) > q.p95
    union all
    select 'rag-retriever-rerank-invalid', 'error', i.node, i.line,
      coalesce(ragdb._whole(i.columns ->> 'rerank', 1, 10000000)::integer, i."column"),
      format('rerank of retriever %s is %s, not none or a reranker that was bound',
        ragdb._quote(i.name), ragdb._quote(i.keys ->> 'rerank')),
      coalesce('did you mean ' || ragdb._nearest_name(i.keys ->> 'rerank',
        array(select r.name from ragdb.rerankers r)) || '?',
        'ragdb reranker bind makes one')
    from unnest(v_items) i
    where i.node = 'retriever' and i.keys ->> 'rerank' <> 'none'
      and not exists (select from ragdb.rerankers r where r.name = i.keys ->> 'rerank')
    order by 4 nulls first, 5, 2, 1, 6;
end $$;
comment on function ragdb.validate_contract(jsonb) is
  'Returns everything that is wrong with a contract, {"contract": name, "nodes": [{"node", "keys", '
  '"children", "line", "column"}]}, in the order of its lines: the rule, error or warning, where, '
  'what and what to do. No row with severity error: it can be applied. Raises RG400.';

-- ── storage ──────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._stored_keys(item ragdb.contract_item) returns jsonb
language sql immutable parallel safe
return case
  when (item).node = 'source' and coalesce((item).keys ->> 'kind', 'local') = 'local'
    then (item).keys
    || pg_catalog.jsonb_build_object('uri',
      pg_catalog.regexp_replace((item).keys ->> 'uri', '^(\./+)+', ''))
  when (item).node = 'ragCase' and (item).keys ? 'sources' then (item).keys
    || pg_catalog.jsonb_build_object('sources',
    pg_catalog.array_to_string(array(select pg_catalog.regexp_replace(s.source, '^(\./+)+', '')
      from pg_catalog.unnest(ragdb._list((item).keys ->> 'sources')) with ordinality s (source, n)
        order by s.n), ','))
  else (item).keys
end;
comment on function ragdb._stored_keys(ragdb.contract_item) is
  'Returns the keys of a node as they are stored: sources relative to the contract, without a '
  'leading ./.';

-- The corpus of a contract as its rows say it: made, titled, and its rights given.
create or replace function ragdb._apply_corpus(
  corpus text, title text, tenant text, readers text[], was_tenant text, was_readers text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_role text;
  v_owner text := coalesce(tenant, case when readers <> '{}' then ragdb._caller() end);
begin
  if exists (select from ragdb.corpora c where c.name = _apply_corpus.corpus
      and c.personal_of is not distinct from case when _apply_corpus.corpus = 'personal'
        then ragdb._caller() end) then
    v_corpus := ragdb._open_corpus(corpus, 'write');
  else
    perform ragdb.create_corpus(corpus, title);
    v_corpus := ragdb._open_corpus(corpus, 'write');
  end if;
  if title is not null then
    update ragdb.corpora c set title = _apply_corpus.title
      where c.corpus_id = v_corpus.corpus_id and c.title is distinct from _apply_corpus.title;
  end if;
  -- rights that the version before gave and this one does not
  foreach v_role in array was_readers || was_tenant loop
    if v_role is not null and v_role <> all (readers) and v_role is distinct from v_owner
      and exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
        and g.role = v_role)
    then
      perform ragdb.revoke_corpus(corpus, v_role);
    end if;
  end loop;
  if v_owner is not null and not exists (select from ragdb.corpus_grants g
      where g.corpus_id = v_corpus.corpus_id and g.role = v_owner and g.privilege = 'admin') then
    perform ragdb.grant_corpus(corpus, v_owner, 'admin');
  end if;
  foreach v_role in array readers loop
    if not exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
      and g.role = v_role) then
      perform ragdb.grant_corpus(corpus, v_role, 'read');
    end if;
  end loop;
end $$;
comment on function ragdb._apply_corpus(text, text, text, text[], text, text[]) is
  'Makes a corpus of a contract, or brings its title and grants in line. Raises RG400, RG401.';

-- A model is known by its own name, or by that of an embedder that promises it.
create or replace function ragdb._apply_embedder(corpus text, model text, dims integer, metric text)
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e
    where e.name = _apply_embedder.model or e.model = _apply_embedder.model
    order by e.name = _apply_embedder.model desc, e.embedder_id limit 1;
  if not found then
    v_embedder := ragdb.create_embedder(model, dims, metric => metric);
  elsif v_embedder.dims <> dims or v_embedder.metric <> metric then
    raise exception 'model % has % dimensions and metric %', ragdb._quote(model), v_embedder.dims,
      v_embedder.metric
      using errcode = 'RG417', detail = format('the contract says %s and %s', dims, metric),
            hint = 'correct the contract, or name another model';
  end if;
  perform ragdb.embed_corpus(corpus, v_embedder.name);
end $$;
comment on function ragdb._apply_embedder(text, text, integer, text) is
  'Has a corpus embedded by the model of a contract, creating its embedder. Raises RG400, RG417.';

create or replace function ragdb.apply_contract(contract jsonb)
returns table (name text, version integer, is_new boolean, corpora text[], nodes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := coalesce(contract ->> 'contract', 'contract');
  v_items ragdb.contract_item[];
  v_old integer;
  v_problem record;
  v_errors integer;
  v_corpus record;
  v_hash bytea;
begin
  select count(*) over () as errors, p.* into v_problem
    from ragdb.validate_contract(contract) p where p.severity = 'error' limit 1;
  if found then
    raise exception 'contract %: %', ragdb._quote(v_name), v_problem.message
      using errcode = 'RG440',
            detail = format('rule %s%s; %s error(s) in all', v_problem.rule,
              coalesce(' in line ' || v_problem.line, ''), v_problem.errors),
            hint = coalesce(v_problem.hint || '; ', '')
              || 'ragdb.validate_contract() lists them all';
  end if;
  v_items := array(select i from ragdb._contract_items(contract) i);
  perform pg_advisory_xact_lock(hashtextextended('ragdb.apply_contract', 0));
  for v_problem in
    select i.node, i.name,
      case when ragdb._may_read_contract(o.contract, o.version) then 'contract '
      || ragdb._quote(o.contract)
        else 'one that is not visible to role ' || ragdb._quote(ragdb._caller()) end as contract
    from unnest(v_items) i
      join ragdb.contract_nodes o on o.name = i.name and o.contract <> v_name
        and (o.node = i.node or o.node in ('tool', 'prompt') and i.node in ('tool', 'prompt'))
      join ragdb.contracts k on k.contract = o.contract and k.version = o.version and k.is_current
    where i.node in ('retriever', 'rag', 'tool', 'prompt') limit 1
  loop
    raise exception '% % is declared by another contract', v_problem.node,
      ragdb._quote(v_problem.name)
      using errcode = 'RG409',
        detail = v_problem.contract || ' has it, and evaluations and tools name it alone',
            hint = 'give it another name';
  end loop;
  -- whoever may not write a corpus of the version in force may not put another in its place
  select k.version into v_old from ragdb.contracts k where k.contract = v_name and k.is_current;
  if not ragdb._may_read_contract(v_name, v_old)
    and (ragdb._is_others_contract(v_name, v_old) or exists (
      select from ragdb.contract_nodes o join ragdb.corpora c on c.name = o.corpus
      where o.contract = v_name and o.version = v_old and o.node = 'corpus'))
  then
    raise exception 'contract % exists already', ragdb._quote(v_name)
      using errcode = 'RG409',
        detail = 'it is not visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'a contract has the name of its file: give that another name';
  end if;
  perform ragdb._open_corpus(o.corpus, 'write')
    from ragdb.contract_nodes o where o.contract = v_name and o.version = v_old
      and o.node = 'corpus'
      and exists (select from ragdb.corpora c where c.name = o.corpus);
  for v_corpus in
    select ragdb._contract_slug(i.name) as slug, i.keys ->> 'title' as title,
      nullif(i.keys ->> 'tenant', '') as tenant,
      (select coalesce(min(ragdb._list(s.keys ->> 'acl')), '{}') from unnest(v_items) s
        where s.node = 'source' and s.corpus = i.name) as readers,
      (select o.keys ->> 'tenant' from ragdb.contract_nodes o where o.contract = v_name
        and o.version = v_old
        and o.node = 'corpus' and o.corpus = ragdb._contract_slug(i.name)) as was_tenant,
      (select coalesce(min(ragdb._list(o.keys ->> 'acl')), '{}') from ragdb.contract_nodes o
        where o.contract = v_name and o.version = v_old
        and o.node = 'source' and o.corpus = ragdb._contract_slug(i.name)) as was_readers
    from unnest(v_items) i where i.node = 'corpus' order by 1
  loop
    perform ragdb._apply_corpus(v_corpus.slug, v_corpus.title, v_corpus.tenant, v_corpus.readers,
      v_corpus.was_tenant, v_corpus.was_readers);
  end loop;
  perform ragdb._apply_embedder(ragdb._contract_slug(i.corpus), i.keys ->> 'model',
    (i.keys ->> 'dims')::integer, coalesce(i.keys ->> 'metric', 'cosine'))
    from unnest(v_items) i where i.node = 'embed';
  select sha256(ragdb._utf8(jsonb_agg(jsonb_build_array(i.node, i.parent_no, ragdb._stored_keys(i),
    i.prompt_sha256) order by i.node_no)::text))
    into v_hash from unnest(v_items) i;
  name := v_name;
  corpora := array(select ragdb._contract_slug(i.name) from unnest(v_items) i
    where i.node = 'corpus' order by 1);
  nodes := cardinality(v_items);
  is_new := not exists (select from ragdb.contracts k where k.contract = v_name
    and k.version = v_old and k.nodes_hash = v_hash);
  version := v_old;
  if is_new then
    version := coalesce((select max(k.version) from ragdb.contracts k where k.contract = v_name),
      0) + 1;
    update ragdb.contracts k set is_current = false where k.contract = v_name and k.is_current;
    insert into ragdb.contracts (contract, version, is_current, nodes_hash, applied_at, applied_by)
      values (v_name, apply_contract.version, true, v_hash, ragdb._now(), ragdb._caller());
    insert into ragdb.contract_nodes (contract, version, node_no, parent_no, node, name, corpus,
      rag, keys, columns, prompt_sha256, line, "column")
      select v_name, apply_contract.version, i.node_no, i.parent_no, i.node, i.name,
        ragdb._contract_slug(i.corpus), i.rag,
        ragdb._stored_keys(i), i.columns, i.prompt_sha256, i.line, i."column"
      from unnest(v_items) i;
  end if;
  return next;
end $$;
comment on function ragdb.apply_contract(jsonb) is
  'Puts a contract in force, in one transaction: makes its corpora, their grants (tenant: admin, '
  'acl: read) and embedders, and stores it as a new version unless nothing changed. Raises RG400, '
  'RG401, RG409, RG417, RG440.';

-- ── reading ──────────────────────────────────────────────────────────────────────────────────────

-- A contract over `personal` says of its owner what the corpus does, and is as much theirs alone.
create or replace function ragdb._is_others_contract(contract text, version integer) returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.contracts k join ragdb.contract_nodes n on n.contract = k.contract
    and n.version = k.version
  where k.contract = _is_others_contract.contract and k.version = _is_others_contract.version
    and n.node = 'corpus' and n.corpus = 'personal' and k.applied_by <> ragdb._caller());
comment on function ragdb._is_others_contract(text, integer) is
  'Whether a version of a contract is over the corpus personal of another role than the caller.';

-- Who may read a corpus of a contract may read the contract.
create or replace function ragdb._may_read_contract(contract text, version integer) returns boolean
language sql stable parallel safe
return (exists (
  select from ragdb.contract_nodes n
    join ragdb.corpora c on c.name = n.corpus
      and c.personal_of is not distinct from case when c.name = 'personal' then ragdb._caller() end
  where n.contract = _may_read_contract.contract and n.version = _may_read_contract.version
    and n.node = 'corpus'
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0)
  or pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage'))
  and not ragdb._is_others_contract(_may_read_contract.contract, _may_read_contract.version);
comment on function ragdb._may_read_contract(text, integer) is
  'Whether the caller may read a corpus of a contract, or is an admin; of one over the corpus '
  'personal, whether the caller applied it.';

-- Level by level from the deepest: a look at all nodes for each of them would take their number
-- squared.
create or replace function ragdb._contract_tree(contract text, version integer) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_nodes integer[];
  v_depths integer[];
  v_parents integer[] := '{}';
  v_children jsonb[] := '{}';
begin
  with recursive walk as (
    select n.node_no, 1 as depth from ragdb.contract_nodes n
    where n.contract = _contract_tree.contract and n.version = _contract_tree.version
      and n.parent_no is null
    union all
    select n.node_no, w.depth + 1 from walk w
      join ragdb.contract_nodes n on n.contract = _contract_tree.contract
        and n.version = _contract_tree.version and n.parent_no = w.node_no
  )
  select array_agg(w.node_no), array_agg(w.depth) into v_nodes, v_depths from walk w;
  for v_depth in reverse (select max(d) from unnest(v_depths) d) .. 1 loop
    select array_agg(p.parent_no), array_agg(p.children) into v_parents, v_children from (
      select coalesce(n.parent_no, 0) as parent_no, jsonb_agg(
        jsonb_build_object('node', n.node, 'line', n.line, 'column', n."column", 'keys', n.keys,
          'columns', n.columns,
          'children', coalesce(c.children, '[]'))
        || case when n.prompt_sha256 is null then '{}'
          else jsonb_build_object('prompt_sha256', n.prompt_sha256) end order by n.node_no)
          as children
      from unnest(v_nodes, v_depths) w (node_no, depth)
        join ragdb.contract_nodes n on n.contract = _contract_tree.contract
          and n.version = _contract_tree.version and n.node_no = w.node_no
        left join unnest(v_parents, v_children) c (node_no, children) on c.node_no = n.node_no
      where w.depth = v_depth group by n.parent_no) p;
  end loop;
  return v_children[1];
end $$;
comment on function ragdb._contract_tree(text, integer) is
  'Returns the top nodes of a contract with all below them, as JSON.';

create or replace function ragdb.export_contract(contract text, version integer default null)
  returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer;
begin
  select k.version into v_version from ragdb.contracts k
    where k.contract = export_contract.contract
      and case when export_contract.version is null then k.is_current
        else k.version = export_contract.version end
      and ragdb._may_read_contract(k.contract, k.version);
  if not found then
    raise exception 'contract % does not exist', ragdb._quote(contract)
      using errcode = 'RG441',
        detail = coalesce('there is no version ' || version || ' of it that', 'none of that name')
              || ' is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_contracts() lists them; ragdb apply FILE puts one in force';
  end if;
  return jsonb_build_object('contract', contract, 'version', v_version,
    'nodes', ragdb._contract_tree(contract, v_version));
end $$;
comment on function ragdb.export_contract(text, integer) is
  'Returns an applied contract (the version in force unless another is named) in the form that '
  'ragdb.apply_contract takes. Raises RG441.';

create or replace function ragdb.list_contracts()
returns table (name text, version integer, is_current boolean, corpora text[], rags text[],
  applied_at timestamptz, applied_by text)
language sql stable parallel safe security definer
begin atomic
  select k.contract, k.version, k.is_current,
    array(select n.corpus from ragdb.contract_nodes n where n.contract = k.contract
      and n.version = k.version and n.node = 'corpus' order by 1),
    array(select n.name from ragdb.contract_nodes n where n.contract = k.contract
      and n.version = k.version and n.node = 'rag' order by n.node_no),
    k.applied_at, k.applied_by
  from ragdb.contracts k where ragdb._may_read_contract(k.contract, k.version)
  order by k.contract, k.version desc;
end;
comment on function ragdb.list_contracts() is
  'Lists every version of the contracts that the caller may read, the newest of each first.';

create or replace function ragdb._contract_node(node text, name text) returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node ragdb.contract_nodes;
begin
  select n.* into v_node from ragdb.contract_nodes n
    join ragdb.contracts k on k.contract = n.contract and k.version = n.version and k.is_current
    where n.node = _contract_node.node and n.name = _contract_node.name
      and ragdb._may_read_contract(k.contract, k.version);
  if not found then
    raise exception '% % does not exist', node, ragdb._quote(name)
      using errcode = 'RG441', detail = 'no contract in force that is visible to role '
        || ragdb._quote(ragdb._caller()) || ' declares it',
            hint = coalesce('did you mean ' || ragdb._nearest_name(name, array(
                select n.name from ragdb.contract_nodes n
                  join ragdb.contracts k on k.contract = n.contract and k.version = n.version
                    and k.is_current
                where n.node = _contract_node.node and n.name is not null
                  and ragdb._may_read_contract(k.contract, k.version))) || '?',
              'ragdb apply FILE puts a contract in force');
  end if;
  return v_node;
end $$;
comment on function ragdb._contract_node(text, text) is
  'Returns a retriever, rag or tool of the contracts in force by its name. Raises RG441.';

-- ── retrieval ────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.retriever_settings') is null then
    create type ragdb.retriever_settings as (
      corpus text, mode text, k integer, min_score float8, embedding_model text, reranker text);
  end if;
end $$;
comment on type ragdb.retriever_settings is
  'How a retriever of a contract searches when nothing else is asked.';

create or replace function ragdb._retriever_settings(retriever ragdb.contract_nodes)
  returns ragdb.retriever_settings
language sql stable parallel safe
return row((retriever).corpus,
  coalesce((retriever).keys ->> 'mode',
    case when (retriever).keys ? 'embed' then 'hybrid' else 'lexical' end),
  coalesce(((retriever).keys ->> 'topK')::integer, 5),
    coalesce(((retriever).keys ->> 'minScore')::float8, 0),
  (select e.keys ->> 'model' from ragdb.contract_nodes e where e.contract = (retriever).contract
    and e.version = (retriever).version
    and e.node = 'embed' and e.name = (retriever).keys ->> 'embed'),
  nullif((retriever).keys ->> 'rerank', 'none'))::ragdb.retriever_settings;
comment on function ragdb._retriever_settings(ragdb.contract_nodes) is
  'Returns the settings of a retriever: mode lexical, or hybrid with an embed, topK 5, minScore 0 '
  'and no reranker unless declared.';

create or replace function ragdb._open_retriever(retriever ragdb.contract_nodes, mode text)
  returns ragdb.retriever_settings
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings ragdb.retriever_settings := ragdb._retriever_settings(retriever);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_settings.corpus, 'read');
  v_embedder ragdb.embedders;
begin
  v_settings.mode := coalesce(mode, v_settings.mode);
  if v_settings.mode in ('semantic', 'hybrid') then
    select e.* into v_embedder from ragdb.embedding_spaces s
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      where s.corpus_id = v_corpus.corpus_id and s.state = 'current';
    if v_embedder.name is distinct from v_settings.embedding_model
      and v_embedder.model is distinct from v_settings.embedding_model then
      raise exception 'retriever % is declared for model %', ragdb._quote(retriever.name),
        ragdb._quote(v_settings.embedding_model)
        using errcode = 'RG417', detail = 'corpus ' || ragdb._quote(v_settings.corpus)
          || ' is embedded by ' || ragdb._quote(v_embedder.name),
              hint = 'change the embed node and apply the contract, or reembed the corpus';
    end if;
  end if;
  return v_settings;
end $$;
comment on function ragdb._open_retriever(ragdb.contract_nodes, text) is
  'Returns the settings of a retriever whose corpus the caller may read and is embedded by the '
  'declared model. Raises RG404, RG417.';

-- Definer: contracts are granted to nobody; who may read one of its corpora may read a contract.
create or replace function ragdb.get_retriever(retriever text) returns ragdb.retriever_settings
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if retriever is null then
    raise exception 'retriever is null'
      using errcode = 'RG400', detail = 'a retriever is a node of a contract',
        hint = 'ragdb.export_contract() shows the nodes of one';
  end if;
  return ragdb._open_retriever(ragdb._contract_node('retriever', retriever), null);
end $$;
comment on function ragdb.get_retriever(text) is
  'Returns how a retriever of a contract in force searches when nothing else is asked: corpus, '
  'mode, k, min_score, the model that it is declared for and the reranker (null for none). Raises '
  'RG400, RG404, RG417, RG441.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.named_retriever') is null then
    create type ragdb.named_retriever as (retriever ragdb.contract_nodes, rag text,
      settings ragdb.retriever_settings);
  end if;
end $$;
comment on type ragdb.named_retriever is
  'A retriever that a caller named, itself or by a rag, and how it searches.';

create or replace function ragdb._named_retriever(retriever text, rag text)
  returns ragdb.named_retriever
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes;
  v_named ragdb.named_retriever;
begin
  if (retriever is null) = (rag is null) then
    raise exception '% given',
      case when rag is null then 'neither retriever nor rag is'
      else 'both retriever and rag are' end
      using errcode = 'RG400', detail = 'one of them says how to search',
        hint = 'pass retriever, or retriever => null and rag';
  end if;
  if rag is not null then
    v_rag := ragdb._contract_node('rag', rag);
    v_named.rag := v_rag.name;
  end if;
  v_named.retriever := ragdb._contract_node('retriever',
    coalesce(retriever, v_rag.keys ->> 'retriever'));
  v_named.settings := ragdb._open_retriever(v_named.retriever, null);
  return v_named;
end $$;
comment on function ragdb._named_retriever(text, text) is
  'Returns a retriever by its name or that of a rag, with its settings. Raises RG400, RG404, '
  'RG417, RG441.';

-- What was declared with a reranker is never returned without one unless that is asked for.
create or replace function ragdb._check_rerank(retriever text, declared text, rerank text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rerank <> 'none' then
    raise exception 'rerank is %', ragdb._quote(rerank)
      using errcode = 'RG400', detail = 'a reranker runs in the client',
        hint = 'leave it out, or pass none for the ranking before reranking';
  end if;
  if declared is not null and rerank is null then
    raise exception 'retriever % is reranked by %', ragdb._quote(retriever), ragdb._quote(declared)
      using errcode = 'RG415',
        detail = 'a reranker runs in the client, and this call ends in the database',
            hint = 'ragdb.retrieval.PostgresRetriever, ragdb eval and ragdb mcp rerank; '
                   'retrieve_with(…, rerank => ''none'') gives the ranking before';
  end if;
end $$;
comment on function ragdb._check_rerank(text, text, text) is
  'Refuses to search without the reranker that a retriever declares (null: none) unless rerank is '
  'none. Raises RG400, RG415.';

create or replace function ragdb.search_with(
  retriever text, query text, k integer default null, min_score float8 default null,
    filter jsonb default null,
  query_embedding float8[] default null, rag text default null, rerank text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_named ragdb.named_retriever := ragdb._named_retriever(retriever, rag);
  v_settings ragdb.retriever_settings := v_named.settings;
begin
  perform ragdb._check_rerank((v_named.retriever).name, v_settings.reranker, rerank);
  return query select h.*
    from ragdb.search(v_settings.corpus, query, coalesce(k, v_settings.k), v_settings.mode,
    coalesce(min_score, v_settings.min_score), filter, query_embedding => query_embedding) h;
end $$;
comment on function ragdb.search_with(text, text, integer, float8, jsonb, float8[], text, text) is
  'Searches as ragdb.retrieve_with does, and records nothing. Raises what ragdb.search raises, '
  'RG415, RG417, RG441.';

create or replace function ragdb.retrieve_with(
  retriever text, query text, k integer default null, min_score float8 default null,
    filter jsonb default null,
  query_embedding float8[] default null, rag text default null, client text default null,
  otel_trace_id text default null, otel_span_id text default null, rerank text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_named ragdb.named_retriever := ragdb._named_retriever(retriever, rag);
  v_settings ragdb.retriever_settings := v_named.settings;
begin
  perform ragdb._check_rerank((v_named.retriever).name, v_settings.reranker, rerank);
  return query select h.* from ragdb._retrieve(v_settings.corpus, query, coalesce(k, v_settings.k),
    v_settings.mode,
    coalesce(min_score, v_settings.min_score), filter, query_embedding => query_embedding,
      client => client,
    otel_trace_id => otel_trace_id, otel_span_id => otel_span_id,
      retriever => (v_named.retriever).name, rag => v_named.rag) h;
end $$;
comment on function ragdb.retrieve_with(text, text, integer, float8, jsonb, float8[], text, text,
  text, text, text) is
  'Searches through a retriever of a contract, or that of a rag, by its mode, topK and minScore '
  'unless k (1 to 1000) or min_score (0 to 1) say otherwise, and records the trace with both '
  'names. A retriever that declares a reranker has to be asked for its ranking before reranking '
  '(rerank: none), which a client reranks. Raises what ragdb.retrieve raises, RG415, RG417, RG441.';
