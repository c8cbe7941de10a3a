-- Erasure beats history: what was found at a source goes from every version of its corpus.

-- Returns the documents that are gone and were once found at a source. A document that is still
-- found elsewhere is not erased by one of its sources.
create or replace function ragdb_internal.documents_once_at(corpus_id integer, uri text)
returns integer[]
language sql stable parallel safe
return array(
  select o.doc_no
    from (
      select distinct (p.was ->> 'doc_no')::integer as doc_no from ragdb.past_rows p
      where p.corpus_id = documents_once_at.corpus_id and p.kind = 'source'
        and p.key = documents_once_at.uri and p.was is not null) o
      left join lateral (
        select h.doc_no from ragdb.documents h
        where h.corpus_id = documents_once_at.corpus_id and h.doc_no = o.doc_no offset 0) d
        on true
    where d.doc_no is null);

-- Returns documents of the history of a corpus, each by its event as an act names it.
create or replace function ragdb_internal.documents_erased(corpus_id integer, doc_nos integer[])
returns text[]
language sql stable parallel safe
return array(
  select distinct ragdb_internal.document_entry(p.corpus_id, p.was ->> 'event_id')
  from ragdb.past_rows p
  where p.corpus_id = documents_erased.corpus_id and p.kind = 'document'
    and p.was ->> 'doc_no' = any (documents_erased.doc_nos::text[])
  order by 1);

