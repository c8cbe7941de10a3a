-- Retrievals as they were: traces, their hits, and what rerankers made of them.
-- Append-only, partitioned by month. Keys, indexes and triggers are put on each partition
-- when it is made, because a parent that carries them restores empty from an extension's dump.

create table ragdb.retrieval_traces (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  corpus text not null,
  retriever text,
  rag text,
  retrieval_mode text not null
    constraint traces_retrieval_mode_is_known check (retrieval_mode in ('slice', 'global')),
  rank_mode text collate "C"
    constraint traces_rank_mode_is_known
      check (rank_mode in ('lexical', 'semantic', 'hybrid', 'reference')),
  query_text text,
  query_hash text,
  query_embedding_hash text,
  embedding_model text,
  slice_id text collate "C",
  anchor_chunk_id text,
  slice_chunk_count integer,
  slice_edge_count integer,
  policy_id text,
  policy_params_hash text,
  schema_version text,
  graph_snapshot_hash text,
  admissibility_token text,
  is_admissible boolean not null default false,
  admissibility_shortfall boolean not null default false,
  shortfall_reason text,
  limit_requested integer,
  limit_returned integer not null,
  min_score float8,
  filters jsonb,
  chunk_ids text[],
  statistics text,
  ranking_hash text,
  result_hash text,
  corpus_version bigint not null,
  is_exact boolean not null,
  elapsed_ms float8 not null,
  error_code text,
  client text,
  caller text collate "C" not null,
  caller_oid oid not null,
  otel_trace_id text,
  otel_span_id text,
  ranking jsonb,
  stages jsonb,
  trace_hash bytea not null,
  trace_mac bytea,
  -- a call may have failed because one of them was missing
  constraint traces_success_has_its_arguments
    check (error_code is not null or (rank_mode is not null and limit_requested is not null)),
  constraint traces_admissible_means_a_complete_slice check (
    not is_admissible or (retrieval_mode = 'slice' and slice_id is not null
      and anchor_chunk_id is not null and policy_id is not null and policy_params_hash is not null
      and schema_version is not null and graph_snapshot_hash is not null
      and admissibility_token is not null and not admissibility_shortfall and error_code is null)),
  constraint traces_shortfall_has_a_reason
    check (admissibility_shortfall = (shortfall_reason is not null))
) partition by range (created_at);
comment on table ragdb.retrieval_traces is
  'One row for each retrieval, with everything about it except the text of its chunks. '
  'Append-only, one partition a month (UTC). Read it through ragdb.get_trace, ragdb.list_traces '
  'and bi.retrieval_traces.';
comment on column ragdb.retrieval_traces.corpus_id is
  'Corpus that was searched. The number is never given out again when the corpus is dropped.';
comment on column ragdb.retrieval_traces.id is 'UUID of version 7: the query_id of a provenance.';
comment on column ragdb.retrieval_traces.created_at is
  'When the retrieval was recorded: the millisecond in the id.';
comment on column ragdb.retrieval_traces.corpus is 'Name of the corpus at that time.';
comment on column ragdb.retrieval_traces.retriever is
  'Retriever of the contract that asked; null without one.';
comment on column ragdb.retrieval_traces.rag is
  'Rag node of the contract that asked; null without one.';
comment on column ragdb.retrieval_traces.retrieval_mode is
  'slice (only the chunks of a slice could be hits) or global.';
comment on column ragdb.retrieval_traces.rank_mode is
  'How hits were ranked: lexical, semantic, hybrid or reference. Null where a failed call did not '
  'name such a mode.';
comment on column ragdb.retrieval_traces.query_text is
  'The query; null unless corpora.record_query_text is full.';
comment on column ragdb.retrieval_traces.query_hash is
  'SHA-256 (hex) of the query in UTF-8; null where corpora.record_query_text is none.';
comment on column ragdb.retrieval_traces.query_embedding_hash is
  'SHA-256 (hex) of the query''s embedding; null without one, and where '
  'corpora.record_query_text is none.';
comment on column ragdb.retrieval_traces.embedding_model is
  'Model of the query''s embedding; null without one.';
comment on column ragdb.retrieval_traces.slice_id is
  'Slice that admitted the chunks. It is null in global mode, as are the columns up to '
  'admissibility_token.';
comment on column ragdb.retrieval_traces.anchor_chunk_id is
  'Chunk that the slice was built around.';
