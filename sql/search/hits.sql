-- Chunks in a ranking, and what a search shows of them.
create type ragdb_internal.ranked as (
  corpus_id integer, chunk_no integer, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
comment on type ragdb_internal.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run '
  'or lacks an embedding.';

create type ragdb.hit as (
  rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
  heading text[], page integer, start_offset integer, end_offset integer, text text,
  citation jsonb, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, content_hash text,
  metadata jsonb, mode text, is_exact boolean);
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with '
  'the raw BM25 beside them.';

-- Rows are joined by key (lateral, offset 0): the planner, which cannot know how few rows rank, is
-- left no other way. What cannot be among the k best is dropped before its chunk is read.
create or replace function ragdb_internal.hits(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], k integer, mode text)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  with ranked as materialized (
    select c.name as corpus, r.*
    from pg_catalog.unnest(hits.ranked) r
      join pg_catalog.unnest(hits.corpora) c on c.corpus_id = r.corpus_id
  )
  select t.rank, t.corpus, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
    t.start_offset, t.end_offset, t.text, t.citation, t.score, t.lexical_score, t.semantic_score,
    case when hits.mode = 'lexical' then t.rank else t.lexical_rank end, t.semantic_rank, t.bm25,
    t.coverage, pg_catalog.encode(ragdb_internal.content_hash(t.text), 'hex'), d.metadata,
    hits.mode, t.is_exact
  from (
    select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset,
      h.text, h.citation,
      pg_catalog.row_number() over (order by r.score desc, h.chunk_id, r.corpus)::integer as rank
    from ranked r
      cross join lateral (select c.* from ragdb.chunks c
        where c.corpus_id = r.corpus_id and c.chunk_no = r.chunk_no offset 0) h
    where r.score >= coalesce((select s.score from ranked s order by s.score desc
      limit 1 offset hits.k - 1), 0)
    order by rank limit hits.k) t
    cross join lateral (select o.* from ragdb.documents o
      where o.corpus_id = t.corpus_id and o.doc_no = t.doc_no offset 0) d
  order by t.rank;
end;
comment on function ragdb_internal.hits(ragdb.corpora[], ragdb_internal.ranked[], integer, text) is
  'Returns the k best of ranked chunks of some corpora as hits, by score, then chunk id.';
