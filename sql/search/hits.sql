-- Search: filters, exact BM25 over the lexical index, the reference ranking, and what a hit looks
-- like.

create type ragdb.hit as (
  rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
  heading text[], page integer, start_offset integer, end_offset integer, text text,
  citation jsonb, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, content_hash text,
  metadata jsonb, mode text, is_exact boolean);
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with '
  'the raw BM25 beside them.';

create or replace function ragdb_internal.hits(corpus ragdb.corpora, ranked ragdb_internal.ranked[], k integer,
  mode text)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select t.rank, (hits.corpus).name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
    t.start_offset,
    t.end_offset, t.text, t.citation, t.score, t.lexical_score, t.semantic_score, t.lexical_rank,
      t.semantic_rank,
    t.bm25, t.coverage, pg_catalog.encode(t.content_hash, 'hex'), d.metadata, hits.mode, t.is_exact
  from (
    select r.*, c.doc_no, c.chunk_id, c.source, c.heading, c.page, c.start_offset, c.end_offset,
      c.text, c.citation,
      c.content_hash, pg_catalog.row_number() over (order by r.score desc, c.chunk_id)::integer
        as rank
    from pg_catalog.unnest(hits.ranked) r
      join ragdb.chunks c on c.corpus_id = (hits.corpus).corpus_id and c.chunk_no = r.chunk_no
  ) t join ragdb.documents d on d.corpus_id = (hits.corpus).corpus_id and d.doc_no = t.doc_no
  where t.rank <= hits.k
  order by t.rank;
end;
comment on function ragdb_internal.hits(ragdb.corpora, ragdb_internal.ranked[], integer, text) is
  'Returns the k best of ranked chunks as hits.';
