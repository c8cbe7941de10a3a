-- The lexical index: what a chunk's words weigh, and which chunks hold them.
--
-- It has one row for each chunk. `impacts` maps term ids to impacts (bm25.sql), so that BM25 is the
-- inner product of impacts and weights. `lexemes` carries the GIN index that finds the candidates;
-- a lexeme there is written hex(corpus id).hex(term id), so that a corpus has posting lists of its
-- own. Writers of a corpus queue up, so the counters that change here are exact.
create or replace function ragdb_internal.title(corpus_id integer, doc_no integer) returns text
language sql stable parallel safe
return (select d.title from ragdb.documents d
  where d.corpus_id = title.corpus_id and d.doc_no = title.doc_no);
comment on function ragdb_internal.title(integer, integer) is 'Returns the title of a document.';

-- Analysis is most of the work of indexing, and a chunk is analysed by itself: parallel workers
-- help where there are enough chunks and the server allows it. Workers can share a range of rows
-- but not a list, and they cannot share a statement that writes. The planner expects one row of a
-- range that is newer than its statistics. So that row must be worth sharing, hence the costs
-- below, and the range must be joined to nothing, or the rest of the work stays with the leader.
-- ts_rank() of two words that no chunk has is a constant, which its option 2 divides by the length:
-- that counts a chunk's positions without unfolding them.
create or replace function ragdb_internal.analysed(corpus ragdb.corpora, chunk_nos integer[])
returns table (chunk_no integer, words tsvector, length integer)
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
    '  coalesce(round(1e-20::real / nullif(ts_rank(a.words, ''"a" & "b"'', 2), 0)), 0)::integer'
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
comment on function ragdb_internal.analysed(ragdb.corpora, integer[]) is
  'Returns the lexemes of chunks and their lengths, each occurrence counted, in no order.';

create or replace function ragdb_internal.postings(corpus ragdb.corpora, chunk_nos integer[])
returns table (chunk_no integer, length integer, lexeme text, positions text, impact real)
language sql stable parallel safe
begin atomic
  select m.chunk_no, m.length, w.lexeme collate "C",
    case pg_catalog.cardinality(w.positions) when 1 then w.positions[1]::text
      else pg_catalog.array_to_string(w.positions, ',') end,
    ragdb_internal.impact(pg_catalog.cardinality(w.positions), ragdb_internal.length_norm(
      m.length, (corpus).k1, (corpus).b, (corpus).pivot), (corpus).k1)::real
  from ragdb_internal.analysed(postings.corpus, postings.chunk_nos) m
    left join lateral pg_catalog.unnest(m.words) w on true;
end;
comment on function ragdb_internal.postings(ragdb.corpora, integer[]) is
  'Returns a row for each lexeme of each of some chunks, and one without a lexeme for a chunk that '
  'has none: the length of the chunk, the positions of the lexeme as a text, and its impact.';

