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
create or replace function ragdb_internal.eval_metric(metric text) returns text
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
      pg_catalog.split_part(eval_metric.metric, '@', 1), 'DCG', 'dcg'), '([a-z])([A-Z])', '\1_\2',
        'g') collate "C") as name,
    nullif(pg_catalog.split_part(eval_metric.metric, '@', 2), '') as k) m);
comment on function ragdb_internal.eval_metric(text) is
  'Returns the stored name of a metric, in camel or snake case, with @k (10 unless given); null '
  'for an unknown one.';