-- Takes the content of documents, and of single chunks, that are gone out of the history of a
-- corpus and returns the rows that lost theirs, as an act names them; that there were some stays.
create or replace function ragdb_internal.erase_images(
  corpus_id integer, doc_nos integer[], chunk_nos integer[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := erase_images.corpus_id;
  v_documents constant text[] := erase_images.doc_nos::text[];
  v_said constant text[] := erase_images.chunk_nos::text[];
  v_chunks constant text[] := v_said || array(
    select distinct p.key from ragdb.past_rows p
    where p.corpus_id = v_id and p.kind = 'chunk' and p.was ->> 'doc_no' = any (v_documents));
  v_erased text[];
begin
  with gone as (
    update ragdb.past_rows p
      set was = null, erased_hash = ragdb_internal.past_row_hash(p.kind, p.key, p.was)
      where p.corpus_id = v_id and p.was is not null and case
        when p.kind in ('document', 'source') then p.was ->> 'doc_no' = any (v_documents)
        when p.kind = 'chunk' then p.was ->> 'doc_no' = any (v_documents) or p.key = any (v_said)
        when p.kind in ('turn', 'embedding') then p.was ->> 'chunk_no' = any (v_chunks)
        when p.kind = 'edge' then p.was ->> 'parent_no' = any (v_chunks)
          or p.was ->> 'child_no' = any (v_chunks)
        else false end
      returning p.until, p.erased_hash
  )
  select array_agg(ragdb_internal.erased_entry(v_id, g.until, g.erased_hash)
      order by g.until, g.erased_hash)
    into v_erased from gone g;
  return coalesce(v_erased, '{}');
end $$;

-- Records that rows of the history of a corpus, and of which documents, were erased where some
-- were, and returns their number.
create or replace function ragdb_internal.record_erased_history(
  corpus ragdb.corpora, documents text[], erased text[], reason text)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if erased <> '{}' then
    perform ragdb_internal.record_deletion('history_erased', corpus, documents || erased,
      concat(
        ragdb_internal.counted(cardinality(erased), 'row'), ' of the history', ': ' || reason));
  end if;
  return cardinality(erased);
end $$;

-- Records that what conflicts with peers kept of a corpus was erased. Where nothing else went,
-- nothing else has the reason.
create or replace function ragdb_internal.record_erased_conflicts(
  corpus ragdb.corpora, reason text)
returns void
language sql
return ragdb_internal.record_deletion('deletion', corpus, '{}',
  pg_catalog.concat('what conflicts with peers kept', ': ' || reason));

-- Returns the texts by which the chunks of a source are searched. Title, headings and text are what
-- is searched, and so what dictionaries have the words of.
create or replace function ragdb_internal.texts_at(corpus_id integer, uri text) returns text[]
language sql stable parallel safe
return array(
  select ragdb_internal.searched_text(d.title, c.heading, c.text)
  from ragdb.document_sources s
    join ragdb.documents d on d.corpus_id = s.corpus_id and d.doc_no = s.doc_no
    join ragdb.chunks c on c.corpus_id = s.corpus_id and c.doc_no = s.doc_no
  where s.corpus_id = texts_at.corpus_id and s.uri = texts_at.uri);

-- Returns the texts by which chunks of documents that are gone were searched.
create or replace function ragdb_internal.texts_once_of(corpus_id integer, doc_nos integer[])
returns text[]
language sql stable parallel safe
return array(
  select pg_catalog.concat_ws(E'\n', p.was ->> 'title', p.was ->> 'heading', p.was ->> 'text')
  from ragdb.past_rows p
  where p.corpus_id = texts_once_of.corpus_id and p.kind in ('document', 'chunk')
    and p.was ->> 'doc_no' = any (texts_once_of.doc_nos::text[]));

create or replace function ragdb.erase_source(corpus text, uri text, reason text default null)
returns table (documents_deleted integer, chunks_deleted integer, past_rows_erased integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(erase_source.corpus, 'admin');
  v_texts constant text[] := ragdb_internal.texts_at(v_corpus.corpus_id, uri);
  v_was_in_conflict boolean;
  v_doc_nos integer[];
  v_documents text[];
  v_erased text[];
begin
  perform ragdb_internal.check_erasure('erase', reason);
  select 0, 0 into documents_deleted, chunks_deleted;
  -- peers learn of it when it is published
  update ragdb.shared_conflicts c set body = null
    where c.corpus_id = v_corpus.corpus_id and c.source = erase_source.uri and c.body is not null;
  v_was_in_conflict := found;
  if exists (select from ragdb.document_sources s
    where s.corpus_id = v_corpus.corpus_id and s.uri = erase_source.uri)
  then
    select r.* into documents_deleted, chunks_deleted from ragdb_internal.remove_sources(
      v_corpus, array[uri], 'erase', 'source ' || uri, reason) r;
  elsif not v_was_in_conflict and not exists (select from ragdb.past_rows p
    where p.corpus_id = v_corpus.corpus_id and p.kind = 'source' and p.key = erase_source.uri)
  then
    raise exception 'corpus % has and had no source %',
        ragdb_internal.quote(corpus), ragdb_internal.quote(uri)
      using errcode = 'RG405', detail = 'neither today nor in its history or its conflicts',
        hint = 'ragdb.list_documents() lists the sources, ragdb.diff_corpus() those that went';
  end if;
  v_doc_nos := ragdb_internal.documents_once_at(v_corpus.corpus_id, uri);
  v_documents := ragdb_internal.documents_erased(v_corpus.corpus_id, v_doc_nos);
  perform ragdb_internal.forget_words(
    v_texts || ragdb_internal.texts_once_of(v_corpus.corpus_id, v_doc_nos));
  v_erased := ragdb_internal.erase_images(v_corpus.corpus_id, v_doc_nos, '{}');
  perform ragdb_internal.drop_lexemes(v_corpus.corpus_id);
  past_rows_erased := ragdb_internal.record_erased_history(
    v_corpus, v_documents, v_erased, reason);
  perform ragdb_internal.record_erased_conflicts(v_corpus, reason)
    where v_was_in_conflict and documents_deleted + past_rows_erased = 0;
  return next;
end $$;
comment on function ragdb.erase_source is
  'Deletes a source as ragdb.delete_source with derived => ''erase'' does, and takes what was ever '
  'found there out of the history of the corpus, so that no version has it, and out of its '
  'conflicts with peers; ragdb.diff_corpus names the source as erased. Words that no other text of '
  'the corpus has leave its dictionary. A document that has another source today stays. Returns '
  'how many documents, chunks and rows of the history went. Raises RG400, RG401, RG404, RG405.';
