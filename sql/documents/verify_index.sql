-- Whether the lexical index of a corpus is what its chunks say. Each check recounts or recomputes a
-- part and returns what there should be beside what there is.

create type ragdb_internal.corpus_check as ("check" text, expected numeric, found numeric);
comment on type ragdb_internal.corpus_check is 'What there should be, and what there is.';

-- Where a search would overlook a chunk: a posting that neither a list nor a block has, nor chunks
-- that are looked at in any case.
create or replace function ragdb_internal.block_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
begin atomic
  with blocks as materialized (
    select b.term_id, 64 * b.block_no + e.entries[i]::integer - 1 as group_no,
      e.entries[i + 1] / b.weight as impact
    from ragdb.term_blocks b
      cross join lateral (select ragdb_internal.entries(b.scores) as entries offset 0) e
      cross join generate_series(1, cardinality(e.entries), 2) i
    where b.corpus_id = (corpus).corpus_id
  )
  select 'words of chunks that blocks lack', 0::numeric, count(*)::numeric
  from ragdb_internal.stored_postings((corpus).corpus_id) p
    join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.term_id = p.term_id
    left join ragdb.block_states s on s.corpus_id = (corpus).corpus_id
    left join blocks b on b.term_id = p.term_id and b.group_no = (p.chunk_no - 1) / 4
  where l.in_blocks and p.chunk_no <= s.last_chunk_no and p.chunk_no <> all (s.stale_chunks)
    and p.chunk_no <> all (l.chunk_nos) and (b.impact >= 0.999999 * p.impact) is not true;
end;
comment on function ragdb_internal.block_checks(ragdb.corpora) is
  'Compares the blocks of a corpus with the rows of its lexical index.';

create or replace function ragdb_internal.index_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select 'chunks that are not indexed', 0::numeric, count(*)::numeric
  from ragdb.chunks c
  where c.corpus_id = (corpus).corpus_id
    and not exists (select from ragdb.chunk_lexemes x
      where x.corpus_id = (corpus).corpus_id and x.chunk_no = c.chunk_no)
  union all
  select 'index rows without a chunk', 0, count(*)
  from ragdb.chunk_lexemes x
  where x.corpus_id = (corpus).corpus_id
    and not exists (select from ragdb.chunks c
      where c.corpus_id = (corpus).corpus_id and c.chunk_no = x.chunk_no)
  union all
  select w."check", 0, w.found
  from (
    select count(*) filter (where coalesce(l.df, 0) <> coalesce(n.df, 0)) as counts,
      count(*) filter (where l.chunk_nos is distinct from n.chunk_nos) as lists
    from (
      select l.term_id, l.df, case when not l.in_blocks
        then array(select c from unnest(l.chunk_nos) c order by 1) end as chunk_nos, l.in_blocks
      from ragdb.lexemes l
      where l.corpus_id = (corpus).corpus_id and (l.df <> 0 or l.chunk_nos <> '{}')) l
      full join (
        select p.term_id, count(*) as df, array_agg(p.chunk_no order by p.chunk_no) as chunk_nos
        from ragdb_internal.stored_postings((corpus).corpus_id) p group by p.term_id) n
        on n.term_id = l.term_id
    where l.df is distinct from n.df or not l.in_blocks and l.chunk_nos <> n.chunk_nos) c
    cross join lateral (values
      ('lexemes with a wrong number of chunks', c.counts::numeric),
      ('lexemes with a wrong list of chunks', c.lists)) w ("check", found);
end;
comment on function ragdb_internal.index_checks(ragdb.corpora) is
  'Compares the rows of the lexical index with the chunks, and its lexemes with its rows.';

-- The words of a batch are numbered together: a word of many chunks is looked up once, as when they
-- are indexed.
create or replace function ragdb_internal.wrongly_indexed(
  corpus ragdb.corpora, chunk_nos integer[])
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
begin
  return (
    with chunks as materialized (
      select a.* from ragdb_internal.analysed(corpus, wrongly_indexed.chunk_nos) a
    ), terms as materialized (
      select l.term_id || ':' as prefix, t.chunk_nos, t.impacts
      from (
          select p.lexeme, array_agg(p.chunk_no) as chunk_nos, array_agg(p.impact) as impacts
          from (
            select c.chunk_no, w.lexeme collate "C" as lexeme, ragdb_internal.impact(
              cardinality(w.positions), ragdb_internal.length_norm(
                c.length, corpus.k1, corpus.b, corpus.pivot), corpus.k1)::real as impact
            from chunks c cross join lateral unnest(c.words) w) p
          group by p.lexeme) t
        cross join lateral (select k.term_id from ragdb.lexemes k
          where k.corpus_id = corpus.corpus_id and k.lexeme = t.lexeme offset 0) l
    ), entries as (
      select p.chunk_no, string_agg(p.prefix || p.impact, ',') as entries
      from (
        select u.prefix, unnest(u.chunk_nos) as chunk_no, unnest(u.impacts) as impact
        from terms u offset 0) p
      group by p.chunk_no)
    select count(*)
    from chunks c
      left join entries e on e.chunk_no = c.chunk_no
      cross join lateral (
        select h.lexeme_count, h.impacts, h.word_order from ragdb.chunk_lexemes h
        where h.corpus_id = corpus.corpus_id and h.chunk_no = c.chunk_no offset 0) x
    where x.lexeme_count <> c.length or x.word_order is distinct from c.word_order
      or x.impacts::text <> ragdb_internal.sparse(e.entries)::text);
end $$;
comment on function ragdb_internal.wrongly_indexed(ragdb.corpora, integer[]) is
  'Analyses some chunks again and counts those whose row in the index has other lexemes, impacts '
  'or another order of words.';

create or replace function ragdb_internal.analysis_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select 'chunks that are indexed by another text', 0::numeric,
    coalesce(sum(ragdb_internal.wrongly_indexed(analysis_checks.corpus, b.chunk_nos)), 0)
  from (
    select array_agg(c.chunk_no order by c.chunk_no) as chunk_nos
    from (
      select k.chunk_no, (row_number() over (order by k.chunk_no) - 1) / 8192 as batch
      from ragdb.chunks k where k.corpus_id = (analysis_checks.corpus).corpus_id) c
    group by c.batch) b;
end;
comment on function ragdb_internal.analysis_checks(ragdb.corpora) is
  'Analyses every chunk again and compares its lexemes with those of its row in the index.';
