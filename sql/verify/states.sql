-- Settings, synonyms, cases, baselines and contracts in force, against what was recorded of them.

-- Returns what was recorded last of each thing but those of which there are many.
create or replace function ragdb_internal.last_states()
returns table (corpus_id integer, kind text, key text, hash bytea, created_at timestamptz)
language sql stable parallel safe
begin atomic
  select distinct on (s.corpus_id, s.kind, s.key)
      s.corpus_id, s.kind, s.key, s.hash, s.created_at
    from ragdb.recorded_states s where not ragdb_internal.is_one_of_many(s.kind)
    order by s.corpus_id, s.kind, s.key, s.nth desc;
end;

-- Compares settings, synonyms, cases, baselines and the contracts in force with what was recorded
-- last of each.
create or replace function ragdb_internal.verify_states(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row(count(*), null, coalesce(pg_catalog.array_agg(row('states', 'error',
      concat_ws(' ', s.kind, nullif(s.key, ''),
        'of corpus ' || coalesce(c.name, s.corpus_id::text)),
      case
        when s.at is null then 'nobody recorded it'
        when s.now is null then 'it was recorded on ' || s.at || ', and is gone'
        else 'it is not what was recorded on ' || s.at end,
      'restore it from a backup, or set it again by its function')::ragdb.finding
      order by s.corpus_id, s.kind, s.key)
    filter (where s.now is distinct from s.was), '{}'))::ragdb_internal.verified
  from (
    select coalesce(p.corpus_id, l.corpus_id), coalesce(p.kind, l.kind), coalesce(p.key, l.key),
        p.hash, l.hash, ragdb_internal.minute_of(l.created_at)
      from ragdb_internal.present_states() p
        full join ragdb_internal.last_states() l
          on (coalesce(p.corpus_id, 0), p.kind, p.key) = (coalesce(l.corpus_id, 0), l.kind, l.key)
    ) s (corpus_id, kind, key, now, was, at)
    left join ragdb.corpora c on c.corpus_id = s.corpus_id);
