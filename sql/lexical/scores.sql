-- The scores of chunks: first in float4, which is fast and finds the candidates, then exactly.
--
-- The first functions are single statements that are inlined where they are called, so that each
-- search reads the index in one plan. In an inner product the vector with fewer entries comes
-- first: pgvector does more for each entry of the first one than of the second.

-- A chunk and its BM25 in float4.
create type ragdb_internal.candidate as (chunk_no integer, score float8);

-- Returns the k best of the given chunks, and of those after a number (null: none), that have a
-- term and whose words may be in an order like all patterns (null: any) and one of orders (null:
-- any). The cost follows the number of chunks that are given. One scan for a list of keys costs
-- half of a scan for each key.
create or replace function ragdb_internal.candidates_among(
  corpus_id integer, chunk_nos integer[], after integer, weights sparsevec, patterns bytea[],
  orders bytea[], k integer)
returns setof ragdb_internal.candidate
language sql stable parallel safe
begin atomic
  select c.chunk_no, c.score
  from (
    select x.chunk_no, ragdb_internal.inner_product(candidates_among.weights, x.impacts) as score
    from ragdb.chunk_lexemes x
    where x.corpus_id = candidates_among.corpus_id
      and x.chunk_no = any (candidates_among.chunk_nos)
      and (candidates_among.patterns is null or x.word_order is null
        or x.word_order like all (candidates_among.patterns))
      and (candidates_among.orders is null or x.word_order is null
        or x.word_order like any (candidates_among.orders))
    union all
    select y.chunk_no, ragdb_internal.inner_product(candidates_among.weights, y.impacts)
    from ragdb.chunk_lexemes y
    where y.corpus_id = candidates_among.corpus_id
      and y.chunk_no > candidates_among.after
      and (candidates_among.patterns is null or y.word_order is null
        or y.word_order like all (candidates_among.patterns))
      and (candidates_among.orders is null or y.word_order is null
        or y.word_order like any (candidates_among.orders))
    offset 0) c
  where c.score > 0
  order by c.score desc
  limit candidates_among.k;
end;

-- Returns the chunks of the given groups of four chunks (from 0) whose words may be in an order
-- like all patterns (null: any) and one of orders (null: any). A score is worked out once, inside:
-- its callers compare it more often. The chunks of a group lie side by side in the index, and a
-- scan for each group costs less than one for a list of all. A series in a select list costs half
-- of one in from, which is stored first.
create or replace function ragdb_internal.candidates_in_groups(
  corpus_id integer, group_nos integer[], weights sparsevec, patterns bytea[], orders bytea[])
returns setof ragdb_internal.candidate
language sql stable parallel safe
begin atomic
  select x.chunk_no, x.score
  from (select pg_catalog.unnest(candidates_in_groups.group_nos) as group_no) g
    cross join lateral (
      select y.chunk_no,
        ragdb_internal.inner_product(candidates_in_groups.weights, y.impacts) as score
      from ragdb.chunk_lexemes y
      where y.corpus_id = candidates_in_groups.corpus_id
        and y.chunk_no > 4 * g.group_no and y.chunk_no <= 4 * g.group_no + 4
        and (candidates_in_groups.patterns is null or y.word_order is null
          or y.word_order like all (candidates_in_groups.patterns))
        and (candidates_in_groups.orders is null or y.word_order is null
          or y.word_order like any (candidates_in_groups.orders))
      offset 0) x;
end;

-- Returns the least that a score may be exactly which float4 rounded so often.
create or replace function ragdb_internal.at_least(score float8, roundings integer default 1)
returns float8
language sql immutable parallel safe
return at_least.score * (1 - at_least.roundings * 1e-5::float8);

-- Returns the exact BM25 of candidates that score no less than the lowest, and of other chunks
-- (null: none), and the weight of the terms they have, summed in the order of the terms. The score
-- that counts is in float8, with the terms in the order of their lexemes, whatever their numbers
-- are (a CTE is read in the order of its rows).
create or replace function ragdb_internal.exact_bm25(
  corpus ragdb.corpora, found ragdb_internal.candidate[], lowest float8, also integer[],
  terms ragdb_internal.question_term[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  with terms as materialized (
    select (u.term).weight, ragdb_internal.sparse((u.term).term_id || ':1') as unit
    from (select pg_catalog.unnest(exact_bm25.terms) as term) u
  )
  select x.chunk_no, s.bm25, s.matched
  from (
      select y.chunk_no, y.impacts, (corpus).k1, ragdb_internal.length_norm(
        y.lexeme_count, (corpus).k1, (corpus).b, (corpus).pivot) as norm
      from ragdb.chunk_lexemes y
      where y.corpus_id = (corpus).corpus_id and y.chunk_no = any (array(
          select (f.found).chunk_no
          from (select pg_catalog.unnest(exact_bm25.found) as found) f
          where (f.found).score >= exact_bm25.lowest) || exact_bm25.also)
      offset 0) x
    cross join lateral (
      select coalesce(sum(ragdb_internal.impact(f.frequency, x.norm, x.k1, f.weight)), 0)
          as bm25,
        coalesce(sum(f.weight), 0) as matched
      from (
        select i.weight, ragdb_internal.frequency(i.impact, x.norm, x.k1) as frequency
        from (
          select t.weight, ragdb_internal.inner_product(t.unit, x.impacts) as impact
          from terms t offset 0) i
        where i.impact > 0) f) s;
end;

-- Returns the exact BM25 of chunks for a question where other terms stand for some of its words,
-- and the weight of what they have: for each word that of the best, summed in the order of the
-- words.
create or replace function ragdb_internal.widened_bm25(
  corpus ragdb.corpora, chunk_nos integer[], parts ragdb_internal.question_part[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  with parts as materialized (
    select p.*, ragdb_internal.sparse(p.term_id || ':1') as unit
    from pg_catalog.unnest(widened_bm25.parts)
      with ordinality p (asked, alternative, term_id, weight, n)
  )
  select x.chunk_no, s.bm25, s.matched
  from (
      select y.chunk_no, y.impacts, (corpus).k1, ragdb_internal.length_norm(
        y.lexeme_count, (corpus).k1, (corpus).b, (corpus).pivot) as norm
      from ragdb.chunk_lexemes y
      where y.corpus_id = (corpus).corpus_id and y.chunk_no = any (widened_bm25.chunk_nos)
      offset 0) x
    cross join lateral (
      select coalesce(sum(b.bm25 order by b.asked), 0) as bm25,
        coalesce(sum(b.matched order by b.asked), 0) as matched
      from (
        select a.asked, max(a.bm25) as bm25, max(a.matched) as matched
        from (
          select i.asked, sum(ragdb_internal.impact(ragdb_internal.frequency(
              i.impact, x.norm, x.k1), x.norm, x.k1, i.weight) order by i.n) as bm25,
            sum(i.weight order by i.n) as matched
          from (
            select p.*, ragdb_internal.inner_product(p.unit, x.impacts) as impact
            from parts p offset 0) i
          where i.impact > 0
          group by i.asked, i.alternative) a
        group by a.asked) b) s;
end;
