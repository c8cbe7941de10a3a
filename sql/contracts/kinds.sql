-- The closed lists of evaluations: kinds of assertion, metrics and grounding policies. Whatever
-- depends on one of their names reads it here. A new kind of assertion is a row of the list, its
-- branch in evaluation/assertion_tests.sql (or trace_assertions.sql) and its test.

-- A kind of assertion: the properties that it must have, separated by a space, and the one that it
-- may have (option); when it passes (meaning); what its message expects (expectation, for format:
-- value, count, number, a or every, depth, first text, second text); whether it is one of the
-- closed group (is_frozen); the metric of labels that it measures; what of a chunk its value is
-- compared with (seeks: text, source, glob of a source, hash, or item, which is an id or a glob of
-- a source); whether its value is a list (splits); what it needs (trace or answer); and whether it
-- cannot fail at 0.
create type ragdb_internal.assertion_kind as (
  kind text, property text, meaning text, expectation text, is_frozen boolean, option text,
  metric text, seeks text, splits boolean, needs text, vacuous_at_0 boolean);

-- Returns a row of the list of assertion kinds.
create or replace function ragdb_internal.assertion_kind(kind text, property text, meaning text,
  expectation text, is_frozen boolean default false, option text default null,
  metric text default null, seeks text default null, splits boolean default false,
  needs text default null, vacuous_at_0 boolean default false)
returns ragdb_internal.assertion_kind
language sql immutable parallel safe
return row(kind, property, meaning, expectation, is_frozen, option, metric, seeks, splits, needs,
  vacuous_at_0)::ragdb_internal.assertion_kind;

-- Lists the kinds of ragAssert.
create or replace function ragdb_internal.assertion_kinds()
  returns setof ragdb_internal.assertion_kind
