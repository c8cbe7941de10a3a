-- The ranking of a corpus as it was, by the formulas of today and by looking at every chunk. Its
-- hits, their order and their scores are those of a corpus that was put to that version.

-- Returns the k-th best score of ranked chunks; null where there are fewer. What has less is not
-- looked up: which of equal scores comes first the chunk's id tells.
create or replace function ragdb_internal.kth_score(ranked ragdb_internal.ranked[], k integer)
returns float8
language sql immutable parallel safe
return (
  select r.score from pg_catalog.unnest(kth_score.ranked) r
  order by r.score desc offset kth_score.k - 1 limit 1);

-- Returns the chunks of a corpus as it was that a filter and a list of chunk ids leave; null when
-- there is neither. Raises RG410.
create or replace function ragdb_internal.filtered_then(
  corpus ragdb.corpora, filter jsonb, chunk_ids text[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_conditions jsonb[];
  v_chunk_nos integer[];
begin
  if filter is null and chunk_ids is null then
    return null;
  end if;
  v_conditions := ragdb_internal.condition_array(coalesce(filter, '{}'));
  execute 'select array(select c.chunk_no from ragdb_internal.chunks_then($2) c'
    ' join ragdb_internal.documents_then($2) d on d.doc_no = c.doc_no'
    ' where ($3 is null or c.chunk_id = any ($3))'
    || coalesce(' and ' || replace(replace(ragdb_internal.filter_sql(v_conditions),
      'ragdb.document_sources s', 'ragdb_internal.sources_then($2) s'),
      'ragdb.turns t', 'ragdb_internal.turns_then($2) t'), '') || ')'
  into v_chunk_nos using v_conditions, corpus, chunk_ids;
  return v_chunk_nos;
end $$;

-- Returns a row for each term that a chunk of a corpus as it was had: its number and weight, which
-- word it counts for, and what it gives to the BM25 of the chunk.
create or replace function ragdb_internal.postings_then(
  past ragdb_internal.past, terms ragdb_internal.past_term[])
returns table (chunk_no integer, nth bigint, weight float8, asked integer, alternative integer,
  bm25 float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
  v_corpus constant ragdb.corpora := past.corpus;
  v_pivot constant float8 := (
    select c.pivot from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id);
  v_chunk_nos integer[];
begin
  select ragdb_internal.chunks_holding(v_corpus.corpus_id, array_agg(l.term_id), array_agg(1))
    into v_chunk_nos
    from (select distinct u.lexeme from unnest(terms) u) t
      join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = t.lexeme;
  return query
    with term as materialized (
      select t.*, ragdb_internal.sparse(l.term_id || ':1') as unit
      from unnest(terms) with ordinality t (lexeme, weight, asked, alternative, n)
        join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = t.lexeme
    )
    select p.chunk_no, p.n, p.weight, p.asked, p.alternative, ragdb_internal.impact(p.frequency,
      ragdb_internal.length_norm(p.length, v_corpus.k1, v_corpus.b, v_corpus.pivot),
      v_corpus.k1, p.weight)
    from (
      select x.chunk_no, x.lexeme_count as length, t.n, t.weight, t.asked, t.alternative,
        ragdb_internal.frequency(i.impact, ragdb_internal.length_norm(
          x.lexeme_count, v_corpus.k1, v_corpus.b, v_pivot), v_corpus.k1) as frequency
      from ragdb_internal.indexed_at(v_corpus.corpus_id, array(
          select n from unnest(v_chunk_nos) n where n not in (select unnest(past.stale)))) x
        cross join term t
        cross join lateral (
          select ragdb_internal.inner_product(t.unit, x.impacts) as impact offset 0) i
      where i.impact > 0
      union all
      select o.chunk_no, o.length, t.n, t.weight, t.asked, t.alternative,
        cardinality(w.positions)::float8
      from unnest(past.old) o cross join lateral unnest(o.words) w
        join unnest(terms) with ordinality t (lexeme, weight, asked, alternative, n)
          on t.lexeme collate "C" = w.lexeme) p;
end $$;

-- Returns the BM25 of the chunks of a corpus as it was that had one of some terms, and the weight
-- of what they had; where other terms stand for some words (is_widened), only the best for a word
-- counts.
create or replace function ragdb_internal.bm25_then(
  past ragdb_internal.past, terms ragdb_internal.past_term[], is_widened boolean)
returns table (chunk_no integer, bm25 float8, matched float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not is_widened then
    return query
      select p.chunk_no, sum(p.bm25 order by p.nth), sum(p.weight order by p.nth)
      from ragdb_internal.postings_then(past, terms) p
      group by p.chunk_no;
    return;
  end if;
  return query
    select b.chunk_no, sum(b.bm25 order by b.asked), sum(b.matched order by b.asked)
    from (
      select a.chunk_no, a.asked, max(a.bm25) as bm25, max(a.matched) as matched
      from (
        select p.chunk_no, p.asked, sum(p.bm25 order by p.nth) as bm25,
          sum(p.weight order by p.nth) as matched
        from ragdb_internal.postings_then(past, terms) p
        group by p.chunk_no, p.asked, p.alternative) a
      group by a.chunk_no, a.asked) b
    group by b.chunk_no;
end $$;

-- Ranks a corpus as it was by words: all chunks with one of them, among the given (null: all) and
-- under the clauses of the query, and those of also.
create or replace function ragdb_internal.lexical_then(
  past ragdb_internal.past, statistics ragdb.corpora, query text, among integer[],
  also integer[], typos boolean)
returns setof ragdb_internal.ranked
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := past.corpus;
  v_question constant record :=
    ragdb_internal.question_then(past, statistics, query, typos);
  v_demanded constant integer[] := ragdb_internal.demanded_then(past, query, among);
begin
  if v_question.terms is null or ragdb_internal.demand_fails_then(past, query) then
    return;
  end if;
  return query
    with scored as materialized (
      select b.*, b.bm25 / (v_question.weight * (v_corpus.k1 + 1)) as score
      from ragdb_internal.bm25_then(past, v_question.terms, v_question.is_widened) b
    )
    select v_corpus.corpus_id, s.chunk_no, s.score, s.score, null::float8, null::integer,
      null::integer, s.bm25, least(1, s.matched / v_question.weight), true
    from scored s
    where v_demanded is null or s.chunk_no in (select unnest(v_demanded))
      or s.chunk_no in (select unnest(also))
    union all
    select v_corpus.corpus_id, a, 0, 0, null, null, null, 0, 0, true
    from unnest(also) a where a not in (select s.chunk_no from scored s);
end $$;

-- Ranks a corpus as it was by meaning: the k chunks nearest to an embedding, and what ties with the
-- last, among the given (null: all). Planned for its embedding, which is then made of unit length
-- once and not for each chunk.
create or replace function ragdb_internal.semantic_then(
  past ragdb_internal.past, query vector, k integer, among integer[])
returns setof ragdb_internal.ranked
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_metric constant text := (
    select m.metric from ragdb.embedders m where m.embedder_id = past.embedder_id);
begin
  return query
    select (past.corpus).corpus_id, r.chunk_no, r.score, null::float8, r.score, null::integer,
      r.rank, null::float8, null::float8, true
    from (
      select c.chunk_no, v.score, rank() over (order by v.score desc)::integer as rank
      from (
          select e.chunk_no, ragdb_internal.stored_similarity(e, query, v_metric) as score
          from ragdb_internal.embeddings_then(past.corpus, past.space_id, among) e) v
        join ragdb_internal.chunks_then(past.corpus) c on c.chunk_no = v.chunk_no
      where among is null or c.chunk_no = any (among)) r
    where r.rank <= semantic_then.k;
end $$;

-- Ranks a corpus as it was by words, with the rank of the k best.
create or replace function ragdb_internal.worded_then(
  past ragdb_internal.past, statistics ragdb.corpora, query text, k integer, among integer[],
  also integer[], typos boolean)
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  select t.corpus_id, t.chunk_no, t.score, t.score, null::float8,
    case when t.rank <= worded_then.k and t.bm25 > 0 then t.rank end,
    null::integer, t.bm25, t.coverage, true
  from (
      select l.*, pg_catalog.rank() over (order by l.score desc)::integer as rank
      from ragdb_internal.lexical_then(worded_then.past, worded_then.statistics,
          worded_then.query, worded_then.among, worded_then.also, worded_then.typos)
          l (corpus_id, chunk_no, score, lexical_score, semantic_score, lexical_rank,
            semantic_rank, bm25, coverage, is_exact)) t;
end;

-- Ranks a corpus as it was by words and meaning, as ragdb_internal.rank_hybrid does for today.
create or replace function ragdb_internal.hybrid_then(
  past ragdb_internal.past, statistics ragdb.corpora, request ragdb_internal.search_request,
  among integer[], demanded integer[])
returns setof ragdb_internal.ranked
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_weight constant float8 := coalesce(
    request.lexical_weight, ragdb_internal.lexical_weight(past.embedder_id));
  v_near constant ragdb_internal.ranked[] := array(
    select s from ragdb_internal.semantic_then(
      past, ragdb_internal.pgvector(request.query_embedding),
      ragdb_internal.near_depth(request.k), demanded) s);
  v_worded constant ragdb_internal.ranked[] := array(
    select w from ragdb_internal.worded_then(past, statistics,
      ragdb_internal.asked_words(request), ragdb_internal.worded_depth(request.k), among,
      array(select n.chunk_no from unnest(v_near) n), (request.options).typos) w);
begin
  return query
    with candidates as materialized (
      select chunk_no, coalesce(w.score, 0) as lexical_score, n.score as semantic_score,
        w.lexical_rank, n.semantic_rank, coalesce(w.bm25, 0) as bm25,
        coalesce(w.coverage, 0) as coverage
      from unnest(v_near) n full join unnest(v_worded) w using (chunk_no)
      where n.semantic_rank is not null or w.lexical_rank is not null
    ), scored as (
      select c.*, coalesce(c.semantic_score, s.score) as semantic
      from candidates c left join ragdb_internal.semantic_then(
        past, ragdb_internal.pgvector(request.query_embedding), 2147483647,
        array(select a.chunk_no from candidates a where a.semantic_rank is null)) s
        using (chunk_no)
    )
    select (past.corpus).corpus_id, c.chunk_no, ragdb_internal.fused(request.fusion, v_weight,
        c.lexical_score, c.semantic, c.lexical_rank, c.semantic_rank),
      c.lexical_score, c.semantic, c.lexical_rank, c.semantic_rank, c.bm25, c.coverage, true
    from scored c;
end $$;
