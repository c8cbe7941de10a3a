-- The ranking of a corpus as it was in any mode, and what is picked among it: the rules of
-- search/pick.sql, over the words and the embeddings of then.

-- Ranks a corpus as it was by the reference ranking, among the given chunks (null: all).
create or replace function ragdb_internal.reference_then(
  corpus ragdb.corpora, query text, among integer[])
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  select j.corpus_id, j.chunk_no, j.score, null::float8, null::float8, null::integer,
    null::integer, null::float8, null::float8, true
  from (
    select c.corpus_id, c.chunk_no, ragdb_internal.jaccard(
      (select ragdb_internal.reference_tokens(reference_then.query)),
      ragdb_internal.reference_tokens(c.text)) as score
    from ragdb_internal.chunks_then(reference_then.corpus) c
    where reference_then.among is null
      or c.chunk_no in (select pg_catalog.unnest(reference_then.among))
    offset 0) j -- a score is made once
  where j.score > 0;
end;

-- Returns at least the k best chunks of a corpus as it was that reach the floors of a search, in no
-- order. Raises RG410.
create or replace function ragdb_internal.rank_then(
  past ragdb_internal.past, statistics ragdb.corpora, request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text := ragdb_internal.asked_words(request);
  v_among constant integer[] := ragdb_internal.filtered_then(
    past.corpus, request.filter, request.chunk_ids);
  v_demanded integer[];
  v_ranked ragdb_internal.ranked[];
begin
  if request.mode = 'reference' then
    v_ranked := array(
      select r from ragdb_internal.reference_then(past.corpus, request.query, v_among) r);
  elsif request.mode = 'lexical' then
    v_ranked := array(
      select r from ragdb_internal.lexical_then(
        past, statistics, v_words, v_among, null, (request.options).typos) r);
  elsif request.mode in ('semantic', 'hybrid') then
    v_demanded := ragdb_internal.demanded_then(past, v_words, v_among);
    v_ranked := case when request.mode = 'semantic'
      then array(select r from ragdb_internal.semantic_then(
        past, ragdb_internal.pgvector(request.query_embedding), request.k, v_demanded) r)
      else array(select r from ragdb_internal.hybrid_then(
        past, statistics, request, v_among, v_demanded) r) end;
  end if;
  return array(
    select r from unnest(v_ranked) r where ragdb_internal.reaches_floors(r, request));
end $$;

-- Returns the impacts of some chunks of a corpus as it was; none of a chunk without words. Lexemes
-- that the dictionary of today lacks get the numbers at the end.
create or replace function ragdb_internal.impacts_then(
  past ragdb_internal.past, chunk_nos integer[])
returns table (chunk_no integer, impacts sparsevec)
language sql stable parallel safe
begin atomic
  select p.chunk_no, ragdb_internal.sparse(pg_catalog.string_agg(p.term_id || ':'
    || ragdb_internal.impact(p.frequency, ragdb_internal.length_norm(p.length,
      ((past).corpus).k1, ((past).corpus).b, ((past).corpus).pivot), ((past).corpus).k1)::real,
    ','))
  from (
    select x.chunk_no, x.lexeme_count as length, i.term_id, ragdb_internal.frequency(i.impact,
      ragdb_internal.length_norm(x.lexeme_count, c.k1, c.b, c.pivot), c.k1) as frequency
    from ragdb.corpora c
      cross join lateral ragdb_internal.indexed_at(c.corpus_id, array(
        select n from pg_catalog.unnest(impacts_then.chunk_nos) n
        where n <> all ((past).stale))) x
      cross join lateral ragdb_internal.postings_of(x.impacts) i
    where c.corpus_id = ((past).corpus).corpus_id
    union all
    select o.chunk_no, o.length, coalesce(l.term_id,
        1000000001 - pg_catalog.array_position((past).lexemes, w.lexeme collate "C")),
      pg_catalog.cardinality(w.positions)
    from pg_catalog.unnest((past).old) o cross join lateral pg_catalog.unnest(o.words) w
      left join ragdb.lexemes l on l.corpus_id = ((past).corpus).corpus_id and l.lexeme = w.lexeme
    where o.chunk_no = any (impacts_then.chunk_nos)) p
  group by p.chunk_no;
end;

-- Returns the k best of ranked chunks of a corpus as it was, best first.
create or replace function ragdb_internal.contenders_then(
  past ragdb_internal.past, ranked ragdb_internal.ranked[], k integer)
returns setof ragdb_internal.contender
language sql stable parallel safe
begin atomic
  with reached as materialized (
    select r from pg_catalog.unnest(contenders_then.ranked) r
    where coalesce(r.score >= (
      select ragdb_internal.kth_score(contenders_then.ranked, contenders_then.k)), true)
  ), best as materialized (
    select o.r as ranked, (o.r).chunk_no, (o.r).score, c.doc_no, c.chunk_id, c.content_hash
    from reached o
      join ragdb_internal.chunks_at_then((past).corpus,
        array(select (a.r).chunk_no from reached a)) c on c.chunk_no = (o.r).chunk_no
    order by (o.r).score desc, c.chunk_id limit contenders_then.k
  )
  select b.ranked, b.doc_no::text, b.content_hash,
    coalesce(i.impacts, ragdb_internal.sparse(null)), e,
    (select m.metric from ragdb.embedders m where m.embedder_id = (past).embedder_id),
    null::integer
  from best b
    left join ragdb_internal.impacts_then(contenders_then.past,
      array(select o.chunk_no from best o)) i on i.chunk_no = b.chunk_no
    left join ragdb_internal.embeddings_then((past).corpus, (past).space_id,
      array(select o.chunk_no from best o)) e
      on e.chunk_no = b.chunk_no
  order by b.score desc, b.chunk_id;
end;

-- Returns the k chunks that a search picks among what ranks, in some corpora or in one as it was,
-- in the order that they are shown in; fewer only where there are fewer. A pool of four for each
-- hit is enough to choose from; what ranks below it is not about the query.
create or replace function ragdb_internal.rank_picked(
  corpora ragdb.corpora[], statistics ragdb.corpora, request ragdb_internal.search_request,
  past ragdb_internal.past default null)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_k constant integer := request.k;
  v_wanted constant integer :=
    case when (request.options).diversity > 0 then 4 * v_k else v_k end;
  v_ranked ragdb_internal.ranked[];
  v_contenders ragdb_internal.contender[];
  v_picked ragdb_internal.contender[];
begin
  request.k := 2 * v_wanted + 10;
  loop
    if past is null then
      v_ranked := ragdb_internal.rank_corpora(corpora, statistics, request);
      v_contenders := ragdb_internal.to_pick(corpora, v_ranked, request);
    else
      v_ranked := ragdb_internal.rank_then(past, statistics, request);
      v_contenders := array(
        select c from ragdb_internal.contenders_then(past, v_ranked, request.k) c);
    end if;
    v_picked := ragdb_internal.picked(v_contenders, request.options, v_wanted);
    exit when cardinality(v_picked) >= v_wanted or cardinality(v_ranked) < request.k;
    -- to rank again costs more than to rank deeper, but eight times as deep costs four times as
    -- much
    request.k := ragdb_internal.deeper(request.k, v_wanted, cardinality(v_picked));
  end loop;
  if (request.options).diversity > 0 then
    v_picked := ragdb_internal.diverse(corpora, v_picked, (request.options).diversity, v_k);
  end if;
  return ragdb_internal.ranked_of(v_picked);
end $$;
