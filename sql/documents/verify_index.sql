-- Whether the lexical index of a corpus is what its chunks say. Each check recounts or recomputes a
-- part and returns what there should be beside what there is.

-- What there should be, and what there is.
create type ragdb_internal.corpus_check as ("check" text, expected numeric, found numeric);

-- Compares the rows of the lexical index with the chunks, and its lexemes with its rows.
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
      count(*) filter (where l.chunk_nos is distinct from n.chunk_nos) as lists,
      count(*) filter (where l.max_impact < 0.999999 * n.impact) as bounds
    from (
      select l.term_id, l.df, l.max_impact, case when not l.in_blocks
        then array(
          select c from unnest(ragdb_internal.listed_numbers(l.chunk_nos)) c order by 1)
        end as chunk_nos, l.in_blocks
      from ragdb.lexemes l
      where l.corpus_id = (corpus).corpus_id and (l.df <> 0 or l.chunk_nos <> '')) l
      full join (
        select p.term_id, count(*) as df, array_agg(p.chunk_no order by p.chunk_no) as chunk_nos,
          max(p.impact) as impact
        -- or the rows that are sorted each carry all postings of their chunk
        from (select x.chunk_no, o.* from ragdb.chunk_lexemes x, ragdb_internal.postings_of(
          x.impacts) o where x.corpus_id = (corpus).corpus_id offset 0) p group by p.term_id) n
        on n.term_id = l.term_id
    where l.df is distinct from n.df or not l.in_blocks and l.chunk_nos <> n.chunk_nos
      or l.max_impact < 0.999999 * n.impact) c
    cross join lateral (values
      ('lexemes with a wrong number of chunks', c.counts::numeric),
      ('lexemes with a wrong list of chunks', c.lists),
      ('lexemes with an impact above their bound', c.bounds)) w ("check", found);
end;

-- How many chunks are indexed by another text, and how many of their words blocks lack.
create type ragdb_internal.index_faults as (chunks bigint, words bigint);

-- Returns which blocks of a corpus cover the chunks between two numbers: each covers those after a
-- number, a multiple of four, up to another. Chunks before the first block are as those of a block
-- 0 without rows.
create or replace function ragdb_internal.covering_blocks(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer)
returns table (block_no integer, after integer, until integer, stale_chunks integer[])
language sql stable parallel safe
begin atomic
  select c.block_no, c.after, c.until, c.stale_chunks
  from (
    select b.block_no, b.stale_chunks,
      greatest(ragdb_internal.unit_chunks() * b.block_no,
        (covering_blocks.first_chunk_no - 1) / 4 * 4) as after,
      least(ragdb_internal.unit_chunks()::bigint * b.next_no, b.last_chunk_no,
        covering_blocks.last_chunk_no)::integer as until
    from (
      select n as block_no, lead(n) over (order by n) as next_no, s.last_chunk_no, s.stale_chunks
      from ragdb.block_states s cross join unnest(0 || s.block_nos) n
      where s.corpus_id = covering_blocks.corpus_id) b) c
  where c.after < c.until;
end;

-- Returns how many postings of the chunks between two numbers blocks should have and lack. Where a
-- search would overlook a chunk: a posting that neither a list nor a block has, nor chunks that are
-- looked at in any case. Of a block that covers many chunks only the part that covers these is made
-- an array.
create or replace function ragdb_internal.words_lacking(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer,
  lists ragdb_internal.posting_list[])
returns bigint
language sql stable parallel safe
return (
  select count(*)
  from (
    select l.listed, k.after, k.until, k.stale_chunks, r.weight, r.bounds,
      unnest(t.chunk_nos) as chunk_no, unnest(t.impacts) as impact
    from unnest(words_lacking.lists) t
      cross join lateral (
        select ragdb_internal.listed_numbers(x.chunk_nos) as listed from ragdb.lexemes x
        where x.corpus_id = words_lacking.corpus_id and x.term_id = t.term_id and x.in_blocks
        offset 0) l
      cross join ragdb_internal.covering_blocks(words_lacking.corpus_id,
        words_lacking.first_chunk_no, words_lacking.last_chunk_no) k
      left join lateral (
        select b.weight, ragdb_internal.some_scores(
          ragdb_internal.densely(b.scores, b.dense_scores),
          k.after / 4 - ragdb_internal.unit_groups() * k.block_no + 1,
          (k.until - k.after + 3) / 4) as bounds
        from ragdb.term_blocks b
        where b.corpus_id = words_lacking.corpus_id and b.term_id = t.term_id
          and b.block_no = k.block_no
        offset 0) r on true
    offset 0) p
  where p.chunk_no > p.after and p.chunk_no <= p.until and p.chunk_no <> all (p.stale_chunks)
    and p.chunk_no <> all (p.listed)
    and (p.bounds[(p.chunk_no - p.after + 3) / 4] >= 0.999999 * p.impact * p.weight) is not true);

