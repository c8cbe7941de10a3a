comment on table ragdb.trace_marks is
  'Hours that have traces which the rollups may not have counted, one row a trace.';
comment on column ragdb.trace_marks.corpus_id is 'Corpus of the trace.';
comment on column ragdb.trace_marks.hour_at is 'Start of the hour in which it was recorded.';
comment on table ragdb.retrieval_rollups is
  'Retrievals counted by hour and by day (UTC). They outlive the traces; read through the views of '
  'schema bi.';
comment on column ragdb.retrieval_rollups.corpus_id is 'Corpus that was searched.';
comment on column ragdb.retrieval_rollups.grain is 'How long the bucket is: hour or day.';
comment on column ragdb.retrieval_rollups.bucket_at is 'Start of the hour or day.';
comment on column ragdb.retrieval_rollups.retrieval_mode is 'slice or global.';
comment on column ragdb.retrieval_rollups.rank_mode is
  'How hits were ranked; null where a failed call named no mode.';
comment on column ragdb.retrieval_rollups.policy_id is 'Policy of the slice; null in global mode.';
comment on column ragdb.retrieval_rollups.error_code is
  'SQLSTATE of failed retrievals; null for those that returned.';
comment on column ragdb.retrieval_rollups.retrievals is 'Retrievals, failed ones included.';
comment on column ragdb.retrieval_rollups.errors is 'Retrievals that failed.';
comment on column ragdb.retrieval_rollups.zero_results is
  'Retrievals that returned and had no hit.';
comment on column ragdb.retrieval_rollups.admissible is
  'Retrievals whose hits may serve as evidence.';
comment on column ragdb.retrieval_rollups.shortfalls is
  'Retrievals that could not look at every admitted chunk.';
comment on column ragdb.retrieval_rollups.exact_results is
  'Retrievals in which no approximate index skipped a chunk.';
comment on column ragdb.retrieval_rollups.requested_hits is
  'Hits asked for, failed retrievals left out.';
comment on column ragdb.retrieval_rollups.returned_hits is 'Hits returned.';
comment on column ragdb.retrieval_rollups.elapsed_us is
  'Microseconds of all searches that returned.';
comment on column ragdb.retrieval_rollups.within_10ms is
  'Retrievals that returned within 10 ms, as the next five for their times.';
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
comment on table ragdb.histogram_rollups is
  'How latencies and the scores of first hits are distributed, by hour and by day (UTC); read '
  'through the views of schema bi.';
comment on column ragdb.histogram_rollups.corpus_id is 'Corpus that was searched.';
comment on column ragdb.histogram_rollups.grain is 'How long the bucket is: hour or day.';
comment on column ragdb.histogram_rollups.bucket_at is 'Start of the hour or day.';
comment on column ragdb.histogram_rollups.rank_mode is 'How hits were ranked.';
comment on column ragdb.histogram_rollups.measure is
  'latency, of retrievals that returned: bin n is 2^(n/4) to 2^((n+1)/4) ms; or top_score: bin n '
  'is n/20 to (n+1)/20.';
comment on column ragdb.histogram_rollups.bin is
  'Number of the bin: -20 to 80 of latency, 0 to 19 of top_score.';
comment on column ragdb.histogram_rollups.retrievals is 'Retrievals in the bin.';
