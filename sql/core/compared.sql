-- What was recorded last of what may change on purpose, beside what it is now.

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

-- Returns each thing as it is now and as it was recorded last, and when it was.
create or replace function ragdb_internal.compared_states()
returns table (corpus_id integer, kind text, key text, now bytea, was bytea, at timestamptz)
language sql stable parallel safe
begin atomic
  select coalesce(p.corpus_id, l.corpus_id), coalesce(p.kind, l.kind), coalesce(p.key, l.key),
      p.hash, l.hash, l.created_at
    from ragdb_internal.present_states() p
      full join ragdb_internal.last_states() l
        on (coalesce(p.corpus_id, 0), p.kind, p.key) = (coalesce(l.corpus_id, 0), l.kind, l.key);
end;

-- Records what was changed of some kinds on purpose, but for what was otherwise than recorded
-- before already: that was changed by somebody else.
create or replace function ragdb_internal.record_changed_states(kinds text[], otherwise jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.record_state(c.kind, c.corpus_id, c.key)
    from ragdb_internal.compared_states() c
    where c.kind = any (kinds) and c.now is distinct from c.was
      and not otherwise @> jsonb_build_array(jsonb_build_array(c.corpus_id, c.kind, c.key));
end $$;

-- Returns what of some kinds is otherwise than it was recorded last, as
-- ragdb_internal.record_changed_states() takes it.
create or replace function ragdb_internal.states_otherwise(kinds text[]) returns jsonb
language sql stable parallel safe
return (
  select coalesce(pg_catalog.jsonb_agg(
      pg_catalog.jsonb_build_array(c.corpus_id, c.kind, c.key)), '[]')
    from ragdb_internal.compared_states() c
    where c.kind = any (states_otherwise.kinds) and c.now is distinct from c.was);

-- What an earlier state of ragdb did not record is as it is now when it is recorded first: where
-- what was installed before did not compare it. Else what somebody inserted behind ragdb, of a kind
-- of which there was none, would be right from the next upgrade on.
do $$
begin
  perform ragdb_internal.record_changed_states(array(
    select k.kind from unnest(
        array['rights', 'floors', 'token', 'quota', 'embedder', 'reranker']) k (kind)
      where not exists (select from ragdb.recorded_states s where s.kind = k.kind)
        and not exists (select from ragdb.installed_code i
          where i.identity = 'ragdb_internal.compared_states()')), '[]');
end $$;
