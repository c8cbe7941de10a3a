-- The lexical index: what a chunk's words weigh, and which chunks hold them.
--
-- It has one row for each chunk: `impacts` maps term ids to impacts (bm25.sql), so that BM25 is the
-- inner product of impacts and weights. Which chunks hold a lexeme stands with it in the dictionary
-- as long as they are few, and in blocks (blocks.sql) from then on. Chunks newer than the blocks
-- are all looked at. Writers of a corpus queue up, so the counters that change here are exact.
-- pgvector's sparse vectors end at a billion.

-- Returns the number of the nth new lexeme of a corpus. Raises RG413 past 1,000,000,000.
create or replace function ragdb_internal.next_term_id(corpus ragdb.corpora, nth bigint)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.next_term_id + nth - 1 > 1000000000 then
    raise exception 'corpus % has no number left for its lexemes',
        ragdb_internal.quote(corpus.name)
      using errcode = 'RG413', detail = 'a corpus gives out 1000000000 numbers to lexemes',
            hint = 'ragdb.repair_corpus() gives the lexemes that there are new numbers';
  end if;
  return corpus.next_term_id + nth - 1;
end $$;

-- Has the statistics of its whole count a part again that they counted in this transaction; the
-- caller holds the lock of the part. A transaction that summed a part and writes to it again does
-- so under the same version.
create or replace function ragdb_internal.uncount_part(corpus_id integer) returns void
language sql
begin atomic
  update ragdb.part_states s set version = s.version - 1
    from ragdb.corpora c
    where s.corpus_id = uncount_part.corpus_id and c.corpus_id = uncount_part.corpus_id
      and s.version = c.version;
end;

-- Adds chunks to the lexical index and the counters of their corpus; those that are ready are not
-- analysed again. The caller holds the corpus lock. Raises RG413.
--
-- What the planner believes of tables that grow within a transaction is worthless, so it is given
-- no choice: lookups go by key (lateral, offset 0), lexemes in their order, and what is joined in
-- memory is hashed. Lexemes go in together, known or new: rows that are updated often then lie
-- among such as are not, and find room on their page. Postings are sorted by chunk before they
-- are put together: when each went to another of 12,000 chunks, no cache held what it added to.
--
-- The pivot is the mean length of what a corpus begins with, if that is enough to tell; after that
-- ragdb.optimize_corpus alone moves it, and that of a part with that of its whole. A lexeme that
-- becomes frequent keeps those chunks of its list that blocks lack.
create or replace function ragdb_internal.index_chunks(
  corpus_id integer, chunk_nos integer[], is_first_load boolean,
  ready ragdb_internal.analysed_chunks)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
declare
  v_corpus ragdb.corpora;
  -- chunks from which on a lexeme is in blocks; one of fewer has a list
  v_frequent constant integer := 64;
  v_last constant integer := ragdb_internal.last_in_blocks(index_chunks.corpus_id);
  v_until integer;
  v_after integer;
  v_lists ragdb_internal.posting_list[];
  v_chunks ragdb_internal.analysed_chunk[];
  v_numbers constant integer[] := array(
    select n from unnest(index_chunks.chunk_nos) n order by n);
  v_has_postings boolean;
begin
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = index_chunks.corpus_id;
  v_chunks := ragdb_internal.analysed_once(v_corpus, v_numbers, ready);
  if index_chunks.is_first_load and v_corpus.part_of is null and cardinality(v_chunks) >= 1000 then
    v_corpus.pivot := (select coalesce(nullif(sum(c.length), 0)::float8 / count(*), v_corpus.pivot)
      from unnest(v_chunks) c);
  end if;
  v_has_postings := ready.postings is not null and ready.pivot = v_corpus.pivot
    and ready.numbers = v_numbers;
  select b.until, b.after into v_until, v_after
    from ragdb_internal.blocks_due(v_last, index_chunks.chunk_nos) b;
  with terms as materialized (
    select t.*, l.term_id is null as is_new,
      l.in_blocks is true or coalesce(l.df, 0) + t.df >= v_frequent as in_blocks,
      coalesce(l.term_id, ragdb_internal.next_term_id(v_corpus,
        count(*) filter (where l.term_id is null) over (order by t.lexeme))) as term_id
    from (
        select p.*, cardinality(p.nths) as df
        from (
          select g.* from unnest(ready.postings) g where v_has_postings
          union all
          select m.* from ragdb_internal.postings(v_corpus, v_chunks) m
          where v_has_postings is not true) p
        order by p.lexeme offset 0) t
      left join lateral (
        select k.term_id, k.df, k.in_blocks from ragdb.lexemes k
        where k.corpus_id = v_corpus.corpus_id and k.lexeme = t.lexeme offset 0) l on true
  ), counted as (
    insert into ragdb.lexemes as l
        (corpus_id, lexeme, term_id, df, max_impact, in_blocks, chunk_nos)
      select v_corpus.corpus_id, t.lexeme, t.term_id, t.df, t.max_impact, t.df >= v_frequent, case
          when t.df = 1 then int4send(v_numbers[t.nths[1]])
          when t.df < v_frequent
            then (select string_agg(int4send(v_numbers[n]), '') from unnest(t.nths) n)
          else '' end
      from terms t order by t.lexeme
    on conflict on constraint lexemes_are_unique_per_corpus do update
      set df = l.df + excluded.df, max_impact = greatest(l.max_impact, excluded.max_impact),
        in_blocks = l.in_blocks or l.df + excluded.df >= v_frequent,
        chunk_nos = case
          when l.in_blocks then l.chunk_nos
          when l.df + excluded.df < v_frequent then l.chunk_nos || excluded.chunk_nos
          else (select coalesce(string_agg(int4send(n), ''), '')
            from unnest(ragdb_internal.listed_numbers(l.chunk_nos)) n where n <= v_last) end
  ), indexed as (
    insert into ragdb.chunk_lexemes (corpus_id, chunk_no, lexeme_count, impacts, word_order)
    select v_corpus.corpus_id, c.chunk_no, c.length, ragdb_internal.sparse(e.entries), c.word_order
    from unnest(v_chunks) with ordinality c
      left join (
        select p.nth, string_agg(p.prefix || p.impact, ',') as entries
        from (
          select u.prefix, unnest(u.nths) as nth, unnest(u.impacts) as impact
          from (select t.term_id || ':' as prefix, t.nths, t.impacts from terms t offset 0) u
          order by nth offset 0) p
        group by p.nth) e on e.nth = c.ordinality
    order by c.chunk_no
    returning lexeme_count
  ), summed as (
    update ragdb.corpora c
      set chunks = c.chunks + (select count(*) from indexed),
        lexeme_count = c.lexeme_count + (select coalesce(sum(i.lexeme_count), 0) from indexed i),
        next_term_id = c.next_term_id + (select count(*) from terms t where t.is_new),
        pivot = v_corpus.pivot
      where c.corpus_id = v_corpus.corpus_id
  )
  select array_agg(row(t.term_id, t.nths, t.impacts)::ragdb_internal.posting_list)
    into v_lists
    from terms t where t.in_blocks and v_after is not null;
  perform ragdb_internal.extend_blocks(v_corpus.corpus_id, index_chunks.chunk_nos, v_until,
      case when v_after is not null then row(v_after, v_lists)::ragdb_internal.fresh_postings end),
    ragdb_internal.drop_left_lexemes(v_corpus), ragdb_internal.uncount_part(v_corpus.corpus_id);