comment on column ragdb.retrieval_traces.slice_chunk_count is 'Number of chunks of the slice.';
comment on column ragdb.retrieval_traces.slice_edge_count is 'Number of edges of the slice.';
comment on column ragdb.retrieval_traces.policy_id is 'Policy that the slice was built by.';
comment on column ragdb.retrieval_traces.policy_params_hash is 'Hash of the policy''s parameters.';
comment on column ragdb.retrieval_traces.schema_version is
  'Version of the slice''s canonical form.';
comment on column ragdb.retrieval_traces.graph_snapshot_hash is
  'Hash of the content that the slice admitted.';
comment on column ragdb.retrieval_traces.admissibility_token is
  'Token that the slice was presented with.';
comment on column ragdb.retrieval_traces.is_admissible is
  'Whether the hits may serve as evidence: the slice is complete, its token verifies, and there '
  'was no shortfall.';
comment on column ragdb.retrieval_traces.admissibility_shortfall is
  'Whether the search could not look at every admitted chunk.';
comment on column ragdb.retrieval_traces.shortfall_reason is
  'Why the search could not look at every admitted chunk; null without a shortfall.';
comment on column ragdb.retrieval_traces.limit_requested is
  'Hits asked for (k); null where a failed call did not say.';
comment on column ragdb.retrieval_traces.limit_returned is 'Hits returned: rows of retrieval_hits.';
comment on column ragdb.retrieval_traces.min_score is 'Lowest score asked for, 0 to 1.';
comment on column ragdb.retrieval_traces.filters is 'Metadata filter asked for; null without one.';
comment on column ragdb.retrieval_traces.chunk_ids is
  'Chunks that the call restricted the search to; null without such a list.';
comment on column ragdb.retrieval_traces.statistics is
  'Corpus whose term statistics were asked for; null for its own.';
comment on column ragdb.retrieval_traces.ranking_hash is
  'Hash of how the corpus ranked then (text configuration, major version of PostgreSQL, k1, b, '
  'pivot, synonyms).';
comment on column ragdb.retrieval_traces.result_hash is
  'SHA-256 (hex) of the ordered chunk ids, content hashes and scores: what the caller was given.';
comment on column ragdb.retrieval_traces.corpus_version is
  'Version of the corpus that was searched.';
comment on column ragdb.retrieval_traces.is_exact is
  'Whether no chunk was skipped by an approximate index; false for a failed call.';
comment on column ragdb.retrieval_traces.elapsed_ms is
  'Milliseconds of the search by the wall clock, without the recording.';
comment on column ragdb.retrieval_traces.error_code is
  'SQLSTATE of a failed retrieval; null for one that returned.';
comment on column ragdb.retrieval_traces.client is 'Name that the asking program gave itself.';
comment on column ragdb.retrieval_traces.caller is 'Database role that asked.';
comment on column ragdb.retrieval_traces.caller_oid is
  'Oid of that role.';
comment on column ragdb.retrieval_traces.otel_trace_id is
  'OpenTelemetry trace that the retrieval belongs to, 32 hex digits.';
comment on column ragdb.retrieval_traces.otel_span_id is
  'OpenTelemetry span that the retrieval belongs to, 16 hex digits.';
comment on column ragdb.retrieval_traces.ranking is
  'How the ranking was made: fusion, lexical_weight, min_lexical and min_semantic of a hybrid or '
  'semantic one, and of any the options and floors that were not the default, such as syntax; null '
  'for none.';
comment on column ragdb.retrieval_traces.stages is
  'Milliseconds of each stage of the search that ran in the database: embed (the query), semantic '
  'and lexical (the legs), fuse; null where it has none of them, and for a failed call.';
comment on column ragdb.retrieval_traces.trace_hash is
  'SHA-256 of every other column except trace_mac, and of the hits. ragdb.verify_trace recomputes '
  'it.';
comment on column ragdb.retrieval_traces.trace_mac is
  'HMAC of trace_hash by a signing key; null where there was no active key.';

create table ragdb.retrieval_hits (
  corpus_id integer not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  rank integer not null,
  chunk_id text collate "C" not null,
  content_hash bytea not null,
  score float8 not null,
  lexical_score float8,
  semantic_score float8,
  lexical_rank integer,
  semantic_rank integer
) partition by range (created_at);
comment on table ragdb.retrieval_hits is
  'One row for each hit of a retrieval. Append-only, in the same months as retrieval_traces. Read '
  'it through ragdb.trace_hits and bi.fact_retrieved_chunk.';
