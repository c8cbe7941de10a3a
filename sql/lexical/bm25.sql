-- The score that counts: float8, terms in the order of their lexemes, whatever their numbers are (a
-- CTE is read in the order of its rows). An impact is a float4 made of a small whole number, the
-- term's frequency, and gives it back exactly.
create or replace function ragdb_internal.exact_bm25(corpus ragdb.corpora, chunk_nos integer[],
  term_ids integer[], weights float8[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  with terms as materialized (
    select t.weight, ragdb_internal.sparse(t.term_id || ':1') as unit
    from rows from (pg_catalog.unnest(exact_bm25.term_ids), pg_catalog.unnest(exact_bm25.weights)) t (term_id,
      weight)
  )
  select x.chunk_no, s.bm25, s.matched
  from (
      select y.chunk_no, y.impacts,
        (corpus).k1 * (1 - (corpus).b + (corpus).b * y.lexeme_count / (corpus).pivot) as norm
      from ragdb.chunk_lexemes y
      where y.corpus_id = (corpus).corpus_id and y.chunk_no = any (exact_bm25.chunk_nos)
      offset 0) x
    cross join lateral (
      select coalesce(sum(f.weight * ((corpus).k1 + 1) * f.tf / (f.tf + x.norm)), 0) as bm25,
        coalesce(sum(f.weight), 0) as matched
      from (
        select t.weight,
          greatest(1, round(i.impact * x.norm / nullif((corpus).k1 + 1 - i.impact, 0))) as tf
        from terms t cross join lateral (select ragdb_internal.inner_product(x.impacts, t.unit) as impact
          offset 0) i
        where i.impact > 0) f) s;
end;
comment on function ragdb_internal.exact_bm25(ragdb.corpora, integer[], integer[], float8[]) is
  'Returns the exact BM25 of chunks and the weight of the terms they have; weights are idf times '
  'query frequency, in the order of the sum.';
