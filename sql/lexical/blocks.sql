-- Blocks: for each frequent lexeme the most that it scores in every group of four chunks.
--
-- A block of 4,096 chunk numbers is made once they have all been given out, by whoever gave out the
-- last one, and by ragdb.optimize_corpus before. Searches look at all chunks newer than that, and
-- at those that have been indexed again since (stale ones). Fifteen blocks that lie side by side
-- become one, because a search reads a row for each term of each block.
create or replace function ragdb_internal.last_in_blocks(corpus_id integer) returns integer
language sql stable parallel safe
return coalesce((select s.last_chunk_no from ragdb.block_states s
  where s.corpus_id = last_in_blocks.corpus_id), 0);
comment on function ragdb_internal.last_in_blocks(integer) is
  'Returns the largest chunk number that the blocks of a corpus cover; 0 where it has none.';

-- A lexeme may weigh a little more than now, and up to a twentieth less, before its scores have to
-- be multiplied when they are read (block_sums.sql).
create or replace function ragdb_internal.block_weight(chunks integer, df integer) returns real
language sql immutable parallel safe
return (1.005 * ragdb_internal.idf(block_weight.chunks, block_weight.df))::real;
comment on function ragdb_internal.block_weight(integer, integer) is
  'Returns what the impacts of a term that df of some chunks have are multiplied by in blocks.';

create or replace function ragdb_internal.make_blocks(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
begin
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, weight, scores)
  select make_blocks.corpus_id, g.term_id, g.block_no, l.weight, ragdb_internal.sparse_block((
      select string_agg(u.place || ':' || l.weight * u.impact, ',')
      from unnest(g.places, g.impacts) u (place, impact)), 1)
  from (
      select m.term_id, m.group_no / 1024 as block_no,
        array_agg(m.group_no % 1024 + 1) as places, array_agg(m.impact) as impacts
      from (
        select e.term_id, e.group_no, max(e.impact)::real as impact
        from (
          select x.group_no, x.entries[x.i]::integer as term_id, x.entries[x.i + 1] as impact
          from (select o.*, generate_series(1, cardinality(o.entries), 2) as i
            from (select (o.chunk_no - 1) / 4 as group_no,
                ragdb_internal.entries(o.impacts) as entries
              from ragdb.chunk_lexemes o
              where o.corpus_id = make_blocks.corpus_id
                and o.chunk_no between make_blocks.first_chunk_no and make_blocks.last_chunk_no
              offset 0) o
            offset 0) x) e
        group by e.term_id, e.group_no) m
      group by m.term_id, m.group_no / 1024
      offset 0) g
    cross join lateral (
      select ragdb_internal.block_weight(c.chunks, k.df) as weight
      from ragdb.lexemes k cross join ragdb.corpora c
      where k.corpus_id = make_blocks.corpus_id and k.term_id = g.term_id and k.in_blocks
        and c.corpus_id = make_blocks.corpus_id
      offset 0) l
  order by g.term_id, g.block_no;
  update ragdb.block_states s
    set block_nos = array(
      select unnest(s.block_nos)
      union
      select (x.chunk_no - 1) / 4096 from ragdb.chunk_lexemes x
        where x.corpus_id = make_blocks.corpus_id
          and x.chunk_no between make_blocks.first_chunk_no and make_blocks.last_chunk_no
      order by 1)
    where s.corpus_id = make_blocks.corpus_id;
end $$;
comment on function ragdb_internal.make_blocks(integer, integer, integer) is
  'Makes the blocks that hold chunks between two numbers, which do not exist; the caller holds the '
  'corpus lock.';

-- So many blocks at once that memory holds their postings. Numbers that no chunk has cost nothing.
create or replace function ragdb_internal.renew_blocks(
  corpus_id integer, after_chunk_no integer, last_chunk_no integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_next integer;
  v_until integer := after_chunk_no;
begin
  -- chunks that went have left terms behind that no list of the block's chunks has
  if after_chunk_no < ragdb_internal.last_in_blocks(renew_blocks.corpus_id) then
    delete from ragdb.term_blocks b
      where b.corpus_id = renew_blocks.corpus_id
        and b.block_no between after_chunk_no / 4096 and (last_chunk_no - 1) / 4096;
    update ragdb.block_states s set block_nos = array(select n from unnest(s.block_nos) n
        where n not between after_chunk_no / 4096 and (renew_blocks.last_chunk_no - 1) / 4096)
      where s.corpus_id = renew_blocks.corpus_id;
  end if;
  loop
    select min(x.chunk_no) into v_next from ragdb.chunk_lexemes x
      where x.corpus_id = renew_blocks.corpus_id and x.chunk_no > v_until
        and x.chunk_no <= renew_blocks.last_chunk_no;
    exit when v_next is null;
    v_until := least(((v_next - 1) / 4096 + 2)::bigint * 4096, renew_blocks.last_chunk_no);
    perform ragdb_internal.make_blocks(renew_blocks.corpus_id, v_next, v_until);
  end loop;
end $$;
comment on function ragdb_internal.renew_blocks(integer, integer, integer) is
  'Makes the blocks anew that hold the chunks after a number, a multiple of 4,096, up to another; '
  'the caller holds the corpus lock.';

create or replace function ragdb_internal.cover_chunks(corpus_id integer, last_chunk_no integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known constant integer := ragdb_internal.last_in_blocks(cover_chunks.corpus_id);
begin
  insert into ragdb.block_states as s (corpus_id, last_chunk_no)
    values (cover_chunks.corpus_id, cover_chunks.last_chunk_no)
    on conflict on constraint block_states_corpus_is_unique do nothing;
  perform ragdb_internal.renew_blocks(
    cover_chunks.corpus_id, v_known / 4096 * 4096, cover_chunks.last_chunk_no);
  update ragdb.block_states s
    set last_chunk_no = cover_chunks.last_chunk_no, stale_chunks = array(
      select n from unnest(s.stale_chunks) n where n <= v_known / 4096 * 4096)
    where s.corpus_id = cover_chunks.corpus_id;
end $$;
comment on function ragdb_internal.cover_chunks(integer, integer) is
  'Makes blocks up to a chunk number, past those that there are; the caller holds the corpus lock.';

create or replace function ragdb_internal.refresh_stale(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant integer := ragdb_internal.last_in_blocks(refresh_stale.corpus_id);
  v_block record;
begin
  for v_block in
    select b.block_no, least(b.block_no / 15 * 15 + 15, b.next_no)::bigint as next_no
    from (
      select n as block_no, lead(n) over (order by n) as next_no, s.stale_chunks
      from ragdb.block_states s cross join unnest(s.block_nos) n
      where s.corpus_id = refresh_stale.corpus_id) b
    where exists (select from unnest(b.stale_chunks) c
      where (c - 1) / 4096 >= b.block_no and ((c - 1) / 4096 < b.next_no) is not false)
  loop
    perform ragdb_internal.renew_blocks(refresh_stale.corpus_id, v_block.block_no * 4096,
      least(v_block.next_no * 4096, v_last)::integer);
  end loop;
  update ragdb.block_states s set stale_chunks = '{}'
    where s.corpus_id = refresh_stale.corpus_id and s.stale_chunks <> '{}';
end $$;
comment on function ragdb_internal.refresh_stale(integer) is
  'Makes the blocks anew that have stale chunks; the caller holds the corpus lock.';
