-- Whether a corpus with parts counts what they have.

-- Compares what a corpus with parts counts of them with what they have. A part that was written to
-- since counts as it was then.
create or replace function ragdb_internal.whole_checks(whole ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  with counted as materialized (
    select p.chunks, p.lexeme_count, d.lexemes, d.dfs
    from ragdb.corpora p
      cross join lateral (
        select array_agg(l.lexeme) as lexemes, array_agg(l.df) as dfs
        from ragdb.lexemes l where l.corpus_id = p.corpus_id and l.df > 0 offset 0) d
    where p.part_of = (whole).corpus_id and not ragdb_internal.is_stale(p)
    union all
    select s.chunks, s.lexeme_count, s.lexemes, s.dfs
    from ragdb.part_states s join ragdb.corpora p on p.corpus_id = s.corpus_id
    where p.part_of = (whole).corpus_id and ragdb_internal.is_stale(p)
    union all
    select e.chunks, e.lexeme_count, e.lexemes, e.dfs
    from ragdb.parts_elsewhere e where e.corpus_id = (whole).corpus_id)
  select r.*
  from (select coalesce(sum(c.chunks), 0) as chunks, coalesce(sum(c.lexeme_count), 0) as lexemes
    from counted c) n
    cross join lateral (values
      ('chunks of all parts', n.chunks::numeric, (whole).chunks::numeric),
      ('lexemes of all parts', n.lexemes, (whole).lexeme_count)) r ("check", expected, found)
  union all
  select 'lexemes of all parts with a wrong number of chunks', 0, count(*)
  from (
      select l.lexeme, l.df from ragdb.lexemes l
      where l.corpus_id = (whole).corpus_id and l.df <> 0) l
    full join (
      select u.lexeme, sum(u.df) as df
      from counted c cross join lateral unnest(c.lexemes, c.dfs) u (lexeme, df)
      group by u.lexeme) n on n.lexeme = l.lexeme
  where l.df is distinct from n.df;
end;
