-- What goes with some sources: chunks and documents; and what stays.

-- Returns the chunks of the documents whose bytes have no sources but these. What was derived from
-- some bytes stays while the corpus has them, under whatever name: a file that is renamed comes
-- under its new name before its old one goes.
create or replace function ragdb_internal.chunks_that_go(corpus_id integer, uris text[])
returns text[]
language sql stable parallel safe
return array(
  with gone as materialized (
    select distinct d.doc_no, d.doc_cid from pg_catalog.unnest(chunks_that_go.uris) u (uri)
      cross join lateral (
        select h.doc_no from ragdb.document_sources h
        where h.corpus_id = chunks_that_go.corpus_id and h.uri = u.uri offset 0) s
      cross join lateral (
        select h.doc_no, h.doc_cid from ragdb.documents h
        where h.corpus_id = chunks_that_go.corpus_id and h.doc_no = s.doc_no offset 0) d
  ), staying as materialized (
    select c.doc_cid from (select distinct g.doc_cid from gone g) c
    where exists (
      select from ragdb.documents w
        cross join lateral (
          select o.uri from ragdb.document_sources o
          where o.corpus_id = w.corpus_id and o.doc_no = w.doc_no offset 0) o
      where w.corpus_id = chunks_that_go.corpus_id and w.doc_cid = c.doc_cid
        and o.uri not in (select u from pg_catalog.unnest(chunks_that_go.uris) u))
  )
  select k.chunk_id
  from gone g
    cross join lateral (
      select c.chunk_id from ragdb.chunks c
      where c.corpus_id = chunks_that_go.corpus_id and c.doc_no = g.doc_no offset 0) k
  where g.doc_cid not in (select s.doc_cid from staying s));

-- Returns the documents found at some sources, each by its event as an act names it.
create or replace function ragdb_internal.documents_at_sources(corpus_id integer, uris text[])
returns text[]
language sql stable parallel safe
return array(
  select distinct ragdb_internal.document_entry(documents_at_sources.corpus_id, d.event_id::text)
  from pg_catalog.unnest(documents_at_sources.uris) u (uri)
    cross join lateral (
      select h.doc_no from ragdb.document_sources h
      where h.corpus_id = documents_at_sources.corpus_id and h.uri = u.uri offset 0) s
    cross join lateral (
      select h.event_id from ragdb.documents h
      where h.corpus_id = documents_at_sources.corpus_id and h.doc_no = s.doc_no offset 0) d
  order by 1);

-- Counts the documents, and their chunks, that would be left without a source if some were
-- forgotten.
create or replace function ragdb_internal.count_without(corpus_id integer, uris text[])
returns table (documents integer, chunks integer)
language sql stable parallel safe
set plan_cache_mode = force_custom_plan
begin atomic
  select count(*)::integer, coalesce(sum(d.chunks), 0)::integer
    from (select distinct s.doc_no from ragdb.document_sources s
        where s.corpus_id = count_without.corpus_id and s.uri = any (count_without.uris)) g
      cross join lateral (select h.chunks from ragdb.documents h
        where h.corpus_id = count_without.corpus_id and h.doc_no = g.doc_no offset 0) d
    where not exists (select from ragdb.document_sources o
      where o.corpus_id = count_without.corpus_id and o.doc_no = g.doc_no
        and o.uri <> all (count_without.uris));
end;

-- Returns the sources that stay by a list of those to keep: these, and of one that ends in # what
-- is below it.
create or replace function ragdb_internal.kept_below(corpus_id integer, keep text[])
returns setof text
language sql stable parallel safe
begin atomic
  select k.uri from pg_catalog.unnest(kept_below.keep) k (uri)
  union all
  select s.uri from pg_catalog.unnest(kept_below.keep) k (uri)
    cross join lateral (
      select h.uri from ragdb.document_sources h
      where h.corpus_id = kept_below.corpus_id and h.uri > k.uri
        and h.uri <= ragdb_internal.past_prefix(k.uri) offset 0) s
    where pg_catalog.right(k.uri, 1) = '#';
end;