-- Analyses the chunks between two numbers again: counts those whose row in the index has other
-- lexemes, impacts or another order of words, and the words that blocks lack. The words of a batch
-- are numbered together: a word of many chunks is looked up once, as when they are indexed.
create or replace function ragdb_internal.wrongly_indexed(
  corpus ragdb.corpora, first_chunk_no integer, last_chunk_no integer)
returns ragdb_internal.index_faults
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set max_parallel_workers_per_gather = 0
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
declare
  v_chunk_nos constant integer[] := array(select c.chunk_no from ragdb.chunks c
    where c.corpus_id = corpus.corpus_id and c.chunk_no between first_chunk_no and last_chunk_no);
  v_wrong bigint;
  v_lists ragdb_internal.posting_list[];
begin
  with chunks as materialized (
    select a.* from ragdb_internal.analysed(corpus, v_chunk_nos) a
  ), terms as materialized (
    select l.term_id, l.in_blocks, t.chunk_nos, t.impacts
    from (
        select p.lexeme, array_agg(p.chunk_no) as chunk_nos, array_agg(p.impact) as impacts
        from (
          select c.chunk_no, w.lexeme collate "C" as lexeme, ragdb_internal.impact(
            cardinality(w.positions), ragdb_internal.length_norm(
              c.length, corpus.k1, corpus.b, corpus.pivot), corpus.k1)::real as impact
          from chunks c cross join lateral unnest(c.words) w) p
        group by p.lexeme) t
      cross join lateral (select k.term_id, k.in_blocks from ragdb.lexemes k
        where k.corpus_id = corpus.corpus_id and k.lexeme = t.lexeme offset 0) l
  ), entries as (
    select p.chunk_no, string_agg(p.prefix || p.impact, ',') as entries
    from (
      select u.prefix, unnest(u.chunk_nos) as chunk_no, unnest(u.impacts) as impact
      from (select t.term_id || ':' as prefix, t.chunk_nos, t.impacts from terms t offset 0) u
      offset 0) p group by p.chunk_no)
  select count(*), (
      select array_agg(row(t.term_id, t.chunk_nos, t.impacts)::ragdb_internal.posting_list)
      from terms t where t.in_blocks)
    into v_wrong, v_lists
    from chunks c
      left join entries e on e.chunk_no = c.chunk_no
      cross join lateral (
        select h.lexeme_count, h.impacts, h.word_order from ragdb.chunk_lexemes h
        where h.corpus_id = corpus.corpus_id and h.chunk_no = c.chunk_no offset 0) x
    where x.lexeme_count <> c.length or x.word_order is distinct from c.word_order
      or not ragdb_internal.same_impacts(x.impacts, ragdb_internal.sparse(e.entries));
  return (v_wrong, ragdb_internal.words_lacking(
    corpus.corpus_id, first_chunk_no, last_chunk_no, v_lists));
end $$;

-- Analyses the chunks between two numbers again, and with the first chunks compares the index with
-- the chunks and its lexemes with its rows. What one of the parallel workers does; the first of
-- them looks at the index as a whole, too.
create or replace function ragdb_internal.batch_checks(
  corpus ragdb.corpora, first_chunk_no integer, last_chunk_no integer, is_first boolean)
returns ragdb_internal.corpus_check[]
language sql stable parallel safe
return (
  select array_agg(k.checked)
  from (
    select row(w."check", 0, w.found)::ragdb_internal.corpus_check as checked
    from ragdb_internal.wrongly_indexed(batch_checks.corpus, batch_checks.first_chunk_no,
        batch_checks.last_chunk_no) f
      cross join lateral (values
        ('chunks that are indexed by another text', f.chunks),
        ('words of chunks that blocks lack', f.words)) w ("check", found)
    union all
    select c::ragdb_internal.corpus_check
    from ragdb_internal.index_checks(batch_checks.corpus) c where batch_checks.is_first) k);

-- Does what ragdb_internal.index_checks does, and analyses every chunk again: compares its lexemes
-- with those of its row in the index and with what blocks have of them. Parallel workers share it,
-- 1,024 numbers at a time: hence the costs, as those of ragdb_internal.analysed. The first batch
-- takes longest, and it is begun first.
create or replace function ragdb_internal.deep_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set cpu_tuple_cost = 100000
set parallel_setup_cost = 0
set parallel_tuple_cost = 0
set min_parallel_table_scan_size = 0
set min_parallel_index_scan_size = 0
as $$
declare
  v_firsts constant integer[] := array(
    select min(c.chunk_no) from ragdb.chunks c where c.corpus_id = corpus.corpus_id
    group by (c.chunk_no - 1) / 1024 order by 1);
begin
  if v_firsts = '{}' then
    return query select c.* from ragdb_internal.index_checks(corpus) c;
  end if;
  return query
    select k."check", 0::numeric, sum(k.found)
    from (
      select ragdb_internal.batch_checks(corpus, c.chunk_no, (c.chunk_no + 1023) / 1024 * 1024,
        c.chunk_no = v_firsts[1]) as checks
      from ragdb.chunks c
      where c.corpus_id = corpus.corpus_id and c.chunk_no = any (v_firsts)
      offset 0) b
      cross join lateral unnest(b.checks) k
    group by k."check";
end $$;
