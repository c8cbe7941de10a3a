-- Anchors: the chunk that a slice begins at, found by its id, its session or its time.

create or replace function ragdb.resolve_explicit(corpus text, chunk_id text) returns text
language plpgsql stable security definer -- chunks is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(resolve_explicit.corpus, 'read');
begin
  return (select c.chunk_id from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = resolve_explicit.chunk_id);
end $$;
comment on function ragdb.resolve_explicit is
  'Returns the chunk id when the corpus has that chunk, else null. Raises RG400, RG404.';

create or replace function ragdb.resolve_from_session(corpus text, session text) returns text
language plpgsql stable security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(resolve_from_session.corpus, 'read');
begin
  return (select c.chunk_id from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_no = (
      select t.chunk_no from ragdb.turns t
      where t.corpus_id = v_corpus.corpus_id and t.session_id = resolve_from_session.session
      order by t.created_at desc, t.place desc, t.turn_id desc limit 1));
end $$;
comment on function ragdb.resolve_from_session is
  'Returns the latest turn of a session, or null when it has none. Raises RG400, RG404.';

create or replace function ragdb.resolve_temporal(
  corpus text, count integer default 1, project text default null)
returns table (chunk_id text, session_id text, created_at timestamptz)
language plpgsql stable security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb_internal.open_corpus(resolve_temporal.corpus, 'read');
  perform ragdb_internal.check_listed(resolve_temporal.count, 'turns', 1000);
  return query
    select c.chunk_id, t.session_id, t.created_at
      from ragdb.turns t
      cross join lateral (
        select h.chunk_id, h.doc_no from ragdb.chunks h
        where h.corpus_id = t.corpus_id and h.chunk_no = t.chunk_no offset 0) c
      cross join lateral (
        select o.metadata from ragdb.documents o
        where o.corpus_id = t.corpus_id and o.doc_no = c.doc_no offset 0) d
      -- as ragdb.turns_by_time
      where t.corpus_id + 0 = v_corpus.corpus_id
        and (resolve_temporal.project is null
          or d.metadata ->> 'project' = resolve_temporal.project)
      order by t.created_at at time zone 'UTC' desc, c.chunk_id limit resolve_temporal.count;
end $$;
comment on function ragdb.resolve_temporal is
  'Returns the 1 to 1000 most recent turns, of conversations whose metadata names the project when '
  'one is given. Raises RG400, RG404.';
