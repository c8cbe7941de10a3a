-- What a contract may break: every rule with its severity, its words and what to do about it. The
-- files below find the breaches; ragdb.validate_contract() joins them with the words here once.

-- A rule that a node of a contract breaks: the name of its words, the node, its key (null: the
-- whole node) and its title, what else the words tell, and the name that was perhaps meant.
create type ragdb_internal.breach as (
  rule text, words text, node_no integer, key text, title text, details text[], nearest text);

-- Returns what a message calls a node: its kind and its name.
create or replace function ragdb_internal.node_title(item ragdb_internal.contract_item) returns text
language sql immutable parallel safe
return (item).node
  || case when (item).name ~ '\S' then ' ' || ragdb_internal.quote((item).name) else '' end;

-- Returns a breach of a rule by a node; its words are those of the rule unless others are named.
create or replace function ragdb_internal.breach(rule text, item ragdb_internal.contract_item,
  key text default null, details text[] default '{}', nearest text default null,
  words text default null)
returns ragdb_internal.breach
language sql immutable parallel safe
return row(rule, coalesce(words, rule), (item).node_no, key, ragdb_internal.node_title(item),
  details, nearest)::ragdb_internal.breach;

-- Returns the name that is nearest to what the nth breach of a rule names; only of the first
-- 20. Each is compared with all names, and of thousands that are wrong one thing is wrong.
create or replace function ragdb_internal.meant_name(nth bigint, word text, names text[])
  returns text
language sql immutable parallel safe
return case when nth <= 20 then ragdb_internal.nearest_name(word, names) end;

-- Lists the words of the rules of contracts: severity (error or warning), message and hint. %1$s is
-- the node, %2$s and so on are the details of the breach. A breach that knows the nearest name asks
-- whether that was meant, in place of the hint. Words that several rules share, or that one rule
-- has beside others, have a name of their own, without rag-, mcp- or contract-.
create or replace function ragdb_internal.rule_words()
  returns table (words text, severity text, message text, hint text)
