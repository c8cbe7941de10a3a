-- A corpus in one file: what goes out, how it comes in again, and the digest that both sides must
-- agree on. This file has what both sides share.
--
-- What a corpus is made of goes along: settings, documents with their sources, chunks, links and
-- turns, embeddings of the current space, synonyms. What follows from these (ids, edges, postings,
-- counters, salience) is made anew, and what a database says about a corpus (traces, rights, keys,
-- events, contracts) stays there.

-- Returns the settings of a corpus as an export has them.
create or replace function ragdb_internal.exported_settings(corpus ragdb.corpora) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object(
  'title', (corpus).title, 'text_config', (corpus).text_config, 'k1', (corpus).k1,
  'b', (corpus).b, 'pivot', (corpus).pivot, 'record_query_text', (corpus).record_query_text);

-- Returns the numbers of a vector as big-endian float4.
create or replace function ragdb_internal.embedding_bytes(stored ragdb.chunk_embeddings)
returns bytea
language sql immutable parallel safe
-- behind the width, two bytes, and two that are unused
return pg_catalog.substr(vector_send(ragdb_internal.full_vector(embedding_bytes.stored)), 5);

-- Refuses a page of an export that cannot be. Raises RG400.
create or replace function ragdb_internal.check_page(after integer, count integer) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'rows', (ragdb_internal.limits()).export_rows);
  if after is null then
    raise exception 'after is null'
      using errcode = 'RG400', detail = 'it is the position that a page begins behind',
        hint = 'for the next page, give the last position as after; begin with 0';
  end if;
end $$;

-- Returns the next documents of a corpus after one, as many as have together about count chunks.
create or replace function ragdb_internal.next_documents(
  corpus_id integer, after integer, count integer)
returns integer[]
language sql stable parallel safe
return array(
  select d.doc_no from (
    select p.doc_no,
      sum(greatest(p.chunks, 1)) over (order by p.doc_no) - greatest(p.chunks, 1) as before
    from (
      select o.doc_no, o.chunks from ragdb.documents o
      where o.corpus_id = next_documents.corpus_id and o.doc_no > next_documents.after
      order by o.doc_no limit next_documents.count) p) d
  where d.before < next_documents.count order by d.doc_no);

-- Returns the name of the format of exports. Its number goes up with whatever their lines say or
-- their digest covers; tests/portable keeps an export of each number.
create or replace function ragdb_internal.export_format() returns text
language sql immutable parallel safe
return 'ragdb-corpus/2';

-- Raises RG455, saying what is wrong with what is imported.
create or replace function ragdb_internal.refuse_import(problem text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'this is not a whole export: %', problem
    using errcode = 'RG455', detail = 'nothing of it is kept when the transaction is rolled back',
      hint = 'export the corpus again; exports are made by ragdb export or '
        'ragdb.export_corpus()';
end $$;

-- Locks and returns a corpus that this transaction imports. Raises RG400, RG401, RG404, RG455.
create or replace function ragdb_internal.importing(corpus text) returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(corpus, 'write');
begin
  if v_corpus.import_xid is distinct from pg_current_xact_id() then
    raise exception 'corpus % is not being imported', ragdb_internal.quote(corpus)
      using errcode = 'RG455', detail = 'an import is one transaction',
        hint = 'call ragdb.import_corpus() first, in the same transaction';
  end if;
  return v_corpus;
end $$;

-- Trigger of ragdb.corpora: keeps a transaction that imports from ending before what came is
-- compared with its header. Definer: before version 18 a deferred trigger runs as whoever commits.
-- Raises RG455.
create or replace function ragdb_internal.check_import_is_finished() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
      select from ragdb.corpora c
      where c.corpus_id = new.corpus_id and c.import_xid is not null and c.moving is null) then
    perform ragdb_internal.refuse_import('ragdb.finish_import() was not called');
  end if;
  return null;
end $$;
drop trigger if exists imports_are_finished on ragdb.corpora;
create constraint trigger imports_are_finished after update of import_xid on ragdb.corpora
  deferrable initially deferred
  for each row when (new.import_xid is not null and new.moving is null)
  execute function ragdb_internal.check_import_is_finished();

-- Returns the row of a corpus of which a part is exported, and records that. Raises RG400, RG404.
create or replace function ragdb_internal.open_export(corpus text, part text)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read');
begin
  if v_corpus.personal_of is null then
    perform ragdb_internal.record_access('export', v_corpus.corpus_id, v_corpus.name, part);
  end if;
  return v_corpus;
end $$;
