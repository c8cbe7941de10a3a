-- The rows of a corpus as they were: today's, but for those that have changed since, which are what
-- their first image says. What has a number that was given later was not there. A corpus here is
-- what it was at its version (ragdb_internal.corpus_at).

-- Returns what the rows of a kind that have changed since a version were at it; null where a row
-- was not there, and where it was erased. Settings keep it apart from what calls it: nothing counts
-- the past rows of a corpus, and a planner that takes them for one row looks through all for each.
create or replace function ragdb_internal.images(corpus ragdb.corpora, kind text)
returns table (key text, was jsonb)
language sql stable parallel safe rows 1000
set search_path = pg_catalog, pg_temp
begin atomic
  select distinct on (p.key) p.key, p.was from ragdb.past_rows p
  where p.corpus_id = (images.corpus).corpus_id and p.kind = images.kind
    and p.until > (images.corpus).version
  order by p.key, p.until;
end;

-- Returns the same of some rows, by their keys. All at once: to a planner that knows of no past
-- rows any index of theirs looks as good as the key, and each would be looked for in all that
-- changed.
create or replace function ragdb_internal.images_at(
  corpus ragdb.corpora, kind text, keys text[])
returns table (key text, was jsonb)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select distinct on (p.key) p.key, p.was from ragdb.past_rows p
  where p.corpus_id = (images_at.corpus).corpus_id and p.kind = images_at.kind
    and p.key = any (images_at.keys) and p.until > (images_at.corpus).version
  order by p.key, p.until;
end;

-- Returns the keys of the rows of a kind that have changed since a version. A set, because a
-- function of one row would be called for each of a corpus.
create or replace function ragdb_internal.changed_since(corpus ragdb.corpora, kind text)
returns table (key text)
language sql stable parallel safe
begin atomic
  select p.key from ragdb.past_rows p
  where p.corpus_id = (changed_since.corpus).corpus_id and p.kind = changed_since.kind
    and p.until > (changed_since.corpus).version;
end;

-- Returns the documents of a corpus as it was.
create or replace function ragdb_internal.documents_then(corpus ragdb.corpora)
returns setof ragdb.documents
language sql stable parallel safe
begin atomic
  select d.* from ragdb.documents d
  where d.corpus_id = (documents_then.corpus).corpus_id
    and d.doc_no < (documents_then.corpus).next_doc_no
    and d.doc_no::text not in (
      select k.key from ragdb_internal.changed_since(documents_then.corpus, 'document') k)
  union all
  select r.* from ragdb_internal.images(documents_then.corpus, 'document') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.documents, i.was) r
  where i.was is not null
    and r.doc_no < (documents_then.corpus).next_doc_no;
end;

-- Returns the sources of a corpus as it was.
create or replace function ragdb_internal.sources_then(corpus ragdb.corpora)
returns setof ragdb.document_sources
language sql stable parallel safe
begin atomic
  select s.* from ragdb.document_sources s
  where s.corpus_id = (sources_then.corpus).corpus_id
    and s.uri not in (
      select k.key from ragdb_internal.changed_since(sources_then.corpus, 'source') k)
  union all
  select r.* from ragdb_internal.images(sources_then.corpus, 'source') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.document_sources, i.was) r
  where i.was is not null;
end;

-- Returns the chunks of a corpus as it was.
create or replace function ragdb_internal.chunks_then(corpus ragdb.corpora)
returns setof ragdb.chunks
language sql stable parallel safe
begin atomic
  select c.* from ragdb.chunks c
  where c.corpus_id = (chunks_then.corpus).corpus_id
    and c.chunk_no < (chunks_then.corpus).next_chunk_no
    and c.chunk_no::text not in (
      select k.key from ragdb_internal.changed_since(chunks_then.corpus, 'chunk') k)
  union all
  select r.* from ragdb_internal.images(chunks_then.corpus, 'chunk') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.chunks, i.was) r
  where i.was is not null
    and r.chunk_no < (chunks_then.corpus).next_chunk_no;
end;

-- Returns some chunks of a corpus as it was, by their numbers. Each is looked up by its key.
create or replace function ragdb_internal.chunks_at_then(
  corpus ragdb.corpora, chunk_nos integer[])
