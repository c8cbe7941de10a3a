-- Who wrote what of a shared corpus, and what is in conflict.

create or replace function ragdb.list_conflicts(corpus text, only_open boolean default true)
returns table (source text, winner text, winner_author text, loser text, loser_author text,
  loser_lamport bigint, is_open boolean, was_erased boolean, document jsonb, found_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(list_conflicts.corpus, 'read');
begin
  return query
    select c.source, encode(c.winner, 'hex'), encode(w.author, 'hex'), encode(c.loser, 'hex'),
      encode(l.author, 'hex'), l.lamport, l.is_head, c.body is null, c.body::jsonb, c.found_at
    from ragdb.shared_conflicts c
      cross join lateral (select e.* from ragdb.shared_events e
        where e.corpus_id = c.corpus_id and e.hash = c.loser offset 0) l
      cross join lateral (select e.* from ragdb.shared_events e
        where e.corpus_id = c.corpus_id and e.hash = c.winner offset 0) w
    where c.corpus_id = v_corpus.corpus_id
      and (l.is_head or not coalesce(only_open, false))
    order by c.source, c.found_at, c.loser;
end $$;
comment on function ragdb.list_conflicts is
  'Lists the changes of a shared corpus that were not taken, because somebody else changed the '
  'same source without knowing of them: both events and authors, whether it is open (no later '
  'change knew of it), and the document that was not taken; was_erased says that its text is not '
  'kept, because it was erased or never came. Only the open ones, or all. Raises RG400, RG404.';

create or replace function ragdb.list_shared_documents(corpus text, sources text[] default null)
returns table (source text, state text, author text, peer text, trust text, is_revoked boolean,
  is_local boolean, lamport bigint, event text, signed_at text,
  arrived_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(list_shared_documents.corpus, 'read');
  -- a plan for any sources reads all documents where "null or one of these" is asked of each
  v_sources constant text[] := coalesce(list_shared_documents.sources, array(
    select d.source from ragdb.shared_documents d where d.corpus_id = v_corpus.corpus_id));
begin
  return query
    select d.source, case when d.event_id is distinct from ragdb_internal.local_event(d.corpus_id,
        d.source) then 'changed' else d.state end, encode(e.author, 'hex'), p.name, p.trust,
      p.revoked_at is not null, e.author is not distinct from s.author, e.lamport,
      encode(e.hash, 'hex'), e.event::jsonb ->> 'at', e.arrived_at
    from (select distinct u.source from unnest(v_sources) u (source)) g
      cross join lateral (select h.* from ragdb.shared_documents h
        where h.corpus_id = v_corpus.corpus_id and h.source = g.source offset 0) d
      join ragdb.shared_corpora s on s.corpus_id = d.corpus_id
      cross join lateral (select h.* from ragdb.shared_events h
        where h.corpus_id = d.corpus_id and h.hash = d.hash offset 0) e
      left join ragdb.peers p on p.public_key = e.author
    order by d.source;
end $$;
comment on function ragdb.list_shared_documents is
  'Lists the sources of a shared corpus (null: all) with the event that decides each: its state '
  '(present, erased, waiting for its text, changed here since), the key of its author in hex, the '
  'peer with that key and its trust, whether that key is revoked, whether this database signs by '
  'it, and when it was signed and came here. Raises RG400, RG404.';