end $$;

-- Returns a row for each lexeme of the impacts of a chunk.
create or replace function ragdb_internal.postings_of(impacts sparsevec)
returns table (term_id integer, impact real)
language sql stable parallel safe
begin atomic
  select e.entries[i]::integer, e.entries[i + 1]::real
  from (select ragdb_internal.entries(postings_of.impacts) as entries offset 0) e
    cross join generate_series(1, cardinality(e.entries), 2) i;
end;

-- Takes chunks out of the lexical index and the counters of their corpus; the caller holds the
-- corpus lock.
create or replace function ragdb_internal.unindex_chunks(corpus_id integer, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
  with gone as materialized (
    delete from ragdb.chunk_lexemes x
    where x.corpus_id = unindex_chunks.corpus_id and x.chunk_no = any (unindex_chunks.chunk_nos)
    returning x.chunk_no, x.lexeme_count, x.impacts
  ), lost as materialized (
    select p.term_id, array_agg(g.chunk_no) as chunk_nos
    from gone g cross join lateral ragdb_internal.postings_of(g.impacts) p
    group by 1
  ), counted as (
    update ragdb.corpora c
      set chunks = c.chunks - (select count(*) from gone),
        lexeme_count = c.lexeme_count - (select coalesce(sum(g.lexeme_count), 0) from gone g)
      where c.corpus_id = unindex_chunks.corpus_id
  )
  update ragdb.lexemes l
    set df = l.df - cardinality(t.chunk_nos),
      chunk_nos = case when l.in_blocks then l.chunk_nos
        else (select coalesce(string_agg(int4send(n), ''), '')
          from unnest(ragdb_internal.listed_numbers(l.chunk_nos)) n
          where n <> all (t.chunk_nos)) end
    from lost t
      cross join lateral (
        select h.ctid from ragdb.lexemes h
        where h.corpus_id = unindex_chunks.corpus_id and h.term_id = t.term_id offset 0) o
    where l.ctid = o.ctid;
  update ragdb.block_states s
    set gone_chunks = s.gone_chunks + (
      select count(*) from unnest(unindex_chunks.chunk_nos) n where n <= s.last_chunk_no)
    where s.corpus_id = unindex_chunks.corpus_id;
  perform ragdb_internal.uncount_part(unindex_chunks.corpus_id);
end $$;

-- Returns the rows of some chunks, each once, in the lexical index of a corpus. A few are looked up
-- by key, whatever is known of the table. Where they are an eighth of the corpus, to read it takes
-- less (is true: else PostgreSQL might look for each).
create or replace function ragdb_internal.indexed_at(corpus_id integer, chunk_nos integer[])
returns setof ragdb.chunk_lexemes
language sql stable parallel safe
begin atomic
  with asked as materialized (
    select 8 * pg_catalog.cardinality(indexed_at.chunk_nos) >= c.chunks as are_many
    from ragdb.corpora c where c.corpus_id = indexed_at.corpus_id
  )
  select x.* from (select distinct u.n from pg_catalog.unnest(indexed_at.chunk_nos) u (n)) c
    cross join lateral (
      select h.* from ragdb.chunk_lexemes h
      where h.corpus_id = indexed_at.corpus_id and h.chunk_no = c.n offset 0) x
  where not (select a.are_many from asked a)
  union all
  select h.* from ragdb.chunk_lexemes h
  where h.corpus_id = indexed_at.corpus_id
    and (h.chunk_no in (select pg_catalog.unnest(indexed_at.chunk_nos))) is true
    and (select a.are_many from asked a);
end;