returns setof ragdb.chunks
language sql stable parallel safe
set enable_seqscan = off
begin atomic
  with image as materialized (
    select i.* from ragdb_internal.images_at(chunks_at_then.corpus, 'chunk',
      chunks_at_then.chunk_nos::text[]) i
  )
  select c.* from pg_catalog.unnest(chunks_at_then.chunk_nos) n (chunk_no)
    cross join lateral (
      select h.* from ragdb.chunks h
      where h.corpus_id = (chunks_at_then.corpus).corpus_id and h.chunk_no = n.chunk_no
      offset 0) c
  where n.chunk_no < (chunks_at_then.corpus).next_chunk_no
    and n.chunk_no::text not in (select i.key from image i)
  union all
  select r.* from image i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.chunks, i.was) r
  where i.was is not null and r.chunk_no < (chunks_at_then.corpus).next_chunk_no;
end;

-- Returns some documents of a corpus as it was, by their numbers.
create or replace function ragdb_internal.documents_at_then(
  corpus ragdb.corpora, doc_nos integer[])
returns setof ragdb.documents
language sql stable parallel safe
set enable_seqscan = off
begin atomic
  with image as materialized (
    select i.* from ragdb_internal.images_at(documents_at_then.corpus, 'document',
      documents_at_then.doc_nos::text[]) i
  )
  select d.* from pg_catalog.unnest(documents_at_then.doc_nos) n (doc_no)
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = (documents_at_then.corpus).corpus_id and h.doc_no = n.doc_no
      offset 0) d
  where n.doc_no < (documents_at_then.corpus).next_doc_no
    and n.doc_no::text not in (select i.key from image i)
  union all
  select r.* from image i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.documents, i.was) r
  where i.was is not null and r.doc_no < (documents_at_then.corpus).next_doc_no;
end;

-- Returns the turns of a corpus as it was.
create or replace function ragdb_internal.turns_then(corpus ragdb.corpora)
returns setof ragdb.turns
language sql stable parallel safe
begin atomic
  select t.* from ragdb.turns t
  where t.corpus_id = (turns_then.corpus).corpus_id
    and t.chunk_no < (turns_then.corpus).next_chunk_no
    and t.chunk_no::text not in (
      select k.key from ragdb_internal.changed_since(turns_then.corpus, 'turn') k)
  union all
  select r.* from ragdb_internal.images(turns_then.corpus, 'turn') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.turns, i.was) r
  where i.was is not null
    and r.chunk_no < (turns_then.corpus).next_chunk_no;
end;

-- Returns the synonyms of a corpus as it was.
create or replace function ragdb_internal.synonyms_then(corpus ragdb.corpora)
returns setof ragdb.synonyms
language sql stable parallel safe
begin atomic
  select s.* from ragdb.synonyms s
  where s.corpus_id = (synonyms_then.corpus).corpus_id
    and pg_catalog.jsonb_build_array(s.word, s.means)::text not in (
      select k.key from ragdb_internal.changed_since(synonyms_then.corpus, 'synonym') k)
  union all
  select r.* from ragdb_internal.images(synonyms_then.corpus, 'synonym') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.synonyms, i.was) r
  where i.was is not null;
end;

-- Returns the embeddings of some chunks (null: all) in a space of a corpus as it was; none of a
-- space that is gone.
create or replace function ragdb_internal.embeddings_then(
  corpus ragdb.corpora, space_id integer, chunk_nos integer[])
returns setof ragdb.chunk_embeddings
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select e.* from ragdb.chunk_embeddings e
    where e.space_id = embeddings_then.space_id and e.corpus_id = corpus.corpus_id
      and e.chunk_no < corpus.next_chunk_no
      and (chunk_nos is null or e.chunk_no = any (chunk_nos))
      and e.space_id || ' ' || e.chunk_no not in (
        select k.key from ragdb_internal.changed_since(corpus, 'embedding') k)
    union all
    select r.* from ragdb_internal.images(corpus, 'embedding') i
      cross join lateral jsonb_populate_record(null::ragdb.chunk_embeddings, i.was) r
    where i.was is not null and r.chunk_no < corpus.next_chunk_no
      and (chunk_nos is null or r.chunk_no = any (chunk_nos))
      and i.key like embeddings_then.space_id || ' %';
end $$;
