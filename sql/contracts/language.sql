-- The language of contracts: its nodes, what each may stand in, and its keys.

-- '' is the top.
create or replace function ragdb_internal.contract_parents()
  returns table (node text, parents text[], rule text)
language sql immutable parallel safe
begin atomic
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
comment on function ragdb_internal.contract_parents is
  'Lists the nodes of the contract language with the nodes that each may stand in (an empty name: '
  'at the top), and the rule that another place breaks.';

-- One row a key. `missing` is the rule that its absence, or a blank text, breaks; it is null where
-- the key may be left out.
create or replace function ragdb_internal.contract_keys()
returns table (node text, key text, type text, low float8, high float8, choices text[], rule text,
  missing text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('corpus', 'name', 'text', null::float8, null::float8, null::text[], null,
      'contract-name-required'),
    ('corpus', 'title', 'text', null, null, null, null, null),
    ('corpus', 'tenant', 'text', null, null, null, null, null),
    ('corpus', 'refresh', 'interval', null, null, null, 'rag-corpus-refresh-invalid', null),
    ('source', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('source', 'corpus', 'text', null, null, null, null, null),
    ('source', 'kind', 'choice', null, null, '{local,s3,http,mcp}', 'rag-source-kind-invalid',
      null),
    ('source', 'uri', 'text', null, null, null, null, null),
    ('source', 'media', 'text', null, null, null, null, null),
    ('source', 'resource', 'text', null, null, null, null, null),
    ('source', 'acl', 'list', null, null, null, 'contract-list-empty', null),
    ('chunking', 'name', 'text', null, null, null, null, null),
    ('chunking', 'corpus', 'text', null, null, null, null, null),
    ('chunking', 'source', 'text', null, null, null, null, null),
    ('chunking', 'strategy', 'choice', null, null, '{paragraph,window,semantic,page}',
      'rag-chunking-strategy-invalid', null),
    ('chunking', 'maxTokens', 'integer', 1, 100000, null, 'rag-chunking-max-tokens-invalid', null),
    ('chunking', 'overlap', 'integer', 0, 100000, null, 'rag-chunking-overlap-invalid', null),
    ('chunking', 'unit', 'choice', null, null, '{token,tokens,word,words,char,chars}',
      'rag-chunking-unit-invalid', null),
    ('embed', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('embed', 'corpus', 'text', null, null, null, null, 'rag-embed-unknown-corpus'),
    ('embed', 'model', 'text', null, null, null, null, 'rag-embed-model-required'),
    ('embed', 'dims', 'integer', 1, 4000, null, 'rag-embed-dims-invalid', 'rag-embed-dims-invalid'),
    ('embed', 'metric', 'choice', null, null, '{cosine,ip,l2}', 'rag-embed-metric-invalid', null),
    ('retriever', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('retriever', 'corpus', 'text', null, null, null, null, 'rag-retriever-unknown-corpus'),
    ('retriever', 'embed', 'text', null, null, null, null, null),
    ('retriever', 'mode', 'choice', null, null, ragdb_internal.search_modes(),
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
    ('grounding', 'policy', 'choice', null, null,
      array(select p.policy from ragdb_internal.grounding_policies() p),
      'rag-grounding-policy-invalid', null),
    ('grounding', 'maxContext', 'integer', 1, 10000000, null, 'rag-grounding-max-context-invalid',
      null),
    ('ragEval', 'name', 'text', null, null, null, null, 'rag-eval-name-required'),
    ('ragEval', 'rag', 'text', null, null, null, null, null),
    ('ragEval', 'metric', 'metric', null, null, null, 'rag-eval-metric-invalid', null),
    ('ragEval', 'threshold', 'number', 0, 1, null, 'rag-eval-threshold-invalid', null),
    ('ragEval', 'mode', 'choice', null, null, '{contract}', 'rag-eval-mode-invalid', null),
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
    ('ragAssert', 'quantifier', 'choice', null, null, '{any,all}', 'rag-assert-quantifier-invalid',
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
    ('param', 'type', 'choice', null, null, '{string}', 'mcp-param-type-invalid', null),
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
comment on function ragdb_internal.contract_keys is
  'Lists the keys of the contract language with their type, their range or choices, and the rules '
  'that a wrong or a missing value breaks.';

create or replace function ragdb_internal.contract_slug(name text) returns text
language sql immutable parallel safe
return pg_catalog.left(pg_catalog.regexp_replace(
  pg_catalog.lower(contract_slug.name collate "C"), '[^a-z0-9-]+', '-', 'g'), 64);
comment on function ragdb_internal.contract_slug is
  'Returns the stored name of a contract''s corpus: in lower case, with a hyphen for every run of '
  'characters that are not a-z, 0-9 or a hyphen.';
