-- The events of corpora as other programs read them.

create or replace function ragdb.event_envelopes(after uuid default null, count integer default 100)
returns setof jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %, not 1 to 10000', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of events to read',
        hint = 'the default is 100';
  end if;
  return query
    with routable as materialized (
      select c.corpus_id from ragdb.corpora c
      where c.personal_of is null
        and ragdb_internal.privilege(c) > 0
    )
    select jsonb_build_object('schema_version', 1, 'event_id', e.event_id, 'lamport', e.lamport,
      'wall_clock', ragdb_internal.wire_time(e.created_at), 'community_id', current_database(),
      'author', e.author, 'event_type', e.kind, 'data', jsonb_build_object('corpus', e.corpus,
        'doc_cid', e.doc_cid, 'title', e.title, 'language', e.language, 'chunks', e.chunks))
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from routable r)
      and e.event_id > coalesce(event_envelopes.after, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit event_envelopes.count;
end $$;
comment on function ragdb.event_envelopes(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 '
  'to 10000), each as the envelope of the wire: {"schema_version", "event_id", "lamport", '
  '"wall_clock", "community_id" (the database), "author" (the role), "event_type", "data": '
  '{"corpus", "doc_cid", "title", "language", "chunks"}}; personal corpora are left out. Raises '
  'RG400.';
