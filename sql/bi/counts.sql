-- Views of what was counted: retrievals by hour, and by day. A view has one grain, so that no sum
-- over it counts twice. Both grains have the same columns.

-- The columns once, for both grains; here nobody can read it.
create or replace view ragdb_internal.counted_retrievals as
select r.grain, r.bucket_at, (r.bucket_at at time zone 'UTC')::date as day,
    r.corpus_id, r.retrieval_mode, r.rank_mode, r.policy_key, r.retriever, r.rag, r.error_code,
    r.retrievals, r.errors, r.zero_results, r.admissible, r.shortfalls, r.exact_results,
    r.requested_hits, r.returned_hits, r.elapsed_us / 1000::float8 as total_elapsed_ms,
    r.within_10ms, r.within_30ms, r.within_100ms, r.within_300ms, r.within_1000ms,
    r.within_3000ms, r.scored, r.top_scores_ppm / 1000000::float8 as top_scores, r.refreshed_at
from ragdb.retrieval_rollups r;
comment on view ragdb_internal.counted_retrievals is 'The rollups in the units of schema bi.';

create or replace view ragdb_internal.counted_bins as
select r.grain, r.bucket_at, (r.bucket_at at time zone 'UTC')::date as day, r.corpus_id,
    r.rank_mode, r.measure, r.bin as bin_no,
    case when r.measure = 'top_score' then r.bin / 20::float8
      when r.bin = -20 then 0 else pg_catalog.power(2, r.bin / 4::float8) end as lower_end,
    case when r.measure = 'top_score' then (r.bin + 1) / 20::float8
      else pg_catalog.power(2, (r.bin + 1) / 4::float8) end as upper_end, r.retrievals
from ragdb.histogram_rollups r;
comment on view ragdb_internal.counted_bins is 'The bins of the histograms with their ends.';

create or replace view ragdb_internal.named_bins as
select b.*, pg_catalog.to_char(b.lower_end, n.form) || ' to ' || pg_catalog.to_char(b.upper_end,
    n.form) || n.unit as bin
from ragdb_internal.counted_bins b
  cross join lateral (select
    case when b.measure = 'top_score' then 'FM0.00' when b.upper_end < 2 then 'FM0.00'
      when b.upper_end < 20 then 'FM990.0' else 'FM999999990' end as form,
    case b.measure when 'latency' then ' ms' else '' end as unit) n;
comment on view ragdb_internal.named_bins is 'The bins of the histograms with a label for people.';

create or replace view bi.agg_retrieval_hour with (security_barrier = true) as
select a.bucket_at, a.day, a.corpus_id::bigint as corpus_id, c.corpus, c.is_internal,
    a.retrieval_mode, a.rank_mode, a.policy_key, a.retriever, a.rag, a.error_code, a.retrievals,
    a.errors, a.zero_results, a.admissible, a.shortfalls, a.exact_results, a.requested_hits,
    a.returned_hits, a.total_elapsed_ms, a.within_10ms, a.within_30ms, a.within_100ms,
    a.within_300ms, a.within_1000ms, a.within_3000ms, a.scored, a.top_scores, a.refreshed_at
from ragdb_internal.counted_retrievals a
  join bi.readable_corpora() c on c.corpus_id = a.corpus_id
where a.grain = 'hour';
comment on view bi.agg_retrieval_hour is
  'Retrievals counted by hour (UTC), corpus, modes, policy, retriever, rag and error. As of '
  'refreshed_at, and kept when traces are dropped.';

create or replace view bi.agg_retrieval_day with (security_barrier = true) as
select a.bucket_at, a.day, a.corpus_id::bigint as corpus_id, c.corpus, c.is_internal,
    a.retrieval_mode, a.rank_mode, a.policy_key, a.retriever, a.rag, a.error_code, a.retrievals,
    a.errors, a.zero_results, a.admissible, a.shortfalls, a.exact_results, a.requested_hits,
    a.returned_hits, a.total_elapsed_ms, a.within_10ms, a.within_30ms, a.within_100ms,
    a.within_300ms, a.within_1000ms, a.within_3000ms, a.scored, a.top_scores, a.refreshed_at
from ragdb_internal.counted_retrievals a
  join bi.readable_corpora() c on c.corpus_id = a.corpus_id
where a.grain = 'day';
comment on view bi.agg_retrieval_day is
  'Retrievals counted by day (UTC), corpus, modes, policy, retriever, rag and error. As of '
  'refreshed_at, and kept when traces are dropped.';

create or replace view bi.agg_latency_hour with (security_barrier = true) as
select b.bucket_at, b.day, b.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, b.rank_mode,
    b.bin_no, b.bin, b.lower_end as lower_ms, b.upper_end as upper_ms, b.retrievals
from ragdb_internal.named_bins b join bi.readable_corpora() c on c.corpus_id = b.corpus_id
where b.grain = 'hour' and b.measure = 'latency';
comment on view bi.agg_latency_hour is
  'How long retrievals that returned took, as a histogram by hour (UTC) from which percentiles are '
  'computed.';

create or replace view bi.agg_top_score_hour with (security_barrier = true) as
select b.bucket_at, b.day, b.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, b.rank_mode,
    b.bin_no, b.bin, b.lower_end as lower_score, b.upper_end as upper_score, b.retrievals
from ragdb_internal.named_bins b join bi.readable_corpora() c on c.corpus_id = b.corpus_id
where b.grain = 'hour' and b.measure = 'top_score';
comment on view bi.agg_top_score_hour is
  'The scores of first hits as a histogram by hour (UTC).';

create or replace view bi.agg_latency_day with (security_barrier = true) as
select b.bucket_at, b.day, b.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, b.rank_mode,
    b.bin_no, b.bin, b.lower_end as lower_ms, b.upper_end as upper_ms, b.retrievals
from ragdb_internal.named_bins b join bi.readable_corpora() c on c.corpus_id = b.corpus_id
where b.grain = 'day' and b.measure = 'latency';
comment on view bi.agg_latency_day is
  'How long retrievals that returned took, as a histogram by day (UTC) from which percentiles are '
  'computed.';

create or replace view bi.agg_top_score_day with (security_barrier = true) as
select b.bucket_at, b.day, b.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, b.rank_mode,
    b.bin_no, b.bin, b.lower_end as lower_score, b.upper_end as upper_score, b.retrievals
from ragdb_internal.named_bins b join bi.readable_corpora() c on c.corpus_id = b.corpus_id
where b.grain = 'day' and b.measure = 'top_score';
comment on view bi.agg_top_score_day is
  'The scores of first hits as a histogram by day (UTC).';
