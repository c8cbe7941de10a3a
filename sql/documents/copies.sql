-- What is known of bytes that come under another name: their vectors. A file that is renamed comes
-- under its new name before its old one goes, and no worker need have been here between.

-- Returns the chunks of new documents of which an older document of the same bytes has the same
-- title, heading and text, each with the chunk there.
create or replace function ragdb_internal.copies(
  corpus ragdb.corpora, touched ragdb_internal.touched_document[])
returns table (chunk_no integer, original_no integer)
language sql stable parallel safe
begin atomic
  -- one older document each, or many names of the same bytes would be compared with each other
  with original as materialized (
    select i.doc_cid, o.title, min(o.doc_no) as doc_no
    from (select distinct t.doc_cid from unnest(copies.touched) t where t.state = 'new') i
      cross join lateral (
        select h.doc_no, h.title from ragdb.documents h
        where h.corpus_id = (corpus).corpus_id and h.doc_cid = i.doc_cid offset 0) o
    -- not looked up by: a range of numbers may be taken for fewer rows than a key
    where o.doc_no < (corpus).next_doc_no
    group by i.doc_cid, o.title
  )
  select c.chunk_no, k.chunk_no
  from unnest(copies.touched) t
    cross join lateral (
      select h.title from ragdb.documents h
      where h.corpus_id = (corpus).corpus_id and h.doc_no = t.doc_no offset 0) d
    join original o on o.doc_cid = t.doc_cid and o.title is not distinct from d.title
    cross join lateral (
      select h.chunk_no, h.ordinal, h.heading, h.text from ragdb.chunks h
      where h.corpus_id = (corpus).corpus_id and h.doc_no = t.doc_no offset 0) c
    cross join lateral (
      select h.chunk_no, h.heading, h.text from ragdb.chunks h
      where h.corpus_id = (corpus).corpus_id and h.doc_no = o.doc_no and h.ordinal = c.ordinal
      offset 0) k
  where t.state = 'new' and (k.heading, k.text) = (c.heading, c.text);
end;

-- Gives new chunks the vectors of the chunks that they are copies of, unless they are imported.
create or replace function ragdb_internal.copy_embeddings(
  corpus ragdb.corpora, touched ragdb_internal.touched_document[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
declare
  v_chunk_nos integer[];
  v_original_nos integer[];
begin
  if corpus.import_xid is not null then
    return;  -- an import brings them
  end if;
  select array_agg(c.chunk_no), array_agg(c.original_no) into v_chunk_nos, v_original_nos
    from ragdb_internal.copies(corpus, touched) c;
  insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding, half)
    select s.space_id, corpus.corpus_id, c.chunk_no, e.input_hash, e.embedding, e.half
    from ragdb.embedding_spaces s
      cross join lateral ragdb_internal.stored_of(
        s.space_id, corpus.corpus_id, v_original_nos) e
      join unnest(v_chunk_nos, v_original_nos) c (chunk_no, original_no)
        on c.original_no = e.chunk_no
    where v_chunk_nos is not null and s.corpus_id = corpus.corpus_id and s.state <> 'retired'
    order by s.space_id, c.chunk_no
    on conflict do nothing;
end $$;
