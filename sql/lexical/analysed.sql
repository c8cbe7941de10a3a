-- What chunks are analysed into: lexemes, their order and their number.

-- Tells whether chunks of a corpus may have been stemmed by another major version of PostgreSQL
-- than queries are now. A corpus with parts has none.
create or replace function ragdb_internal.is_stemmed_otherwise(corpus ragdb.corpora)
returns boolean
language sql stable parallel safe
return (corpus).chunks > 0 and (corpus).parts = 0
  and (corpus).analysed_by <> ragdb_internal.server_major();

-- Returns the title of a document.
create or replace function ragdb_internal.title(corpus_id integer, doc_no integer) returns text
language sql stable parallel safe
return (select d.title from ragdb.documents d
  where d.corpus_id = title.corpus_id and d.doc_no = title.doc_no);

-- Returns how many words a text has, each occurrence of a lexeme counted. ts_rank() of two words
-- that no chunk has is a constant, which its option 2 divides by the length: that counts a chunk's
-- positions without unfolding them.
create or replace function ragdb_internal.word_count(words tsvector) returns integer
language sql immutable parallel safe
return coalesce(pg_catalog.round(1e-20::real
  / nullif(pg_catalog.ts_rank(word_count.words, '"a" & "b"', 2), 0)), 0)::integer;

-- The lexemes of a chunk, their order and their number, each occurrence counted.
create type ragdb_internal.analysed_chunk as (
  chunk_no integer,
  words tsvector,
  word_order bytea,
  length integer);

-- Which of some chunks have a lexeme (nths: their places among these, from 1), and its impact in
-- each.
create type ragdb_internal.lexeme_postings as (
  lexeme text collate "C",
  max_impact real,
  nths integer[],
  impacts real[]);

-- Chunks that are analysed, their numbers, and their postings, with impacts by a pivot; null
-- postings are not made.
create type ragdb_internal.analysed_chunks as (
  numbers integer[],
  chunks ragdb_internal.analysed_chunk[],
  pivot float8,
  postings ragdb_internal.lexeme_postings[]);

-- Returns the postings of chunks, with impacts by the pivot of a corpus, in no order. offset 0:
-- they are hashed, and only lexemes are sorted, not postings.
create or replace function ragdb_internal.postings(
  corpus ragdb.corpora, chunks ragdb_internal.analysed_chunk[])
returns setof ragdb_internal.lexeme_postings
language sql stable parallel safe
begin atomic
  select p.lexeme, max(p.impact), array_agg(p.nth), array_agg(p.impact)
  from (
    select n.nth, w.lexeme collate "C" as lexeme, ragdb_internal.impact(
      pg_catalog.cardinality(w.positions), n.norm, (corpus).k1)::real as impact
    from (
        select c.ordinality::integer as nth, c.words, ragdb_internal.length_norm(
          c.length, (corpus).k1, (corpus).b, (corpus).pivot) as norm
        from pg_catalog.unnest(postings.chunks) with ordinality c
        offset 0) n
      cross join lateral pg_catalog.unnest(n.words) w) p
  group by p.lexeme offset 0;
end;

-- Returns the lexemes of chunks, their order and their number, each occurrence counted. Analysis is
-- most of the work of indexing, and a chunk is analysed by itself: parallel workers help where
-- there are enough chunks and the server allows it. Workers can share a range of rows but not a
-- list, and they cannot share a statement that writes. The planner expects one row of a range that
-- is newer than its statistics. So that row must be worth sharing, hence the costs below, and the
-- range must be joined to nothing, or the rest of the work stays with the leader; a subquery in
-- place of title() keeps it there too.
create or replace function ragdb_internal.analysed(corpus ragdb.corpora, chunk_nos integer[])
returns setof ragdb_internal.analysed_chunk
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
set enable_seqscan = off
set enable_bitmapscan = off
set cpu_tuple_cost = 1000
set parallel_setup_cost = 0
set parallel_tuple_cost = 0
set min_parallel_table_scan_size = 0
set min_parallel_index_scan_size = 0
as $$
declare
  v_first integer;
  v_last integer;
begin
  select min(n), max(n) into v_first, v_last from unnest(chunk_nos) n;
  return query execute
    'select a.chunk_no, a.words,'
    '  (select o.word_order from ragdb_internal.word_order(a.words) o),'
    '  ragdb_internal.word_count(a.words)'
    ' from (select c.chunk_no, ragdb_internal.lexemes(ragdb_internal.searched_text('
    '     ragdb_internal.title(c.corpus_id, c.doc_no), c.heading, c.text), $2) as words'
    '   from '
    || case when v_last - v_first >= 500 and v_last - v_first + 1 = cardinality(chunk_nos)
      then 'ragdb.chunks c'
      else '(select h.* from unnest($5) n (chunk_no)'
        ' cross join lateral (select k.* from ragdb.chunks k'
        '   where k.corpus_id = $1 and k.chunk_no = n.chunk_no offset 0) h) c'
      end
    || ' where c.corpus_id = $1 and c.chunk_no between $3 and $4 offset 0) a'
    using corpus.corpus_id, corpus.text_config, v_first, v_last, chunk_nos;
end $$;

-- Returns the chunks of ascending numbers analysed, in their order; those that are ready are not
-- analysed again.
create or replace function ragdb_internal.analysed_once(
  corpus ragdb.corpora, numbers integer[], ready ragdb_internal.analysed_chunks)
returns ragdb_internal.analysed_chunk[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
begin
  if ready.numbers = numbers then
    return ready.chunks;
  end if;
  return array(
    select c.chunk::ragdb_internal.analysed_chunk
    from (
      select r.chunk_no, r as chunk
      from unnest(ready.chunks) r join unnest(numbers) n on n = r.chunk_no
      union all
      select a.chunk_no, a from ragdb_internal.analysed(corpus, case
        when cardinality(ready.numbers) > 0
          then array(select unnest(numbers) except select unnest(ready.numbers))
        else numbers end) a) c
    order by c.chunk_no);
end $$;