language sql immutable parallel safe
begin atomic
  select * from (values
    -- syntax
    ('control-character', 'error', 'a control character', 'write it as an escape, such as \n'),
    ('tab-in-indentation', 'error', 'a tab in the indentation', 'indent by spaces'),
    ('misaligned', 'error', 'the indentation is of no line above', 'align it with one'),
    ('nested-too-deep', 'error', 'deeper than 16 levels', null),
    ('first-indented', 'error', 'the first node is indented', 'begin it at column 1'),
    ('no-node-name', 'error', 'a line begins with the name of a node', 'such as corpus or rag'),
    ('space-missing', 'error', 'a space is missing after a quoted value', null),
    ('not-a-pair', 'error', '%2$s is not key=value', 'write key=value or key="value"'),
    ('key-twice', 'error', 'key %2$s is given twice', 'the first is at column %3$s'),
    ('value-missing', 'error', 'a value is missing after =', 'an empty text is ""'),
    ('quote-inside', 'error', 'a quote inside a bare value', 'quote the whole value'),
    ('quote-open', 'error', 'a quoted value does not end on its line', 'end it with "'),
    ('unknown-escape', 'error', 'an unknown escape', 'escapes are those of JSON: \" \\ \n \t'),
    ('escaped-nul', 'error', 'a text cannot contain NUL', null),
    ('half-of-a-pair', 'error', 'half of a surrogate pair', 'write both halves, \ud83d\ude00'),
    ('not-json', 'error', 'not JSON: %2$s', '{"contract": "name", "nodes": […]}'),
    -- form
    ('unreadable', 'error', 'the contract is not {"contract": name, "nodes": […]}',
      'a name has 1 to 128 of A-Z, a-z, 0-9, . _ -, and is given behind the text'),
    ('contract-empty', 'error', 'the contract has no node', 'begin with: corpus name=…'),
    ('contract-malformed', 'error', 'a node is not {"node", "keys", "children"}',
      'keys is an object of texts, numbers and booleans; line, column, columns and prompt_sha256 '
      'are the only other fields'),
    ('contract-too-deep', 'error', 'a node is more than 16 levels deep', 'the language has five'),
    ('contract-unknown-node', 'error', 'unknown node %2$s', null),
    ('misplaced', 'error', '%1$s stands %2$s', 'it belongs %3$s'),
    ('rag-assert-missing-eval', 'error', '%1$s does not belong to a ragEval',
      'indent its ragCase below one'),
    ('contract-unknown-key', 'error', '%1$s has no key %2$s', null),
    ('key-missing', 'error', '%1$s has no %2$s', 'give %2$s='),
    ('not-integer', 'error', '%2$s of %1$s is %3$s, not a whole number from %4$s to %5$s', null),
    ('not-number', 'error', '%2$s of %1$s is %3$s, not a number from %4$s to %5$s', null),
    ('not-boolean', 'error', '%2$s of %1$s is %3$s, not true or false', null),
    ('not-list', 'error', '%2$s of %1$s is %3$s, not a list of at least one item',
      'separate items by commas'),
    ('not-metric', 'error', '%2$s of %1$s is %3$s, not a metric', '%6$s'),
    ('not-interval', 'error', '%2$s of %1$s is %3$s, not a length of time',
      'such as 24h, 7d, "30 minutes"'),
    ('not-choice', 'error', '%2$s of %1$s is %3$s, not %6$s', null),
    ('contract-name-too-long', 'error', 'the name of a %2$s has %3$s characters',
      'a name has at most 200'),
    ('declared-twice', 'error', '%1$s is declared twice', 'the first is %2$s'),
    ('name-not-unique', 'error', '%1$s is declared twice', 'names are unique per %2$s'),
    -- corpora, sources, chunkings, embeds
    ('rag-corpus-name-invalid', 'error', 'the name of %1$s has no ASCII letter or digit',
      'its stored name is made of a-z, 0-9 and -'),
    ('no-corpus', 'error', '%1$s does not belong to a corpus',
      'indent it below a corpus, or give corpus='),
    ('unknown-corpus', 'error', 'corpus %2$s of %1$s is not declared',
      'declare it: corpus name=…'),
    ('rag-source-uri-empty', 'error', '%1$s has no uri',
      'give uri= with a path, a glob or an address'),
    ('rag-source-uri-invalid', 'error', 'uri of %1$s is not of kind %2$s', '%3$s'),
    ('rag-source-glob-invalid', 'error', 'the glob of %1$s is too long',
      'a glob has at most 1024 characters and 16 stars'),
    ('rag-source-media-unknown', 'error', 'media of %1$s is %2$s, not a format or a media type',
      'a format is one of %3$s'),
    ('rag-source-mcp-resource-required', 'error', '%1$s is of kind mcp and has no resource',
      'give resource= with the address of the resource'),
    ('rag-source-resource-requires-mcp-kind', 'error',
      '%1$s has a resource and is not of kind mcp', 'give kind=mcp, or no resource'),
    ('rag-source-acl-conflict', 'error', '%1$s has another acl than the corpus''s first source',
      'a right is given to a whole corpus: give all its sources the same acl, or put the source '
      'into a corpus of its own'),
    ('rag-chunking-unknown-source', 'error', 'source %2$s of a chunking is not in corpus %3$s',
      'declare it in that corpus'),
    ('rag-chunking-duplicate', 'error', 'a source has two chunkings', 'keep one'),
    ('overlap-too-long', 'error', 'overlap is %2$s, not less than maxTokens',
      'it must be below %3$s'),
    ('overlap-of-default-too-long', 'error',
      'maxTokens is %2$s, not more than the default overlap of 48', 'give overlap='),
    ('rag-embed-duplicate-corpus', 'error', 'corpus %2$s is embedded by two models',
      'a corpus has one; put the other into a corpus of its own'),
    -- retrievers, rags, groundings
    ('rag-retriever-unknown-embed', 'error', 'embed %2$s of %1$s is not declared',
      'declare it: embed name=…'),
    ('rag-retriever-embed-corpus-mismatch', 'error',
      '%1$s is of corpus %2$s and its embed of %3$s', 'both must be of one corpus'),
    ('rag-retriever-embed-required', 'error', '%1$s is %2$s and has no embed',
      'declare an embed with a model and dims of `ragdb embedder ls`, and give embed=; or give '
      'mode=lexical'),
    ('rag-retriever-rerank-invalid', 'error',
      'rerank of %1$s is %2$s, neither none nor a reranker that was bound',
      'bind one: ragdb reranker bind'),
    ('minscore-unreachable', 'warning',
      'minScore %2$s was reached by less than 5 %% of the last %4$s retrievals of corpus %3$s',
      'few queries reach it: the guide says how scores are distributed'),
    ('unknown-retriever', 'error', 'retriever %2$s of %1$s is not declared',
      'declare it: retriever name=…'),
    ('rag-citations-require-grounding', 'error',
      '%1$s has citations=true and no grounding with requireCitations=true',
      'add: grounding requireCitations=true'),
    ('no-rag', 'error', '%1$s does not belong to a rag',
      'indent it below a rag, or give rag='),
    ('unknown-rag', 'error', 'rag %2$s of %1$s is not declared', 'declare it: rag name=…'),
    ('rag-grounding-duplicate', 'error', 'rag %2$s has two groundings', 'keep one'),
    -- evaluations, cases, assertions
    ('rag-eval-mode-required', 'error', '%1$s has cases and no mode', 'give mode=contract'),
    ('rag-eval-threshold-without-metric', 'error', '%1$s has a threshold and no metric',
      'give metric='),
    ('rag-eval-threshold-vacuous', 'warning',
      'threshold 0 of %1$s is always reached, so the gate fails', 'give a threshold above 0'),
    ('rag-case-sources-require-citations', 'error',
      '%1$s lists sources and its rag does not require citations',
      'add to the rag: grounding requireCitations=true'),
    ('rag-case-policy-requires-anchor', 'error', '%1$s has a policy and no anchor',
      'a slice is built around a chunk: give anchor='),
    ('unknown-kind', 'error', 'unknown kind of assertion %2$s', null),
    ('rag-assert-citations-require-grounding', 'error',
      'citesRequired, and its rag does not require citations',
      'add to the rag: grounding requireCitations=true'),
    ('property-missing', 'error', '%2$s needs %3$s', '%4$s'),
    ('count-of-places-is-0', 'error', '%2$s among the first 0 cannot pass', 'count from 1'),
    ('rag-assert-property-unused', 'error', '%2$s does not take %3$s', '%4$s'),
    ('rag-assert-negate-invalid', 'error', '%2$s cannot be negated',
      'the eleven kinds of the closed group do not take negate; the others do'),
    ('rag-assert-chunk-hash-invalid', 'error', 'chunkHash is not 32 to 128 hex digits',
      'kern_chunk_hash has 32, content_hash 64'),
    ('rag-assert-glob-invalid', 'error', 'the glob is too long',
      'a glob has at most 1024 characters and 16 stars'),
    ('rag-assert-value-invalid', 'error', 'orderedBefore takes two ids or sources',
      'separate them by a comma'),
    ('list-is-empty', 'error', '%2$s has no text', 'separate texts by commas'),
    ('rag-assert-vacuous', 'warning', '%2$s cannot fail with this value', 'raise it'),
    -- answer contracts
    ('rag-answer-contract-citations-require-grounding', 'error',
      '%1$s requires citations and its rag does not',
      'add to the rag: grounding requireCitations=true'),
    ('span-outside-answer', 'error', 'span %2$s..%3$s is not in an answer of %4$s characters',
      '0 <= start < end <= length of the answer'),
    ('rag-answer-contract-grounding-coverage-insufficient', 'error',
      'spans of %1$s cover %2$s of its %3$s characters, less than %4$s',
      'add spans, or lower minGroundingCoverage'),
    -- tools
    ('mcp-retrieve-duplicate', 'error', 'a tool has two retrieves', 'keep one'),
    ('mcp-retrieve-target-required', 'error', 'a retrieve has neither rag nor retriever',
      'give one of them'),
    ('mcp-retrieve-target-exclusive', 'error', 'a retrieve has both rag and retriever',
      'give one of them'),
    ('mcp-retrieve-unknown-retriever', 'error', 'retriever %2$s of a retrieve is not declared',
      'declare it: retriever name=…'),
    ('mcp-retrieve-unknown-rag', 'error', 'rag %2$s of a retrieve is not declared',
      'declare it: rag name=…'),
    ('mcp-retrieve-query-required', 'error', 'a retrieve has neither queryParam nor query',
      'give one of them'),
    ('mcp-retrieve-query-exclusive', 'error', 'a retrieve has both queryParam and query',
      'give one of them'),
    ('mcp-retrieve-query-param-unknown', 'error', 'the tool has no param %2$s',
      'declare it: param name=…'),
    ('mcp-retrieve-citations-require-grounding', 'error',
      'a retrieve requires citations and its rag does not',
      'add to the rag: grounding requireCitations=true'),
    ('mcp-retrieve-output-array-required', 'error', 'output RetrievedChunk is not an array',
      'write output="RetrievedChunk[]"'),
    ('mcp-retrieve-output-unknown', 'error', 'unknown output %2$s',
      'write output="RetrievedChunk[]"'),
    ('mcp-retrieve-output-field-without-output', 'error', '%2$s without an output',
      'give output="RetrievedChunk[]"'),
    ('mcp-retrieve-output-required', 'error', 'citations are required and there is no output',
      'give output="RetrievedChunk[]"'),
    ('mcp-retrieve-output-citations-cannot-weaken-rag', 'error',
      'a retrieve cannot drop the citations that its rag requires',
      'leave requireCitations out'),
    ('mcp-retrieve-output-citation-field-required', 'error',
      'citations are required and no field carries them', 'give citationField='),
    ('mcp-retrieve-output-source-required', 'error',
      'provenance=source and no field carries the source', 'give sourceField='),
    ('mcp-retrieve-output-field-conflict', 'error',
      '%2$s of a retrieve is %3$s, which is blank or the name of another field',
      'id, text and provenance are always there; so are citation, source and score unless other '
      'names are given for them'),
    ('mcp-tool-name-invalid', 'error', '%1$s has a name that clients refuse',
      'a name has 1 to 64 of A-Z, a-z, 0-9, _ and -'),
    ('mcp-tool-name-reserved', 'error', '%1$s has the name of a tool of ragdb mcp',
      'give it another name'),
    ('mcp-tool-unbound', 'warning', '%1$s is not served', 'give it a retrieve'),
    ('mcp-param-unused', 'warning', '%1$s does nothing',
      'only the param that a retrieve names as queryParam is used')
  ) as w (words, severity, message, hint);
end;
