-- Rollups: retrievals counted by hour and by day.

-- Without a key: who records a trace only inserts, and waits for nobody.
create table ragdb.trace_marks (
  corpus_id integer not null,
  hour_at timestamptz not null
);
-- without a key nothing may be deleted where a publication has the table
alter table ragdb.trace_marks replica identity full;
comment on table ragdb.trace_marks is
  'Hours with traces that the rollups may not have counted, one row for each trace. Read it '
  'through bi.dim_error.';
comment on column ragdb.trace_marks.corpus_id is 'Corpus of the trace.';
comment on column ragdb.trace_marks.hour_at is 'Start of the hour in which the trace was recorded.';

create table ragdb.retrieval_rollups (
  corpus_id integer not null,
  grain text collate "C" not null
    constraint retrieval_rollups_grain_is_known check (grain in ('hour', 'day')),
  bucket_at timestamptz not null,
  retrieval_mode text collate "C" not null,
  rank_mode text collate "C",
  policy_key text collate "C",
  retriever text collate "C",
  rag text collate "C",
  error_code text collate "C",
  retrievals bigint not null,
  errors bigint not null,
  zero_results bigint not null,
  admissible bigint not null,
  shortfalls bigint not null,
  exact_results bigint not null,
  requested_hits bigint not null,
  returned_hits bigint not null,
  -- whole numbers: their sum is the same in every order
  elapsed_us bigint not null,
  within_10ms bigint not null,
  within_30ms bigint not null,
  within_100ms bigint not null,
  within_300ms bigint not null,
  within_1000ms bigint not null,
  within_3000ms bigint not null,
  scored bigint not null,
  top_scores_ppm bigint not null,
  refreshed_at timestamptz not null,
  constraint retrieval_rollups_are_unique unique nulls not distinct
    (corpus_id, grain, bucket_at, retrieval_mode, rank_mode, policy_key, retriever, rag,
      error_code)
);
create index retrieval_rollups_by_time on ragdb.retrieval_rollups (grain, bucket_at);
alter table ragdb.retrieval_rollups replica identity full;
comment on table ragdb.retrieval_rollups is
  'Retrievals counted by hour and by day (UTC). The counts outlive the traces. Read it through '
  'bi.agg_retrieval_hour and bi.agg_retrieval_day.';
comment on column ragdb.retrieval_rollups.corpus_id is 'Corpus that was searched.';
comment on column ragdb.retrieval_rollups.grain is 'How long the bucket is: hour or day.';
comment on column ragdb.retrieval_rollups.bucket_at is 'Start of the hour or day.';
comment on column ragdb.retrieval_rollups.retrieval_mode is 'slice or global.';
comment on column ragdb.retrieval_rollups.rank_mode is
  'How hits were ranked; null where a failed call did not name a mode.';
comment on column ragdb.retrieval_rollups.policy_key is
  'Policy of the slice and the hash of its parameters, joined by @; null in global mode.';
comment on column ragdb.retrieval_rollups.retriever is
  'Retriever of the contract that asked; null without one.';
comment on column ragdb.retrieval_rollups.rag is
  'Rag node of the contract that asked; null without one.';
comment on column ragdb.retrieval_rollups.error_code is
  'SQLSTATE of failed retrievals; null for those that returned.';
comment on column ragdb.retrieval_rollups.retrievals is 'Retrievals, including those that failed.';
comment on column ragdb.retrieval_rollups.errors is 'Retrievals that failed.';
comment on column ragdb.retrieval_rollups.zero_results is 'Retrievals that returned without a hit.';
comment on column ragdb.retrieval_rollups.admissible is
  'Retrievals whose hits may serve as evidence.';
comment on column ragdb.retrieval_rollups.shortfalls is
  'Retrievals that could not look at every admitted chunk.';
comment on column ragdb.retrieval_rollups.exact_results is
  'Retrievals in which no approximate index skipped a chunk.';
comment on column ragdb.retrieval_rollups.requested_hits is
  'Hits asked for, without failed retrievals.';
comment on column ragdb.retrieval_rollups.returned_hits is 'Hits returned.';
comment on column ragdb.retrieval_rollups.elapsed_us is
  'Microseconds of all searches that returned.';
comment on column ragdb.retrieval_rollups.within_10ms is 'Retrievals that returned within 10 ms.';
comment on column ragdb.retrieval_rollups.within_30ms is 'Retrievals that returned within 30 ms.';
comment on column ragdb.retrieval_rollups.within_100ms is 'Retrievals that returned within 100 ms.';
comment on column ragdb.retrieval_rollups.within_300ms is 'Retrievals that returned within 300 ms.';
comment on column ragdb.retrieval_rollups.within_1000ms is
  'Retrievals that returned within 1,000 ms.';
comment on column ragdb.retrieval_rollups.within_3000ms is
  'Retrievals that returned within 3,000 ms.';
comment on column ragdb.retrieval_rollups.scored is 'Retrievals that had a first hit.';
comment on column ragdb.retrieval_rollups.top_scores_ppm is
  'Sum of the scores of first hits, in millionths.';
comment on column ragdb.retrieval_rollups.refreshed_at is 'When the bucket was counted.';

create table ragdb.histogram_rollups (
  corpus_id integer not null,
  grain text collate "C" not null
    constraint histogram_rollups_grain_is_known check (grain in ('hour', 'day')),
  bucket_at timestamptz not null,
  rank_mode text collate "C",
  measure text collate "C" not null
    constraint histogram_rollups_measure_is_known check (measure in ('latency', 'top_score')),
  bin integer not null,
  retrievals bigint not null,
  constraint histogram_rollups_are_unique unique nulls not distinct
    (corpus_id, grain, bucket_at, rank_mode, measure, bin)
);
create index histogram_rollups_by_time on ragdb.histogram_rollups (grain, measure, bucket_at);
alter table ragdb.histogram_rollups replica identity full;
comment on table ragdb.histogram_rollups is
  'How latencies and the scores of first hits are distributed, by hour and by day (UTC). Read it '
  'through bi.agg_latency_hour, bi.agg_latency_day, bi.agg_top_score_hour and '
  'bi.agg_top_score_day.';
comment on column ragdb.histogram_rollups.corpus_id is 'Corpus that was searched.';
comment on column ragdb.histogram_rollups.grain is 'How long the bucket is: hour or day.';
comment on column ragdb.histogram_rollups.bucket_at is 'Start of the hour or day.';
comment on column ragdb.histogram_rollups.rank_mode is 'How hits were ranked.';
comment on column ragdb.histogram_rollups.measure is
  'latency, of retrievals that returned: bin n is 2^(n/4) to 2^((n+1)/4) ms. top_score: bin n is '
  'n/20 to (n+1)/20.';
comment on column ragdb.histogram_rollups.bin is
  'Number of the bin: -20 to 80 of latency, 0 to 19 of top_score.';
comment on column ragdb.histogram_rollups.retrievals is 'Retrievals in the bin.';