language sql immutable parallel safe
begin atomic
  select k.* from pg_catalog.unnest(array[
    ragdb_internal.assertion_kind('factId', 'value', 'the case is rag:eval:case',
      'expected fact id %1$s', is_frozen => true),
    ragdb_internal.assertion_kind('chunkHash', 'value',
      'some chunk has this content_hash or kern_chunk_hash', 'expected retrieved chunk hash %1$s',
      is_frozen => true, seeks => 'hash'),
    ragdb_internal.assertion_kind('scoreGte', 'threshold',
      'there is a chunk, and one scores at least so much (quantifier=all: every one)',
      'expected %4$s retrieved chunk score >= %3$s', is_frozen => true, option => 'quantifier'),
    ragdb_internal.assertion_kind('scoreLte', 'threshold',
      'there is a chunk, and one scores at most so much (quantifier=all: every one)',
      'expected %4$s retrieved chunk score <= %3$s', is_frozen => true, option => 'quantifier'),
    ragdb_internal.assertion_kind('contains', 'value',
      'some chunk''s text has this text, in any case',
      'expected a retrieved chunk text contains %1$s', is_frozen => true, seeks => 'text'),
    ragdb_internal.assertion_kind('sourceEq', 'value', 'some chunk has this source',
      'expected a retrieved chunk source equals %1$s', is_frozen => true, seeks => 'source'),
    ragdb_internal.assertion_kind('sourceGlob', 'value',
      'some chunk''s source matches: * any run of characters, ? any one, in any case',
      'expected a retrieved chunk source matches %1$s', is_frozen => true, seeks => 'glob'),
    ragdb_internal.assertion_kind('uniqueSourcesGte', 'count',
      'chunks have at least so many sources', 'expected at least %2$s unique sources',
      is_frozen => true, vacuous_at_0 => true),
    ragdb_internal.assertion_kind('chunkCountEq', 'count', 'there are exactly so many chunks',
      'expected exactly %2$s chunks', is_frozen => true),
    ragdb_internal.assertion_kind('latencyLte', 'valueMs',
      'the retrieval took at most so many milliseconds', 'expected retrieval latency <= %3$sms',
      is_frozen => true),
    ragdb_internal.assertion_kind('citesRequired', null,
      'there is a chunk, and every one has a uri or locator that is not blank',
      'expected every chunk to carry citation data', is_frozen => true),
    ragdb_internal.assertion_kind('recallAtK', 'threshold',
      'of the labelled items at least this share is among the first count',
      'expected recallAtK >= %3$s%5$s', option => 'count', metric => 'recall',
      vacuous_at_0 => true),
    ragdb_internal.assertion_kind('precisionAtK', 'threshold',
      'of the first count places at least this share has a labelled item',
      'expected precisionAtK >= %3$s%5$s', option => 'count', metric => 'precision',
      vacuous_at_0 => true),
    ragdb_internal.assertion_kind('ndcgAtK', 'threshold',
      'nDCG of the first count places is at least so much', 'expected ndcgAtK >= %3$s%5$s',
      option => 'count', metric => 'ndcg', vacuous_at_0 => true),
    ragdb_internal.assertion_kind('reciprocalRank', 'threshold',
      '1 / rank of the first labelled item is at least so much',
      'expected reciprocalRank >= %3$s%5$s', metric => 'mrr', vacuous_at_0 => true),
    ragdb_internal.assertion_kind('averagePrecision', 'threshold',
      'average precision is at least so much', 'expected averagePrecision >= %3$s%5$s',
      metric => 'map', vacuous_at_0 => true),
    ragdb_internal.assertion_kind('hitAtK', 'count', 'a labelled item is among the first count',
      'expected a labelled item among the first %2$s', metric => 'hit'),
    ragdb_internal.assertion_kind('rankLte', 'value count',
      'a chunk with this id or source (glob) is among the first count',
      'expected %1$s among the first %2$s', seeks => 'item'),
    ragdb_internal.assertion_kind('topSourceEq', 'value', 'the first chunk has this source',
      'expected the first chunk source equals %1$s'),
    ragdb_internal.assertion_kind('notRetrieved', 'value',
      'no chunk has this id or source (glob)', 'expected no retrieved chunk %1$s',
      seeks => 'item'),
    ragdb_internal.assertion_kind('orderedBefore', 'value',
      'of two ids or sources, separated by a comma, the first one ranks before the second',
      'expected %6$s before %7$s', seeks => 'item', splits => true),
    ragdb_internal.assertion_kind('containsAny', 'value',
      'some chunk has one of these texts, separated by commas',
      'expected a retrieved chunk text contains one of %1$s', seeks => 'text', splits => true),
    ragdb_internal.assertion_kind('containsAll', 'value',
      'each of these texts, separated by commas, is in some chunk',
      'expected retrieved chunk texts contain each of %1$s', seeks => 'text', splits => true),
    ragdb_internal.assertion_kind('chunkCountGte', 'count', 'there are at least so many chunks',
      'expected at least %2$s chunks', vacuous_at_0 => true),
    ragdb_internal.assertion_kind('chunkCountLte', 'count', 'there are at most so many chunks',
      'expected at most %2$s chunks'),
    ragdb_internal.assertion_kind('maxChunksPerSourceLte', 'count',
      'no source has more chunks than this', 'expected at most %2$s chunks of a source'),
    ragdb_internal.assertion_kind('contextTokensLte', 'count',
      'the chunks have at most so many tokens', 'expected at most %2$s tokens'),
    ragdb_internal.assertion_kind('topScoreGte', 'threshold',
      'the first chunk scores at least so much', 'expected the first chunk score >= %3$s'),
    ragdb_internal.assertion_kind('scoreMarginGte', 'threshold',
      'the first chunk scores at least so much more than the second',
      'expected the first chunk to lead by %3$s'),
    ragdb_internal.assertion_kind('withinSlice', 'value',
      'there is a chunk, and every one is in this stored slice',
      'expected every retrieved chunk in slice %1$s', needs => 'trace'),
    ragdb_internal.assertion_kind('admissible', null, 'the trace is admissible',
      'expected an admissible retrieval', needs => 'trace'),
    ragdb_internal.assertion_kind('tokenValid', null,
      'the trace''s admissibility token verifies', 'expected a valid admissibility token',
      needs => 'trace'),
    ragdb_internal.assertion_kind('policyEq', 'value',
      'the trace''s slice was built by this policy', 'expected slice policy %1$s',
      needs => 'trace'),
    ragdb_internal.assertion_kind('noShortfall', null,
      'the trace has no admissibility shortfall', 'expected no admissibility shortfall',
      needs => 'trace'),
    ragdb_internal.assertion_kind('embeddingModelEq', 'value',
      'the query was embedded by this model', 'expected embedding model %1$s',
      needs => 'trace'),
    ragdb_internal.assertion_kind('resultHashEq', 'value', 'the trace has this result_hash',
      'expected result hash %1$s', needs => 'trace'),
    ragdb_internal.assertion_kind('replayMatches', null,
      'a replay of the trace gives the same result', 'expected a replay to match exactly',
      needs => 'trace'),
    ragdb_internal.assertion_kind('enoughContext', null,
      'the gate finds what was retrieved enough for the query, as ragdb.ask does before it answers',
      'expected enough evidence for an answer', needs => 'trace'),
    ragdb_internal.assertion_kind('groundingCoverageGte', 'threshold',
      'the answer contract of the same query is grounded to this share',
      'expected grounding coverage >= %3$s', needs => 'answer', vacuous_at_0 => true),
    ragdb_internal.assertion_kind('citationsResolve', null,
      'every span of that answer cites chunks that were retrieved',
      'expected every citation to resolve', needs => 'answer'),
    ragdb_internal.assertion_kind('numbersGrounded', null,
      'every number in a span of that answer is in a chunk it cites',
      'expected every number to be grounded', needs => 'answer'),
    ragdb_internal.assertion_kind('abstains', null, 'that answer contract abstains',
      'expected the answer to abstain', needs => 'answer')
  ]) k;
