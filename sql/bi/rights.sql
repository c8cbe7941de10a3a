-- Who reads schema bi: its reporting role, and every reader.

comment on schema bi is 'Views for dashboards: retrievals, answers, evaluations and their counts.';
revoke all on all routines in schema bi from public, ragdb_reader, bi_reader;
grant usage on schema bi to bi_reader, ragdb_reader;
grant select on all tables in schema bi to bi_reader, ragdb_reader;
grant execute on function bi.readable_corpora(), bi.unqueued_chunks(), bi.as_json(float8),
  bi.bar(float8, float8, integer), bi.sparkline(float8[]) to bi_reader, ragdb_reader;
