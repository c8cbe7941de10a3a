-- The events of corpora as other programs read them.

-- Returns an event as the envelope of the wire.
create or replace function ragdb_internal.event_envelope(event ragdb.events) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('schema_version', 1, 'event_id', (event).event_id,
  'lamport', (event).lamport, 'wall_clock', ragdb_internal.wire_time((event).created_at),
  'community_id', current_database(), 'author', (event).author, 'event_type', (event).kind,
  'data', pg_catalog.jsonb_build_object('corpus', (event).corpus, 'doc_cid', (event).doc_cid,
    'title', (event).title, 'language', (event).language, 'chunks', (event).chunks));

-- Returns a page of events as envelopes of the wire, oldest first.
create or replace function ragdb_internal.event_envelopes(page ragdb.events[]) returns jsonb
language sql stable parallel safe
return (
  select coalesce(pg_catalog.jsonb_agg(
    ragdb_internal.event_envelope(e) order by e.lamport, e.corpus_id), '[]')
  from pg_catalog.unnest(event_envelopes.page) e);

create or replace function ragdb.corpus_event_envelopes(
  corpus text, after bigint default 0, count integer default 100)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.routable_corpus(corpus_event_envelopes.corpus, 'read');
  v_after constant bigint := coalesce(corpus_event_envelopes.after, 0);
  v_page constant ragdb.events[] :=
    ragdb_internal.events_of(v_corpus, v_after, corpus_event_envelopes.count);
begin
  return jsonb_build_object('events', ragdb_internal.event_envelopes(v_page),
    'next', coalesce(v_page[cardinality(v_page)].lamport, v_after));
end $$;
comment on function ragdb.corpus_event_envelopes is
  'Returns the events of a corpus after a tick (0: from the beginning), oldest first, at most '
  'count (1 to 10000), as ragdb.event_envelopes does; next is the number to pass as after. Raises '
  'RG400, RG401, RG404, RG438.';

create or replace function ragdb.event_envelopes(
  after jsonb default null, count integer default 100)
returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_page constant ragdb.events[] :=
    ragdb_internal.next_events(event_envelopes.after, event_envelopes.count, false);
begin
  return jsonb_build_object(
    'events', ragdb_internal.event_envelopes(v_page),
    'next', ragdb_internal.next_position(event_envelopes.after, v_page));
end $$;
comment on function ragdb.event_envelopes is
  'Returns the next events of all corpora that the caller may read, at most count (1 to 10000), '
  'each as the envelope of the wire: {"events": [{"schema_version", "event_id", "lamport", '
  '"wall_clock", "community_id" (the database), "author" (the role), "event_type", "data": '
  '{"corpus", "doc_cid", "title", "language", "chunks"}}], "next"}. To go on, pass next as after '
  '(null: from the beginning). Personal corpora are left out. Raises RG400.';
