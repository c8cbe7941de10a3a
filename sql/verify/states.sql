-- What may change on purpose, against what was recorded of it last.

-- Compares all that is recorded after each change but what there is much of.
create or replace function ragdb_internal.verify_states(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row(count(*), null, coalesce(pg_catalog.array_agg(row('states', 'error',
      concat_ws(' ', s.kind, nullif(s.key, ''),
        'of corpus ' || coalesce(c.name, s.corpus_id::text)),
      case
        when s.at is null then 'nobody recorded it'
        when s.now is null
          then 'it was recorded on ' || ragdb_internal.minute_of(s.at) || ', and is gone'
        else 'it is not what was recorded on ' || ragdb_internal.minute_of(s.at) end,
      'restore it from a backup, or set it again by its function')::ragdb.finding
      order by s.corpus_id, s.kind, s.key)
    filter (where s.now is distinct from s.was), '{}'))::ragdb_internal.verified
  from ragdb_internal.compared_states() s
    left join ragdb.corpora c on c.corpus_id = s.corpus_id);
