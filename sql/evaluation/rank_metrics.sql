-- The metrics of rankings, by the definitions of trec_eval: the gain is the grade, and what nobody
-- judged counts 0.

-- Returns a gain at a rank, discounted by log2(rank + 1).
create or replace function ragdb_internal.dcg(gain float8, rank integer) returns float8
language sql immutable parallel safe
return dcg.gain / (pg_catalog.ln(dcg.rank + 1::float8) / pg_catalog.ln(2::float8));

-- Returns recall, precision, hit, mrr, judged, map or ndcg of the first k items, given the grades
-- of all labels, best first; null without a label over 0.
create or replace function ragdb_internal.rank_metric(metric text, k integer,
  items ragdb_internal.eval_item[], grades integer[]) returns float8
language sql immutable parallel safe
return (
  select case metric
    when 'recall' then r.found::float8 / r.relevant
    when 'precision' then r.found::float8 / nullif(k, 0)
    when 'hit' then least(r.found, 1)::float8
    when 'mrr' then coalesce(1::float8 / r.first, 0)
    when 'judged' then coalesce(r.judged::float8 / nullif(r.shown, 0), 0)
    when 'map' then coalesce(r.precisions / r.relevant, 0)
    when 'ndcg' then coalesce(r.dcg / (
      select pg_catalog.sum(ragdb_internal.dcg(g.grade, g.n::integer) order by g.n)
      from pg_catalog.unnest(grades) with ordinality g (grade, n)
      where g.n <= k and g.grade > 0), 0)
  end
  from (
    select (select pg_catalog.count(*) from pg_catalog.unnest(grades) g where g > 0) as relevant,
      pg_catalog.count(*) as shown, pg_catalog.count(i.grade) as judged,
      pg_catalog.count(*) filter (where i.grade > 0) as found,
      pg_catalog.min(i.rank) filter (where i.grade > 0) as first,
      pg_catalog.sum(ragdb_internal.dcg(i.grade, i.rank) order by i.rank)
        filter (where i.grade > 0) as dcg,
      pg_catalog.sum(i.nth::float8 / i.rank order by i.rank) filter (where i.grade > 0)
        as precisions
    from (select u.*, pg_catalog.count(*) filter (where u.grade > 0) over (order by u.rank) as nth
      from pg_catalog.unnest(items) u) i
    where i.rank <= k
  ) r
  where r.relevant > 0);