end;

-- Whether the count of a kind of assertion is a number of places, from 1. Of these kinds `count` is
-- a number of places, so it begins at 1.
create or replace function ragdb_internal.counts_places(kind ragdb_internal.assertion_kind)
  returns boolean
language sql immutable parallel safe
return 'count' = any (pg_catalog.string_to_array(
    pg_catalog.concat_ws(' ', (kind).property, (kind).option), ' '))
  and pg_catalog.num_nonnulls((kind).metric, (kind).seeks) > 0;

-- Definer: what it calls is private.
create or replace function ragdb.assertion_kinds()
returns table (kind text, is_frozen boolean, property text, meaning text)
language sql immutable parallel safe security definer
begin atomic
  select k.kind, k.is_frozen, k.property, k.meaning from ragdb_internal.assertion_kinds() k;
end;
comment on function ragdb.assertion_kinds is
  'Lists the kinds of ragAssert: the closed group of eleven (is_frozen) and the second group, the '
  'properties that each takes, and when it passes.';

-- Lists the metrics of evaluations: as stored, as written in a contract, and whether each is
-- measured at a depth k.
create or replace function ragdb_internal.eval_metrics()
  returns table (metric text, written text, has_depth boolean)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('faithfulness', 'faithfulness', false),
    ('grounding', 'grounding', false),
    ('hit_rate', 'hitRate', false),
    ('citation_coverage', 'citationCoverage', false),
    ('min_relevance', 'minRelevance', false),
    ('recall', 'recall@k', true),
    ('precision', 'precision@k', true),
    ('ndcg', 'ndcg@k', true),
    ('judged', 'judged@k', true),
    ('mrr', 'mrr', false),
    ('map', 'map', false)
  ) as m (metric, written, has_depth);
end;

-- Returns the stored name of a metric that is written in camel or snake case, with @k (10 unless
-- given) where it has a depth; null for an unknown one.
create or replace function ragdb_internal.eval_metric(metric text) returns text
language sql immutable parallel safe
return (
  select case
    when not l.has_depth and m.depth is null then l.metric
    when l.has_depth and coalesce(m.depth, '10') ~ '^([1-9][0-9]{0,2}|1000)$'
      then l.metric || '@' || coalesce(m.depth, '10')
  end
  from (select
      pg_catalog.lower(pg_catalog.regexp_replace(
        pg_catalog.replace(pg_catalog.split_part(eval_metric.metric, '@', 1), 'DCG', 'dcg'),
        '([a-z])([A-Z])', '\1_\2', 'g') collate "C") as name,
      nullif(pg_catalog.split_part(eval_metric.metric, '@', 2), '') as depth) m
    join ragdb_internal.eval_metrics() l on l.metric = m.name);

-- Lists the policies of grounding, the default first: the share of an answer that must be grounded,
-- and whether a span's text must be in a chunk, unless a contract says otherwise.
create or replace function ragdb_internal.grounding_policies()
  returns table (policy text, min_coverage float8, lexical_support boolean)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('strict', 1::float8, true),
    ('lenient', 0, false)
  ) as p (policy, min_coverage, lexical_support);
end;
