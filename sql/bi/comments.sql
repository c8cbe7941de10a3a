-- A column means the same in every view that has it. bi.retrieval_traces has the comments of its
-- table; the attributes of bi.traces_otel, named with dots, have theirs beside the view. What is
-- said of one view, as view.column, is said last.

-- Comments the columns of views: names, or view.name, each before its meaning.
create or replace function ragdb_internal.comment_columns(meanings text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column record;
begin
  for v_column in
    select c.oid::regclass as view, a.attname, m.meaning
    from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and strpos(a.attname, '.') = 0
      cross join lateral (values (a.attname::text), (c.relname || '.' || a.attname)) n (name)
      join (select max(w.word) filter (where w.no % 2 = 1) as name,
          max(w.word) filter (where w.no % 2 = 0) as meaning
        from unnest(meanings) with ordinality w (word, no) group by (w.no + 1) / 2) m
        on m.name = n.name
    where c.relkind = 'v'
      and c.relnamespace in ('bi'::regnamespace, 'ragdb_internal'::regnamespace)
    order by strpos(m.name, '.')
  loop
    execute format('comment on column %s.%I is %L', v_column.view, v_column.attname,
      v_column.meaning);
  end loop;
end $$;

do $$ begin
  perform ragdb_internal.comment_columns(array[
    'actual', 'What the assertion found.',
    'admissible', 'Retrievals whose hits may serve as evidence.',
    'anchor_chunk_id', 'Chunk that the slice was built around.',
    'assert_no', 'Number of the assertion in its case, from 1.',
    'assertion_kind', 'Kind of the assertion.',
    'assertions', 'Assertions evaluated.',
    'better', 'higher or lower; null where neither is better.',
    'bin', 'The bin, for people: from its lower to its upper end.',
    'grain', 'How long the bucket is: hour or day.',
    'measure', 'latency or top_score.',
    'lower_end', 'Lower end of the bin.',
    'upper_end', 'Upper end of the bin.',
    'bin_no', 'Number of the bin, by which bins are sorted.',
    'bucket_at', 'Start of the hour or day (UTC).',
    'caller', 'Database role that asked.',
    'case_id', 'The case: joins dim_case.',
    'case_name', 'Name of the case.',
    'case_no', 'Number of the case in its run, from 1.',
    'cases', 'Cases evaluated.',
    'chunk_id', 'The chunk, which may be gone by now.',
    'chunks', 'Chunks now.',
    'client', 'Program that asked, as it named itself.',
    'code', 'PASS, ASSERTION_FAIL, or what kept the assertion from being evaluated.',
    'content_hash', 'Sha256 (hex) of the chunk''s text as it was found.',
    'contract', 'Contract that declares the evaluation.',
    'contract_version', 'Version of the contract.',
    'corpus', 'Name of the corpus.',
    'corpus_id', 'Number of the corpus; never given out again.',
    'corpus_version', 'Version of the corpus: raised by every transaction that writes to it.',
    'created_at', 'When it was recorded.',
    'created_by', 'Database role that registered it.',
    'day', 'The day (UTC): joins dim_date.',
    'dim_date.day', 'The day (UTC).',
    'day_at', 'Start of the day (UTC).',
    'day_of_month', '1 to 31.',
    'definition', 'What the metric says.',
    'dims', 'Width of a vector.',
    'distance_decay', 'How fast the weight of a chunk falls with its distance from the anchor.',
    'doc_cid', 'Sha256 of the document''s bytes.',
    'documents', 'Documents now.',
    'elapsed_ms', 'How long it took.',
    'embedding_model', 'Name of the embedder: joins dim_embedding_model; null without one.',
    'end_at', 'End of the span: when the trace was recorded.',
    'error_code', 'SQLSTATE of what failed: joins dim_error; null for what returned.',
    'dim_error.error_code', 'SQLSTATE.',
    'errors', 'Retrievals that failed.',
    'eval', 'Name of the evaluation.',
    'exact_results', 'Retrievals in which no approximate index skipped a chunk.',
    'expected', 'What the assertion demands.',
    'expression', 'SQL expression over the relation.',
    'fill_ratio', 'Hits returned of the hits asked for; null where a failed call asked for none.',
    'first_run_at', 'When the case was run first.',
    'incident_id', 'The incident.',
    'is_admissible', 'Whether the hits may serve as evidence.',
    'is_current', 'Whether the corpus still has the chunk with the text that was found.',
    'is_error', 'Whether it failed.',
    'is_exact', 'Whether no approximate index skipped a chunk.',
    'is_filtered', 'Whether a metadata filter was given.',
    'dim_eval_run.is_latest', 'Whether it is the latest run of its evaluation.',
    'is_internal', 'Whether the corpus is one of ragdb itself; leave it out of sums.',
    'is_passed', 'Whether it passed.',
    'is_returned',
      'Whether the caller was given it: false for what a reranker put behind the first k.',
    'is_required', 'Whether its failure fails the case.',
    'is_shortfall', 'Whether the search could not look at every admitted chunk.',
    'is_weekend', 'Whether it is a Saturday or Sunday.',
    'is_with_siblings', 'Whether a slice takes in siblings.',
    'is_zero_result', 'Whether it returned and had no hit.',
    'iso_week', 'Week of iso_year, 1 to 53.',
    'iso_weekday', '1 for Monday to 7 for Sunday.',
    'iso_year', 'Year that the week belongs to.',
    'label', 'Label that the run was given.',
    'labels', 'Relevance labels of the case.',
    'language', 'Language of the document.',
    'last_run_at', 'When the case was run last.',
    'lexical_rank',
      'Place in the lexical leg, from 1, equal scores alike; null where it took no part.',
    'lexical_score', 'Score of the lexical leg, 0 to 1; null where it took no part.',
    'lower_ms', 'Lower end of the bin.',
    'lower_score', 'Lower end of the bin.',
    'max_nodes', 'Most chunks of a slice.',
    'max_radius', 'Farthest that a chunk may be from the anchor, in edges.',
    'max_siblings_per_node', 'Most siblings taken in for a chunk.',
    'max_tokens', 'Tokens that the model reads at most.',
    'media_type', 'Media type of the document.',
    'message', 'The outcome in words.',
    'metric', 'Name of the metric; of an embedding model, how its vectors are compared.',
    'metric_value', 'Value of the metric that gates the run; null without one.',
    'min_score', 'Least score asked for, 0 to 1.',
    'model', 'What the model is called by those who made it.',
    'month', '1 to 12.',
    'name', 'Name of the span: retrieval and the corpus.',
    'otel_span_id', 'OpenTelemetry span it belongs to, 16 hex digits.',
    'otel_trace_id', 'OpenTelemetry trace it belongs to, 32 hex digits.',
    'page', 'Page of the chunk; null where there are none.',
    'pages', 'Pages of the document; null where there are none.',
    'passed_assertions', 'Assertions that passed.',
    'passed_assertions_ratio', 'Share of the assertions that passed.',
    'passed_cases', 'Cases that passed.',
    'passed_cases_ratio', 'Share of the cases that passed.',
    'policy_id', 'Name of the policy, which those that nobody named have in common.',
    'policy_key', 'Policy of the slice: joins dim_policy; null in global mode.',
    'policy_params_hash', 'Hash of the policy''s parameters.',
    'provider', 'Who runs the model here; null while nobody does.',
    'quarter', '1 to 4.',
    'query_hash', 'Sha256 (hex) of the query; null where the corpus keeps none.',
    'query_text', 'The query; null unless the corpus keeps the text of queries.',
    'rag', 'Rag node of the contract that asked; null without one.',
    'rank', 'Place in the result, from 1.',
    'rank_mode',
      'How hits were ranked: lexical, semantic, hybrid or reference; null where a failed call '
      'named none.',
    'reason', 'Why it was refused.',
    'reasons', 'Why the run failed although every case passed.',
    'record_query_text', 'What traces keep of a query: full, hash or none.',
    'refreshed_at', 'When the bucket was counted.',
    'relation', 'View of schema bi that the expression is over.',
    'requested_hits', 'Hits asked for.',
    'rerank_rank', 'Place after reranking, from 1; null where no reranker took part.',
    'rerank_score', 'What the reranker gave it, of no common scale; null where none took part.',
    'reranker', 'Name of the reranker; null without one.',
    'retrieval_mode', 'slice (only the chunks of a slice could be hits) or global.',
    'retrievals', 'Retrievals, failed ones included.',
    'retriever', 'Retriever of the contract that asked; null without one.',
    'returned_hits', 'Hits returned.',
    'revision', 'Revision of the model; null for any.',
    'run_id', 'The run: joins dim_eval_run.',
    'runs', 'How often the case was run.',
    'salience_weight', 'How much the salience of a turn counts, 0 to 1.',
    'score', 'Score that ranked the hit, 0 to 1.',
    'scored', 'Retrievals that had a first hit.',
    'semantic_rank',
      'Place in the semantic leg, from 1, equal scores alike; null where it took no part.',
    'semantic_score', 'Score of the semantic leg, 0 to 1; null where it took no part.',
    'severity', 'low, medium, high or critical.',
    'shortfall_reason',
      'Why the search could not look at every admitted chunk; null without a shortfall.',
    'shortfalls', 'Retrievals that could not look at every admitted chunk.',
    'size_bytes', 'Bytes of the documents.',
    'slice_id', 'Slice that admitted the chunks; null in global mode.',
    'source', 'Source of the document: a path or address.',
    'source_id', 'The document: joins dim_source; null when the chunk is gone.',
    'span_id', 'OpenTelemetry span, 16 hex digits.',
    'stale_labels', 'Relevance labels that no longer resolve.',
    'start_at', 'Start of the span.',
    'status', 'Of a run passed, failed or empty; of a case passed, failed or error.',
    'status_code', 'Status of the span: OK or ERROR.',
    'tags', 'Tags, joined by commas.',
    'text_config', 'Text configuration by which its texts and queries become lexemes.',
    'threshold', 'What the metric has to reach; null without a metric.',
    'title', 'Title for people.',
    'tokens', 'Tokens now, as the chunker counts them.',
    'top_k', 'Hits asked for unless a case says otherwise.',
    'top_scores', 'Sum of the scores of first hits; divide it by scored.',
    'total_elapsed_ms', 'Time of all retrievals that returned.',
    'trace_id', 'The retrieval: joins fact_retrieval.',
    'unit', 'count, ratio (0 to 1), score (0 to 1) or ms.',
    'updated_at', 'When it was written last.',
    'upper_ms', 'Upper end of the bin.',
    'upper_score', 'Upper end of the bin.',
    'value', 'Value of the metric.',
    'within_10ms', 'Retrievals that returned within 10 ms.',
    'within_30ms', 'Retrievals that returned within 30 ms.',
    'within_100ms', 'Retrievals that returned within 100 ms.',
    'within_300ms', 'Retrievals that returned within 300 ms.',
    'within_1000ms', 'Retrievals that returned within 1,000 ms.',
    'within_3000ms', 'Retrievals that returned within 3,000 ms.',
    'year', 'Calendar year.',
    'zero_results', 'Retrievals that returned and had no hit.',
    'agg_latency_hour.retrievals', 'Retrievals that returned and took so long.',
    'agg_latency_day.retrievals', 'Retrievals that returned and took so long.',
    'agg_top_score_hour.retrievals', 'Retrievals whose first hit scored so.',
    'agg_top_score_day.retrievals', 'Retrievals whose first hit scored so.',
    'fact_case_result.kind', 'case, or answer for an answer contract.',
    'dim_case.kind', 'case, or answer for an answer contract.',
    'fact_incident.kind', 'Kind of the incident, such as insufficient_evidence.',
    'dim_eval_run.caller', 'Database role that ran it.',
    'dim_eval_run.metric', 'Metric that gates the run; null without one.',
    'traces_otel.trace_id', 'OpenTelemetry trace, 32 hex digits.'
  ]);
end $$;

do $$
declare
  v_column record;
begin
  for v_column in
    select a.attname, pg_catalog.col_description(b.attrelid, b.attnum) as meaning
    from pg_catalog.pg_attribute a join pg_catalog.pg_attribute b
      on b.attname = a.attname and b.attrelid = 'ragdb.retrieval_traces'::regclass
    where a.attrelid = 'bi.retrieval_traces'::regclass and a.attnum > 0
  loop
    execute pg_catalog.format('comment on column bi.retrieval_traces.%I is %L', v_column.attname,
      v_column.meaning);
  end loop;
end $$;
