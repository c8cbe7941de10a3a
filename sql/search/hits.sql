-- What a search shows of chunks in a ranking.
create type ragdb.hit as (
  rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
  heading text[], page integer, start_offset integer, end_offset integer, text text,
  citation jsonb, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, content_hash text,
  metadata jsonb, mode text, is_exact boolean, context text);
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with '
  'the raw BM25 beside them; context is its text with what stands around it, null where that was '
  'not asked for.';

-- Returns the text of a chunk with that of so many neighbours on each side (0: 20), of the same
-- section only where that is asked for. A section of a document without headings is all of it,
-- hence the bound. In PL/pgSQL, because what is inlined is made ready for every search, and most do
-- not ask for context.
create or replace function ragdb_internal.surroundings(
  corpus_id integer, doc_no integer, ordinal integer, heading text[], context integer,
  section boolean)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select ragdb_internal.joined_text(surroundings.corpus_id, surroundings.doc_no,
      coalesce(max(c.ordinal) filter (where c.ordinal < surroundings.ordinal) + 1, n.first),
      coalesce(min(c.ordinal) filter (where c.ordinal > surroundings.ordinal) - 1, n.last))
    from (
        select surroundings.ordinal - w.width as first, surroundings.ordinal + w.width as last
        from (select coalesce(nullif(surroundings.context, 0), 20) as width) w) n
      left join ragdb.chunks c on c.corpus_id = surroundings.corpus_id
        and c.doc_no = surroundings.doc_no and c.ordinal between n.first and n.last
        and surroundings.section and c.heading[:cardinality(surroundings.heading)]
          is distinct from surroundings.heading
    group by n.first, n.last);
end $$;

-- Returns the score of the k-th best of ranked chunks.
create or replace function ragdb_internal.score_of_last(
  ranked ragdb_internal.ranked[], k integer)
returns float8
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select r.score from unnest(score_of_last.ranked) r
    order by r.score desc limit 1 offset score_of_last.k - 1);
end $$;

-- Drops from ranked chunks of some corpora what ties with the k-th and comes after it by its id,
-- where many tie, as those of records that are alike. The first of each corpus are found in the
-- order of the ids, unless so few of it tie that to read all of these takes less time. Sorts are
-- off, so that the index has this order; a list in `is true` is a hashed subplan.
create or replace function ragdb_internal.first_of_ties(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], k integer)
returns ragdb_internal.ranked[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
declare
  v_last constant float8 := ragdb_internal.score_of_last(ranked, k);
  v_corpus record;
  v_first integer[];
begin
  for v_corpus in
    select c.corpus_id, array_agg(r.chunk_no) as tied
    from unnest(ranked) r join unnest(corpora) c on c.corpus_id = r.corpus_id
    where r.score = v_last
    group by c.corpus_id, c.chunks having count(*)::float8 ^ 2 >= k::float8 * c.chunks
  loop
    v_first := array(
      select c.chunk_no from ragdb.chunks c
      where c.corpus_id = v_corpus.corpus_id
        and (c.chunk_no in (select unnest(v_corpus.tied))) is true
      order by c.chunk_id limit k);
    ranked := array(
      select r from unnest(ranked) r
      where r.score > v_last or r.score = v_last
        and (r.corpus_id <> v_corpus.corpus_id or r.chunk_no = any (v_first)));
  end loop;
  return ranked;
end $$;

-- Returns the k best of ranked chunks of some corpora as hits, by score, then chunk id; in the
-- order that they come in where a search asked for diverse ones. Rows are joined by key (lateral,
-- offset 0): the planner, which cannot know how few rows rank, is left no other way. What cannot be
-- among the k best is dropped before its chunk is read.
create or replace function ragdb_internal.hits(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], k integer, mode text,
  options ragdb_internal.search_options default null)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select t.rank, t.corpus, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
    t.start_offset, t.end_offset, t.text,
    ragdb_internal.chunk_citation(t.citation, t.source), t.score, t.lexical_score,
    t.semantic_score, case when hits.mode = 'lexical' then t.place else t.lexical_rank end,
    t.semantic_rank, t.bm25, t.coverage,
    pg_catalog.encode(ragdb_internal.content_hash(t.text), 'hex'), d.metadata,
    hits.mode, t.is_exact,
    case when (hits.options).context > 0 or (hits.options).section then
      ragdb_internal.surroundings(t.corpus_id, t.doc_no, t.ordinal, t.heading,
        (hits.options).context, (hits.options).section) end
  from (
    select c.name as corpus, r.*, h.doc_no, h.ordinal, h.chunk_id, h.source, h.heading, h.page,
      h.start_offset, h.end_offset, h.text, h.citation,
      pg_catalog.row_number() over (order by
        case when (hits.options).diversity > 0 then r.ordinality end,
        r.score desc, h.chunk_id, c.name)::integer as rank,
      pg_catalog.rank() over (order by
        case when (hits.options).diversity > 0 then r.ordinality end,
        r.score desc)::integer as place
    from pg_catalog.unnest(hits.ranked) with ordinality r
      join (select (u.corpus).corpus_id, (u.corpus).name
        from (select pg_catalog.unnest(hits.corpora) as corpus) u) c on c.corpus_id = r.corpus_id
      cross join lateral (
        select k.doc_no, k.ordinal, k.chunk_id, k.source, k.heading, k.page, k.start_offset,
          k.end_offset, k.text, k.citation
        from ragdb.chunks k
        where k.corpus_id = r.corpus_id and k.chunk_no = r.chunk_no offset 0) h
    where r.score >= (select case when pg_catalog.cardinality(hits.ranked) > hits.k
      then ragdb_internal.score_of_last(hits.ranked, hits.k) else 0 end)
    order by rank limit hits.k) t
    cross join lateral (select o.doc_cid, o.title, o.metadata from ragdb.documents o
      where o.corpus_id = t.corpus_id and o.doc_no = t.doc_no offset 0) d
  order by t.rank;
end;