-- What the blocks know of a chunk that is indexed again is wrong; where term ids begin again, all
-- that they know is.
create or replace function ragdb_internal.mark_stale(corpus ragdb.corpora, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.block_states t
    set stale_chunks = t.stale_chunks || array(
      select n.chunk_no from unnest(mark_stale.chunk_nos) n (chunk_no)
      where n.chunk_no <= t.last_chunk_no and n.chunk_no <> all (t.stale_chunks))
    where t.corpus_id = corpus.corpus_id;
  delete from ragdb.block_states t
    where t.corpus_id = corpus.corpus_id
      and (corpus.next_term_id = 1 or cardinality(t.stale_chunks) > 1000);
end $$;
comment on function ragdb_internal.mark_stale(ragdb.corpora, integer[]) is
  'Notes which chunks the blocks of a corpus know wrongly, and gives the blocks up when there are '
  'over 1,000; corpus is the row from before they were indexed.';

-- pgvector's sparse vectors end at a billion.
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
comment on function ragdb_internal.next_term_id(ragdb.corpora, bigint) is
  'Returns the number of the nth new lexeme of a corpus. Raises RG413 past 1,000,000,000.';

-- A transaction that summed a part and writes to it again does so under the same version.
create or replace function ragdb_internal.uncount_part(corpus_id integer) returns void
language sql
begin atomic
  update ragdb.part_states s set version = s.version - 1
    from ragdb.corpora c
    where s.corpus_id = uncount_part.corpus_id and c.corpus_id = uncount_part.corpus_id
      and s.version = c.version;
end;
comment on function ragdb_internal.uncount_part(integer) is
  'Has the statistics of its whole count a part again that they counted in this transaction; the '
  'caller holds the lock of the part.';

-- One statement, so that a text is analysed once and nothing is kept in between. What the planner
-- believes of tables that grow within a transaction is worthless, so it is given no choice: lookups
-- go by key (lateral, offset 0), and what is joined in memory is hashed.
create or replace function ragdb_internal.index_chunks(corpus_id integer, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = index_chunks.corpus_id;
  with postings as materialized (
    select p.* from ragdb_internal.postings(v_corpus, index_chunks.chunk_nos) p
  ), terms as materialized (
    select t.lexeme, t.df, t.max_impact, l.term_id is null as is_new,
      coalesce(l.term_id, ragdb_internal.next_term_id(v_corpus,
        row_number() over (partition by l.term_id is null order by t.lexeme))) as term_id
    from (select p.lexeme, count(*)::integer as df, max(p.impact) as max_impact from postings p
        where p.lexeme is not null group by p.lexeme) t
      left join lateral (select k.term_id from ragdb.lexemes k
        where k.corpus_id = v_corpus.corpus_id and k.lexeme = t.lexeme offset 0) l on true
  ), counted as (
    insert into ragdb.lexemes as l (corpus_id, lexeme, term_id, df, max_impact)
    select v_corpus.corpus_id, t.lexeme, t.term_id, t.df, t.max_impact from terms t
      order by t.lexeme
    on conflict on constraint lexemes_are_unique_per_corpus do update
      set df = l.df + excluded.df, max_impact = greatest(l.max_impact, excluded.max_impact)
  ), indexed as (
    insert into ragdb.chunk_lexemes (corpus_id, chunk_no, lexeme_count, impacts, lexemes)
    select v_corpus.corpus_id, p.chunk_no, max(p.length),
      ragdb_internal.sparse(string_agg(t.term_id || ':' || p.impact, ',')),
      coalesce(string_agg(ragdb_internal.token(v_corpus.corpus_id, t.term_id) || ':' || p.positions,
        ' '), '')::tsvector
    from postings p left join terms t on t.lexeme = p.lexeme
    group by p.chunk_no order by p.chunk_no
    returning lexeme_count
  )
  update ragdb.corpora c
    set chunks = c.chunks + (select count(*) from indexed),
      lexeme_count = c.lexeme_count + (select coalesce(sum(i.lexeme_count), 0) from indexed i),
      next_term_id = c.next_term_id + (select count(*) from terms t where t.is_new)
    where c.corpus_id = v_corpus.corpus_id;
  -- many entries at once cost a fifth of one by one; nobody searches a list that is not empty
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  perform ragdb_internal.mark_stale(v_corpus, index_chunks.chunk_nos),
    ragdb_internal.uncount_part(v_corpus.corpus_id);
end $$;
comment on function ragdb_internal.index_chunks(integer, integer[]) is
  'Adds chunks to the lexical index and the counters of their corpus; the caller holds the corpus '
  'lock. Raises RG413.';

create or replace function ragdb_internal.unindex_chunks(corpus_id integer, chunk_nos integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
  v_term_ids integer[];
  v_losses integer[];
begin
  with gone as materialized (
    delete from ragdb.chunk_lexemes x
    where x.corpus_id = unindex_chunks.corpus_id and x.chunk_no = any (unindex_chunks.chunk_nos)
    returning x.lexeme_count, x.lexemes
  ), lost as (
    select ragdb_internal.term_id(w.lexeme) as term_id, count(*)::integer as chunks
    from gone g cross join lateral unnest(g.lexemes) w
    group by 1
  ), counted as (
    update ragdb.corpora c
      set chunks = c.chunks - (select count(*) from gone),
        lexeme_count = c.lexeme_count - (select coalesce(sum(g.lexeme_count), 0) from gone g)
      where c.corpus_id = unindex_chunks.corpus_id
  )
  select array_agg(l.term_id), array_agg(l.chunks) into v_term_ids, v_losses from lost l;
  update ragdb.lexemes l set df = l.df - t.loss
    from unnest(v_term_ids, v_losses) t (term_id, loss)
    where l.corpus_id = unindex_chunks.corpus_id and l.term_id = t.term_id;
  perform ragdb_internal.uncount_part(unindex_chunks.corpus_id);
end $$;
comment on function ragdb_internal.unindex_chunks(integer, integer[]) is
  'Takes chunks out of the lexical index and the counters of their corpus; the caller holds the '
  'corpus lock.';
