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

-- Returns what documents of the history of a corpus were, null where that was erased.
create or replace function ragdb_internal.documents_once(corpus_id integer, doc_nos integer[])
returns table (was jsonb)
language sql stable parallel safe
begin atomic
  select i.was
  from pg_catalog.unnest(documents_once.doc_nos) d (doc_no)
    cross join lateral (
      select p.was from ragdb.past_rows p
      where p.corpus_id = documents_once.corpus_id and p.kind = 'document'
        and p.key = d.doc_no::text offset 0) i;
end;

-- Returns documents of the history of a corpus, each by its event as an act names it.
create or replace function ragdb_internal.documents_erased(corpus_id integer, doc_nos integer[])
returns text[]
language sql stable parallel safe
return array(
  select distinct ragdb_internal.document_entry(documents_erased.corpus_id, i.was ->> 'event_id')
  from ragdb_internal.documents_once(documents_erased.corpus_id, documents_erased.doc_nos) i
  where i.was is not null
  order by 1);

-- Returns the chunks that were in documents of the history of a corpus.
create or replace function ragdb_internal.chunks_once_in(corpus_id integer, doc_nos integer[])
returns table (key text, was jsonb, row_id tid)
language sql stable parallel safe
begin atomic
  select i.*
  from pg_catalog.unnest(chunks_once_in.doc_nos) d (doc_no)
    cross join lateral (
      select p.key, p.was, p.ctid from ragdb.past_rows p
      where p.corpus_id = chunks_once_in.corpus_id and p.kind = 'chunk'
        and (p.was ->> 'doc_no')::integer = d.doc_no offset 0) i;
end;

-- Returns the spaces of which the history of a corpus has embeddings: of each the first key, which
-- begins with it.
create or replace function ragdb_internal.past_spaces(corpus_id integer) returns setof text
language sql stable parallel safe
begin atomic
  with recursive found as (
    (select pg_catalog.split_part(p.key, ' ', 1) as space from ragdb.past_rows p
      where p.corpus_id = past_spaces.corpus_id and p.kind = 'embedding'
      order by p.key limit 1)
    union all
    select (
        select pg_catalog.split_part(p.key, ' ', 1) from ragdb.past_rows p
        where p.corpus_id = past_spaces.corpus_id and p.kind = 'embedding'
          and p.key > f.space || '!'  -- which comes after a blank
        order by p.key limit 1)
      from found f where f.space is not null)
  select f.space from found f where f.space is not null;
end;

-- Returns the rows of the history of a corpus that are of documents, of chunks as they were in
-- these, or of single chunks. Each is looked up, but the edges, whose second chunk no index has: to
-- erase one source is not to read what all others were.
create or replace function ragdb_internal.images_of(
  corpus_id integer, doc_nos integer[], chunk_nos integer[])
returns table (row_id tid)
language sql stable parallel safe
begin atomic
  with within as materialized (
    select c.key, c.row_id
    from ragdb_internal.chunks_once_in(images_of.corpus_id, images_of.doc_nos) c
  ), chunk as materialized (
    select w.key from within w
    union
    select n::text from pg_catalog.unnest(images_of.chunk_nos) n
  ), looked_up as (
    select 'document' as kind, n::text as key from pg_catalog.unnest(images_of.doc_nos) n
    union all
    select 'chunk', n::text from pg_catalog.unnest(images_of.chunk_nos) n
    union all
    select 'turn', c.key from chunk c
    union all
    select 'embedding', s || ' ' || c.key
      from ragdb_internal.past_spaces(images_of.corpus_id) s cross join chunk c
  )
  select w.row_id from within w
  union all
  select i.ctid from looked_up k
    cross join lateral (
      select p.ctid from ragdb.past_rows p
      where p.corpus_id = images_of.corpus_id and p.kind = k.kind and p.key = k.key offset 0) i
  union all
  select i.ctid from pg_catalog.unnest(images_of.doc_nos) n
    cross join lateral (
      select p.ctid from ragdb.past_rows p
      where p.corpus_id = images_of.corpus_id and p.kind = 'source'
        and (p.was ->> 'doc_no')::integer = n offset 0) i
  union all
  select p.ctid from ragdb.past_rows p
    where p.corpus_id = images_of.corpus_id and p.kind = 'edge'
      and (pg_catalog.split_part(p.key, ' ', 1) in (select c.key from chunk c)
        or pg_catalog.split_part(p.key, ' ', 2) in (select c.key from chunk c));
end;

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
  v_erased text[];
begin
  with gone as (
    update ragdb.past_rows p
      set was = null, erased_hash = ragdb_internal.past_row_hash(p.kind, p.key, p.was)
      where p.was is not null
        and p.ctid = any (array(
          select i.row_id from ragdb_internal.images_of(v_id, doc_nos, chunk_nos) i))
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
  select pg_catalog.concat_ws(E'\n', i.was ->> 'title', i.was ->> 'heading', i.was ->> 'text')
  from (
    select c.was from ragdb_internal.chunks_once_in(
      texts_once_of.corpus_id, texts_once_of.doc_nos) c
    union all
    select d.was from ragdb_internal.documents_once(
      texts_once_of.corpus_id, texts_once_of.doc_nos) d) i);

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
