-- Every rule is a branch; what another rule reports already is left out.
create or replace function ragdb_internal.contract_problems(items ragdb_internal.contract_item[])
returns table (rule text, severity text, node_no integer, key text, message text, hint text)
language sql immutable parallel safe
begin atomic
  with n as materialized (
    select i.*, i.node || case when i.name ~ '\S' then ' ' || ragdb_internal.quote(i.name)
      else '' end as title
    from pg_catalog.unnest(contract_problems.items) i
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
  ), known as materialized (select * from ragdb_internal.contract_parents()),
  kinds as materialized (select * from ragdb.assertion_kinds()),
  keys as materialized (
    select n.node_no, n.node, n.title, e.key, n.keys ->> e.key as value,
      k.key is not null as is_known,
      k.type, k.low, k.high, k.choices, k.rule
    from n cross join lateral pg_catalog.jsonb_object_keys(n.keys) e (key)
      left join ragdb_internal.contract_keys() k on k.node = n.node and k.key = e.key
    where exists (select from known where known.node = n.node)
  ), spans as materialized (
    select n.node_no, n.parent_no, ragdb_internal.whole(n.keys ->> 'start', 0, 1e8) as start,
      ragdb_internal.whole(n.keys ->> 'end', 0, 1e8) as stop, p.keys ->> 'answer' as answer
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
      'unknown node ' || ragdb_internal.quote(n.node),
      'did you mean ' || ragdb_internal.nearest_name(n.node, array(select k.node from known k)) || '?'
    from n where n.is_sound and not exists (select from known k where k.node = n.node)
    union all select k.rule, 'error', n.node_no, null,
      n.title || case n.parent_node is null when true then ' stands at the top'
        else ' stands in ' || ragdb_internal.quote(n.parent_node) end,
      'it belongs ' || (select pg_catalog.string_agg(case p when '' then 'at the top'
        else 'in ' || p end, ' or ') from pg_catalog.unnest(k.parents) p)
    from n join known k on k.node = n.node where coalesce(n.parent_node, '') <> all (k.parents)
    union all select 'rag-assert-missing-eval', 'error', n.node_no, null,
      n.title || ' belongs to no ragEval', 'indent its ragCase below one'
    from n where n.node = 'ragAssert' and n.parent_node = 'ragCase'
      and coalesce(n.grandparent_node, '') <> 'ragEval'
    union all select 'contract-unknown-key', 'error', k.node_no, k.key,
      k.title || ' has no key ' || ragdb_internal.quote(k.key),
      'did you mean ' || ragdb_internal.nearest_name(k.key,
        array(select c.key from ragdb_internal.contract_keys() c where c.node = k.node)) || '?'
    from keys k where not k.is_known
    -- values
    union all select k.rule, 'error', k.node_no, k.key,
      k.key || ' of ' || k.title || ' is ' || ragdb_internal.quote(k.value) || ', not ' || case k.type
        when 'integer' then 'a whole number from ' || k.low || ' to ' || k.high
        when 'number' then 'a number from ' || k.low || ' to ' || k.high
        when 'boolean' then 'true or false'
        when 'list' then 'a list with an item'
        when 'metric' then 'a metric'
        when 'interval' then 'a length of time'
        else pg_catalog.array_to_string(k.choices, ', ') end,
      case k.type when 'choice' then 'did you mean ' || ragdb_internal.nearest_name(k.value, k.choices)
        || '?'
        when 'metric' then 'faithfulness, grounding, hitRate, citationCoverage, minRelevance, '
                           'recall@k, precision@k, ndcg@k, judged@k, mrr or map'
        when 'interval' then 'such as 24h, 7d, "30 minutes"'
        when 'list' then 'separate items by commas' end
    from keys k
    where k.is_known and not (k.type <> 'text' and k.value = '' and k.type = 'list'
      and k.key = 'chunks') and not case k.type
      when 'integer' then ragdb_internal.whole(k.value, k.low, k.high) is not null
      when 'number' then ragdb_internal.number(k.value, k.low, k.high) is not null
      when 'boolean' then k.value in ('true', 'false')
      when 'choice' then k.value = any (k.choices)
      when 'list' then ragdb_internal.list(k.value) <> '{}'
      when 'metric' then ragdb_internal.eval_metric(k.value) is not null
      when 'interval' then k.value
        ~ '^\s*[0-9]{1,6}\s*(s|m|h|d|w|second|minute|hour|day|week)s?\s*$'
      else true end
    union all select c.missing, 'error', n.node_no, c.key, n.title || ' has no ' || c.key,
      'give ' || c.key || '='
    from n join ragdb_internal.contract_keys() c on c.node = n.node and c.missing is not null
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
        case n.node when 'corpus' then ragdb_internal.contract_slug(n.name)
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
    from n where n.node = 'corpus' and n.name ~ '\S' and ragdb_internal.contract_slug(n.name) !~ '[a-z0-9]'
    union all select 'rag-' || n.node || '-missing-corpus', 'error', n.node_no, null,
      n.title || ' is of no corpus', 'indent it below a corpus, or give corpus='
    from n where n.node in ('source', 'chunking') and n.corpus is null
    union all select case n.node when 'source' then 'rag-source-missing-corpus'
      else 'rag-' || n.node || '-unknown-corpus' end, 'error', n.node_no, 'corpus',
      'corpus ' || ragdb_internal.quote(n.corpus) || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.corpus, array(select c.name from corpora c))
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
    from n where n.node = 'source' and ragdb_internal.is_long_glob(n.keys ->> 'uri')
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
    from (select n.*, pg_catalog.first_value(ragdb_internal.list(n.keys ->> 'acl')) over
      (partition by n.corpus order by n.node_no) as first_acl from n where n.node = 'source') n
    where ragdb_internal.list(n.keys ->> 'acl') is distinct from n.first_acl
    union all select 'rag-chunking-unknown-source', 'error', n.node_no, 'source',
      'source ' || ragdb_internal.quote(n.keys ->> 'source') || ' of a chunking is not in corpus '
      || ragdb_internal.quote(n.corpus),
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'source',
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
      and ragdb_internal.whole(n.keys ->> 'overlap', 0,
        100000) >= coalesce(ragdb_internal.whole(n.keys ->> 'maxTokens', 1, 100000), 240)
    union all select 'rag-chunking-overlap-invalid', 'error', n.node_no, 'maxTokens',
      'maxTokens is ' || (n.keys ->> 'maxTokens') || ', not more than the default overlap of 48',
      'give overlap='
    from n where n.node = 'chunking' and not n.keys ? 'overlap'
      and ragdb_internal.whole(n.keys ->> 'maxTokens', 1, 100000) <= 48
    -- embed, retriever
    union all select 'rag-embed-duplicate-corpus', 'error', n.node_no, 'corpus',
      'corpus ' || ragdb_internal.quote(n.corpus) || ' is embedded by two models',
      'a corpus has one; put the other into a corpus of its own'
    from (select n.*, pg_catalog.row_number() over (partition by n.corpus order by n.node_no) as nth
      from n where n.node = 'embed' and n.corpus is not null) n where n.nth > 1
    union all select 'rag-retriever-unknown-embed', 'error', n.node_no, 'embed',
      'embed ' || ragdb_internal.quote(n.keys ->> 'embed') || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'embed',
        array(select e.name from embeds e)) || '?', 'declare it: embed name=…')
    from n where n.node = 'retriever' and n.keys ? 'embed'
      and not exists (select from embeds e where e.name = n.keys ->> 'embed')
    union all select 'rag-retriever-embed-corpus-mismatch', 'error', n.node_no, 'embed',
      n.title || ' is of corpus ' || ragdb_internal.quote(n.corpus) || ' and its embed of '
      || ragdb_internal.quote(e.corpus), 'both must be of one corpus'
    from n join embeds e on e.name = n.keys ->> 'embed' where n.node = 'retriever'
      and e.corpus <> n.corpus
    union all select 'rag-retriever-embed-required', 'error', n.node_no, 'mode',
      n.title || ' is ' || (n.keys ->> 'mode') || ' and has no embed',
      'give embed=, or mode=lexical'
    from n where n.node = 'retriever' and n.keys ->> 'mode' in ('semantic', 'hybrid')
      and not n.keys ? 'embed'
    -- rag, grounding
    union all select 'rag-unknown-retriever', 'error', n.node_no, 'retriever',
      'retriever ' || ragdb_internal.quote(n.keys ->> 'retriever') || ' of ' || n.title
      || ' is not declared',
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'retriever',
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
      'error', n.node_no, 'rag', 'rag ' || ragdb_internal.quote(n.rag) || ' of ' || n.title
        || ' is not declared',
      coalesce('did you mean '
        || ragdb_internal.nearest_name(n.rag, array(select r.name from rags r where r.name is not null))
        || '?', 'declare it: rag name=…')
    from n where n.node in ('grounding', 'ragEval', 'ragAnswerContract') and n.rag is not null
      and not exists (select from rags r where r.name = n.rag)
    union all select 'rag-grounding-duplicate', 'error', n.node_no, null,
      'rag ' || ragdb_internal.quote(n.rag) || ' has two groundings', 'keep one'
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
    from n where n.node = 'ragEval' and ragdb_internal.number(n.keys ->> 'threshold', 0, 1) = 0
    union all select 'rag-case-sources-require-citations', 'error', n.node_no, 'sources',
      n.title || ' lists sources and its rag requires no citations',
      'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragCase' and n.keys ? 'sources' and n.rag is not null
      and not exists (select from cited c where c.rag = n.rag)
    union all select 'rag-case-policy-requires-anchor', 'error', n.node_no, 'policy',
      n.title || ' has a policy and no anchor', 'a slice is built around a chunk: give anchor='
    from n where n.node = 'ragCase' and n.keys ? 'policy' and not n.keys ? 'anchor'
    union all select 'rag-assert-kind-invalid', 'error', n.node_no, 'kind',
      'unknown kind of assertion ' || ragdb_internal.quote(n.keys ->> 'kind'),
      'did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'kind', array(select k.kind from kinds k))
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
      and ragdb_internal.whole(n.keys ->> 'count', 0, 1e6) = 0
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
      and ragdb_internal.is_long_glob(n.keys ->> 'value')
    union all select 'rag-assert-value-invalid', 'error', n.node_no, 'value',
      'orderedBefore takes two ids or sources', 'separate them by a comma'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'orderedBefore'
      and pg_catalog.cardinality(ragdb_internal.list(n.keys ->> 'value')) <> 2
    union all select 'rag-assert-vacuous', 'warning', n.node_no, null,
      (n.keys ->> 'kind') || ' cannot fail with this value', 'raise it'
    from n where n.node = 'ragAssert'
      and ((n.keys ->> 'kind' in ('uniqueSourcesGte', 'chunkCountGte')
        and ragdb_internal.whole(n.keys ->> 'count', 0, 1e6) = 0)
      or (n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank',
        'averagePrecision', 'groundingCoverageGte')
        and ragdb_internal.number(n.keys ->> 'threshold', 0, 1) = 0))
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
      and ragdb_internal.number(n.keys ->> 'minGroundingCoverage', 0, 1) > c.covered::float8
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
      'retriever ' || ragdb_internal.quote(n.keys ->> 'retriever') || ' of a retrieve is not declared',
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'retriever',
        array(select r.name from retrievers r where r.name is not null)) || '?',
        'declare it: retriever name=…')
    from n where n.node = 'retrieve' and n.keys ? 'retriever'
      and not exists (select from retrievers r where r.name = n.keys ->> 'retriever')
    union all select 'mcp-retrieve-unknown-rag', 'error', n.node_no, 'rag',
      'rag ' || ragdb_internal.quote(n.rag) || ' of a retrieve is not declared',
      coalesce('did you mean '
        || ragdb_internal.nearest_name(n.rag, array(select r.name from rags r where r.name is not null))
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
      'the tool has no param ' || ragdb_internal.quote(n.keys ->> 'queryParam'),
      coalesce('did you mean ' || ragdb_internal.nearest_name(n.keys ->> 'queryParam',
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
      'unknown output ' || ragdb_internal.quote(n.keys ->> 'output'), 'write output="RetrievedChunk[]"'
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
      f.key || ' of a retrieve is ' || ragdb_internal.quote(f.field) || ', which another field is',
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
comment on function ragdb_internal.contract_problems(ragdb_internal.contract_item[]) is
  'Returns everything that is wrong with the nodes of a contract, in no order.';
