-- The rows of a corpus as they were: today's, but for those that have changed since, which are what
-- their first image says. What has a number that was given later was not there. A corpus here is
-- what it was at its version (ragdb_internal.corpus_at).

create or replace function ragdb_internal.images(corpus ragdb.corpora, kind text)
returns table (key text, was jsonb)
language sql stable parallel safe
begin atomic
  select distinct on (p.key) p.key, p.was from ragdb.past_rows p
  where p.corpus_id = (images.corpus).corpus_id and p.kind = images.kind
    and p.until > (images.corpus).version
  order by p.key, p.until;
end;
comment on function ragdb_internal.images(ragdb.corpora, text) is
  'Returns what the rows of a kind that have changed since a version were at it; null where a row '
  'was not there, and where it was erased.';

create or replace function ragdb_internal.is_changed(
  corpus ragdb.corpora, kind text, key text)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.past_rows p
  where p.corpus_id = (is_changed.corpus).corpus_id and p.kind = is_changed.kind
    and p.key = is_changed.key and p.until > (is_changed.corpus).version);
comment on function ragdb_internal.is_changed(ragdb.corpora, text, text) is
  'Tells whether a row has changed since a version.';

create or replace function ragdb_internal.documents_at(corpus ragdb.corpora)
returns setof ragdb.documents
language sql stable parallel safe
begin atomic
  select d.* from ragdb.documents d
  where d.corpus_id = (documents_at.corpus).corpus_id
    and d.doc_no < (documents_at.corpus).next_doc_no
    and not ragdb_internal.is_changed(documents_at.corpus, 'document', d.doc_no::text)
  union all
  select r.* from ragdb_internal.images(documents_at.corpus, 'document') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.documents, i.was) r
  where i.was is not null
    and r.doc_no < (documents_at.corpus).next_doc_no;
end;
comment on function ragdb_internal.documents_at(ragdb.corpora) is
  'Returns the documents of a corpus as it was.';

create or replace function ragdb_internal.sources_at(corpus ragdb.corpora)
returns setof ragdb.document_sources
language sql stable parallel safe
begin atomic
  select s.* from ragdb.document_sources s
  where s.corpus_id = (sources_at.corpus).corpus_id
    and not ragdb_internal.is_changed(sources_at.corpus, 'source', s.uri)
  union all
  select r.* from ragdb_internal.images(sources_at.corpus, 'source') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.document_sources, i.was) r
  where i.was is not null;
end;
comment on function ragdb_internal.sources_at(ragdb.corpora) is
  'Returns the sources of a corpus as it was.';

create or replace function ragdb_internal.chunks_at(corpus ragdb.corpora)
returns setof ragdb.chunks
language sql stable parallel safe
begin atomic
  select c.* from ragdb.chunks c
  where c.corpus_id = (chunks_at.corpus).corpus_id
    and c.chunk_no < (chunks_at.corpus).next_chunk_no
    and not ragdb_internal.is_changed(chunks_at.corpus, 'chunk', c.chunk_no::text)
  union all
  select r.* from ragdb_internal.images(chunks_at.corpus, 'chunk') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.chunks, i.was) r
  where i.was is not null
    and r.chunk_no < (chunks_at.corpus).next_chunk_no;
end;
comment on function ragdb_internal.chunks_at(ragdb.corpora) is
  'Returns the chunks of a corpus as it was.';

create or replace function ragdb_internal.turns_at(corpus ragdb.corpora)
returns setof ragdb.turns
language sql stable parallel safe
begin atomic
  select t.* from ragdb.turns t
  where t.corpus_id = (turns_at.corpus).corpus_id
    and t.chunk_no < (turns_at.corpus).next_chunk_no
    and not ragdb_internal.is_changed(turns_at.corpus, 'turn', t.chunk_no::text)
  union all
  select r.* from ragdb_internal.images(turns_at.corpus, 'turn') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.turns, i.was) r
  where i.was is not null
    and r.chunk_no < (turns_at.corpus).next_chunk_no;
end;
comment on function ragdb_internal.turns_at(ragdb.corpora) is
  'Returns the turns of a corpus as it was.';

create or replace function ragdb_internal.edges_at(corpus ragdb.corpora)
returns setof ragdb.edges
language sql stable parallel safe
begin atomic
  select e.* from ragdb.edges e
  where e.corpus_id = (edges_at.corpus).corpus_id
    and e.parent_no < (edges_at.corpus).next_chunk_no
    and e.child_no < (edges_at.corpus).next_chunk_no
    and not ragdb_internal.is_changed(edges_at.corpus, 'edge',
      pg_catalog.concat_ws(' ', e.parent_no, e.child_no, e.edge_type))
  union all
  select r.* from ragdb_internal.images(edges_at.corpus, 'edge') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.edges, i.was) r
  where i.was is not null
    and r.parent_no < (edges_at.corpus).next_chunk_no
    and r.child_no < (edges_at.corpus).next_chunk_no;
end;
comment on function ragdb_internal.edges_at(ragdb.corpora) is
  'Returns the edges of a corpus as it was.';

create or replace function ragdb_internal.synonyms_at(corpus ragdb.corpora)
returns setof ragdb.synonyms
language sql stable parallel safe
begin atomic
  select s.* from ragdb.synonyms s
  where s.corpus_id = (synonyms_at.corpus).corpus_id
    and not ragdb_internal.is_changed(synonyms_at.corpus, 'synonym',
      pg_catalog.jsonb_build_array(s.word, s.means)::text)
  union all
  select r.* from ragdb_internal.images(synonyms_at.corpus, 'synonym') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.synonyms, i.was) r
  where i.was is not null;
end;
comment on function ragdb_internal.synonyms_at(ragdb.corpora) is
  'Returns the synonyms of a corpus as it was.';

create or replace function ragdb_internal.embeddings_at(corpus ragdb.corpora, space_id integer)
returns setof ragdb.chunk_embeddings
language sql stable parallel safe
begin atomic
  select e.* from ragdb.chunk_embeddings e
  where e.space_id = embeddings_at.space_id
    and e.corpus_id = (embeddings_at.corpus).corpus_id
    and e.chunk_no < (embeddings_at.corpus).next_chunk_no
    and not ragdb_internal.is_changed(embeddings_at.corpus, 'embedding',
      e.space_id || ' ' || e.chunk_no)
  union all
  select r.* from ragdb_internal.images(embeddings_at.corpus, 'embedding') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.chunk_embeddings, i.was) r
  where i.was is not null
    and r.chunk_no < (embeddings_at.corpus).next_chunk_no and i.key like embeddings_at.space_id || ' %';
end;
comment on function ragdb_internal.embeddings_at(ragdb.corpora, integer) is
  'Returns the embeddings of a space of a corpus as it was; none of a space that is gone.';
