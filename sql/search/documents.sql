-- Search by document: the documents of the best chunks, each with its own best chunks.

create type ragdb.document_hit as (
  rank integer, corpus text, doc_cid text, source text, title text, metadata jsonb, score float8,
  mode text, chunks jsonb);
comment on type ragdb.document_hit is
  'One result of a search by document: the document, the score of its best chunk, and chunks, its '
  'best ones.';

-- One chunk a document says which documents they are, and among those every chunk counts: corpus by
-- corpus, because another corpus may have the same file, whose chunks would take the room of these.
-- What their filter asks of doc_cid and source the first search has met.
create or replace function ragdb.search_documents(
  corpus text, query text, k integer default 10, chunks_per_document integer default 3,
  mode text default null, min_score float8 default 0, filter jsonb default null,
  query_embedding float8[] default null, syntax text default 'plain', typos boolean default true)
returns setof ragdb.document_hit
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_best ragdb.hit[];
begin
  if chunks_per_document is null or chunks_per_document not between 1 and 100
    or k::bigint * chunks_per_document > 1000
  then
    raise exception 'chunks_per_document is %', coalesce(chunks_per_document::text, 'null')
      using errcode = 'RG400', detail = 'it is how many chunks of a document are returned',
            hint = 'pass 1 to 100; k times as many are 1000 at most';
  end if;
  v_best := array(
    select h from ragdb.search(corpus, query, k, mode, min_score, filter,
      query_embedding => search_documents.query_embedding, syntax => search_documents.syntax,
      per_document => 1, typos => search_documents.typos) h);
  if v_best = '{}' then
    return;
  end if;
  return query
    select b.rank, b.corpus, b.doc_cid, b.source, b.title, b.metadata, b.score, b.mode, c.chunks
    from unnest(v_best) b
      join (
        select h.corpus, h.doc_cid, h.source, jsonb_agg(jsonb_build_object('chunk_id', h.chunk_id,
          'score', h.score, 'heading', h.heading, 'page', h.page, 'start_offset', h.start_offset,
          'end_offset', h.end_offset, 'text', h.text, 'citation', h.citation) order by h.rank)
          as chunks
        from (select u.corpus, count(*)::integer as documents, jsonb_build_object(
              'doc_cid', jsonb_build_object('in', jsonb_agg(distinct u.doc_cid)),
              'source', jsonb_build_object('in', jsonb_agg(distinct u.source))) as of_these
            from unnest(v_best) u group by u.corpus) d
          cross join lateral ragdb.search(d.corpus, query, d.documents * chunks_per_document,
            v_best[1].mode, min_score, coalesce(filter, '{}') || d.of_these,
            query_embedding => search_documents.query_embedding, syntax => search_documents.syntax,
            per_document => chunks_per_document, typos => search_documents.typos) h
        group by h.corpus, h.doc_cid, h.source) c using (corpus, doc_cid, source)
    order by b.rank;
end $$;
comment on function ragdb.search_documents is
  'Returns the k best documents of a corpus (null: all that the caller may read) for a query, by '
  'the score of their best chunk, each with its chunks_per_document (1 to 100; k times as many are '
  '1000 at most) best chunks as objects with chunk_id, score, heading, page, start_offset, '
  'end_offset, text and citation. The rest is as in ragdb.search. Raises RG400, RG401, RG404, '
  'RG410, RG415, RG418.';
