-- Anchors: where a slice begins, found by a query or by whatever is known.

create or replace function ragdb.resolve_from_query(
  corpus text, query text, mode text default null, query_embedding float8[] default null)
returns text
language sql stable parallel restricted
return (select h.chunk_id from ragdb.search(
  corpus => resolve_from_query.corpus, query => resolve_from_query.query, k => 1,
  mode => resolve_from_query.mode, query_embedding => resolve_from_query.query_embedding) h);
comment on function ragdb.resolve_from_query is
  'Returns the best hit of a query as an anchor, or null when nothing matches. Raises what '
  'ragdb.search raises.';

create or replace function ragdb.resolve_anchor(
  corpus text, chunk_id text default null, session text default null, query text default null,
  query_embedding float8[] default null, project text default null)
returns table (anchor text, resolved_by text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  anchor := ragdb.resolve_explicit(corpus, coalesce(chunk_id, ''));
  resolved_by := 'explicit';
  if anchor is null and session is not null then
    anchor := ragdb.resolve_from_session(corpus, session);
    resolved_by := 'session';
  end if;
  if anchor is null and query ~ E'\\S' then
    anchor := ragdb.resolve_from_query(corpus, query, query_embedding => query_embedding);
    resolved_by := 'query';
  end if;
  if anchor is null then
    anchor := (select t.chunk_id from ragdb.resolve_temporal(corpus, 1, project) t);
    resolved_by := 'temporal';
  end if;
  if anchor is not null then
    return next;
  end if;
end $$;
comment on function ragdb.resolve_anchor is
  'Returns an anchor and which way gave it: the chunk id itself (explicit), the latest turn of the '
  'session, the best hit of the query (query), the most recent turn (temporal); no row when '
  'none does. Raises RG400, RG404, RG418.';
