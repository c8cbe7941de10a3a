-- State of the rollups: what was recorded since they were refreshed, and the counts by hour and day.

-- One row a trace, until its hour is counted again. No key: who records only inserts, and waits for nobody.
create table ragdb.trace_marks (
  corpus_id integer not null,
  hour_at timestamptz not null
);

create table ragdb.retrieval_rollups (
  corpus_id integer not null,
  grain text collate "C" not null
    constraint retrieval_rollups_grain_is_known check (grain in ('hour', 'day')),
  bucket_at timestamptz not null,
  retrieval_mode text collate "C" not null,
  rank_mode text collate "C",
  policy_id text collate "C",
  error_code text collate "C",
  retrievals bigint not null,
  errors bigint not null,
  zero_results bigint not null,
  admissible bigint not null,
  shortfalls bigint not null,
  exact_results bigint not null,
  requested_hits bigint not null,
  returned_hits bigint not null,
  -- whole numbers: a sum of them is the same in every order
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
    (corpus_id, grain, bucket_at, retrieval_mode, rank_mode, policy_id, error_code)
);
create index retrieval_rollups_by_time on ragdb.retrieval_rollups (grain, bucket_at);

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

-- what was recorded before there were rollups
insert into ragdb.trace_marks
  select distinct t.corpus_id, pg_catalog.date_trunc('hour', t.created_at, 'UTC') from ragdb.retrieval_traces t;
