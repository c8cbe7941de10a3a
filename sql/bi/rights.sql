-- Who reads schema bi: its reporting role, and every reader.

comment on schema bi is 'Views for dashboards: retrievals, answers, evaluations and their counts.';
revoke all on all routines in schema bi from public, ragdb_reader, bi_reader;
grant usage on schema bi to bi_reader, ragdb_reader;
-- not tables that others made there, which are theirs to grant
do $$ begin
  execute (select format('grant select on %s to bi_reader, ragdb_reader',
      string_agg(c.oid::regclass::text, ', '))
    from pg_class c where c.relnamespace = 'bi'::regnamespace and c.relkind = 'v'
      and c.relowner = current_user::regrole);
end $$;
grant execute on function bi.readable_corpora(), bi.unqueued_chunks(), bi.as_json(float8),
  bi.bar(float8, float8, integer), bi.sparkline(float8[]) to bi_reader, ragdb_reader;