comment on column ragdb.retrieval_hits.corpus_id is 'Corpus of the trace.';
comment on column ragdb.retrieval_hits.trace_id is 'The trace.';
comment on column ragdb.retrieval_hits.created_at is 'The trace''s created_at.';
comment on column ragdb.retrieval_hits.rank is 'Place in the result, from 1.';
comment on column ragdb.retrieval_hits.chunk_id is 'The chunk. It may have been deleted since.';
comment on column ragdb.retrieval_hits.content_hash is 'SHA-256 of the chunk''s text at that time.';
comment on column ragdb.retrieval_hits.score is 'Score that ranked the hit, 0 to 1.';
comment on column ragdb.retrieval_hits.lexical_score is
  'Score of the lexical leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_score is
  'Score of the semantic leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.lexical_rank is
  'Place in the lexical leg, from 1, equal scores alike; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_rank is
  'Place in the semantic leg, from 1, equal scores alike; null where it took no part.';

create table ragdb.rerankers (
  name text collate "C" constraint rerankers_name_is_unique primary key
    constraint rerankers_name_is_short check (length(name) between 1 and 200)
    constraint rerankers_name_is_not_none check (name <> 'none'),
  max_tokens integer not null constraint rerankers_max_tokens_are_positive check (max_tokens > 0),
  weights_sha256 text collate "C" not null
    constraint rerankers_weights_are_a_sha256 check (weights_sha256 ~ '^[0-9a-f]{64}$'),
  source text not null,
  revision text,
  created_at timestamptz not null
);
comment on table ragdb.rerankers is
  'Models that score a query beside a passage, and where each is stored here. The weights of a '
  'reranker never change. Read it through ragdb.list_rerankers.';
comment on column ragdb.rerankers.name is 'Name that contracts and traces use.';
comment on column ragdb.rerankers.max_tokens is
  'Tokens of query and passage together that the model reads. The longer of the two is cut first.';
comment on column ragdb.rerankers.weights_sha256 is
  'SHA-256 (hex) of its model.safetensors, checked when it is loaded.';
comment on column ragdb.rerankers.source is
  'A path on the machine that loads the model, or a name on the hub.';
comment on column ragdb.rerankers.revision is
  'Revision on the hub; null for a path, or for the newest revision.';
comment on column ragdb.rerankers.created_at is 'When the reranker was created.';

create table ragdb.retrieval_reranks (
  corpus_id integer not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  rank integer not null,
  chunk_id text collate "C" not null,
  score float8 not null,
  model text not null,
  is_returned boolean not null,
  recorded_at timestamptz not null,
  rerank_hash bytea,
  rerank_mac bytea,
  constraint reranks_hash_is_in_the_first_row check ((rank = 1) = (rerank_hash is not null)),
  constraint reranks_mac_is_of_a_hash check (rerank_mac is null or rerank_hash is not null)
) partition by range (created_at);
comment on table ragdb.retrieval_reranks is
  'What a reranker made of the hits of a trace, one row for each hit. Append-only, in the same '
  'months as retrieval_traces. Read it through ragdb.trace_reranks and bi.fact_retrieved_chunk.';
comment on column ragdb.retrieval_reranks.corpus_id is 'Corpus of the trace.';
comment on column ragdb.retrieval_reranks.trace_id is 'The trace.';
comment on column ragdb.retrieval_reranks.created_at is 'The trace''s created_at.';
comment on column ragdb.retrieval_reranks.rank is
  'Place after reranking, from 1. Hits with the same score keep their order.';
comment on column ragdb.retrieval_reranks.chunk_id is 'The hit.';
comment on column ragdb.retrieval_reranks.score is
  'Score that the model gave the hit. It is finite, and higher is better. Scores of two models do '
  'not compare.';
comment on column ragdb.retrieval_reranks.model is 'Name of the reranker.';
comment on column ragdb.retrieval_reranks.is_returned is
  'Whether the hit is among the first k, which the caller was given.';
comment on column ragdb.retrieval_reranks.recorded_at is 'When the reranking was recorded.';
comment on column ragdb.retrieval_reranks.rerank_hash is
  'In the first row: SHA-256 of trace_hash and of all rows without this column and rerank_mac. '
  'ragdb.verify_trace recomputes it.';
comment on column ragdb.retrieval_reranks.rerank_mac is
  'In the first row: HMAC of rerank_hash by a signing key; null where there was no active key.';
