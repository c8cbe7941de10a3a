-- Blocks: for each frequent lexeme the most that it scores in every group of four chunks.
--
-- A block is made once 4,096 chunk numbers have been given out that none covers (2,048 at first, as
-- what no block covers is most of a small corpus), by whoever gave out the last one, and by
-- ragdb.optimize_corpus before. It covers whole units of 256 numbers; what optimize_corpus finds
-- after the last whole unit is a block of its own, which the next one takes over. Searches look at
-- all chunks newer than that, and at those that have been indexed again since (stale ones). Blocks
-- that lie side by side become one, because a search reads a row for each term of each block.

-- Returns the largest chunk number that the blocks of a corpus cover; 0 where it has none.
create or replace function ragdb_internal.last_in_blocks(corpus_id integer) returns integer
language sql stable parallel safe
return coalesce((select s.last_chunk_no from ragdb.block_states s
  where s.corpus_id = last_in_blocks.corpus_id), 0);

-- Whether a lexeme weighs, by the ratio of its weights now and in a block, so much the same that
-- its scores there are taken as they are. The wider this is, the fewer rows optimizing a corpus
-- writes anew, and the more groups a search looks at: with a range of .93 to 1.08 a first load of
-- 200,000 chunks took 10 bytes a chunk more.
create or replace function ragdb_internal.is_near_one(ratio float8) returns boolean
language sql immutable parallel safe
return is_near_one.ratio between 0.91 and 1.1;

-- Returns up to which chunk blocks are to be made once some chunks are indexed (0: they are not),
-- and after which chunk these are all that there is; null where they are not. Numbers that follow
-- each other hold no chunk that was indexed before.
create or replace function ragdb_internal.blocks_due(
  last_in_blocks integer, chunk_nos integer[], out until integer, out after integer)
language sql immutable parallel safe
begin atomic
  select case when n.is_due then n.until else 0 end,
    case when n.is_due and n.lowest > blocks_due.last_in_blocks
        and n.highest - n.lowest + 1 = pg_catalog.cardinality(blocks_due.chunk_nos)
      then n.lowest - 1 end
  from (
    select w.*, w.until - blocks_due.last_in_blocks
        >= case when blocks_due.last_in_blocks < 8192 then 2048 else 4096 end as is_due
    from (
      select max(u) / ragdb_internal.unit_chunks() * ragdb_internal.unit_chunks() as until,
        min(u) as lowest, max(u) as highest
      from pg_catalog.unnest(blocks_due.chunk_nos) u) w) n;
end;

-- Chunks that have a term, and its impact in each.
create type ragdb_internal.posting_list as (
  term_id integer, chunk_nos integer[], impacts real[]);

-- The postings of all terms in blocks in the chunks after a number, which have just been indexed;
-- the numbers of the chunks are counted from there.
create type ragdb_internal.fresh_postings as (
  after integer, lists ragdb_internal.posting_list[]);

-- Returns the postings of the chunks between two numbers as the lexical index has them.
create or replace function ragdb_internal.indexed_postings(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer)
returns table (term_id integer, chunk_no integer, impact real)
language sql stable parallel safe
begin atomic
  select x.entries[i]::integer, x.chunk_no, x.entries[i + 1]::real
  from (select l.chunk_no, ragdb_internal.entries(l.impacts) as entries
      from ragdb.chunk_lexemes l
      where l.corpus_id = indexed_postings.corpus_id
        and l.chunk_no between indexed_postings.first_chunk_no and indexed_postings.last_chunk_no
      offset 0) x
    cross join pg_catalog.generate_series(1, pg_catalog.cardinality(x.entries), 2) i;
end;

-- Makes the rows of the block of the chunks between two numbers from the index and from what is
-- fresh. What has just been indexed is at hand: to read it back takes three times as long. What is
-- read back is kept as rows: lists of all terms went to disk. One term after the other, because to
-- group the postings of all terms at once takes 1.7 times as long.
create or replace function ragdb_internal.made_rows(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer,
  fresh ragdb_internal.fresh_postings)
returns setof ragdb.term_blocks
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = auto
set work_mem = '64MB'
as $$
declare
  v_first constant integer := (first_chunk_no - 1) / ragdb_internal.unit_chunks();
  v_units constant integer := (last_chunk_no - 1) / ragdb_internal.unit_chunks() + 1 - v_first;
  v_chunks constant integer := (select c.chunks from ragdb.corpora c
    where c.corpus_id = made_rows.corpus_id);
begin
  return query with indexed as materialized (
    select i.* from ragdb_internal.indexed_postings(
      made_rows.corpus_id, made_rows.first_chunk_no, least(last_chunk_no, fresh.after)) i
  ), weights as materialized (
    select p.term_id, w.weight
    from (
        select i.term_id from indexed i union select f.term_id from unnest(fresh.lists) f) p
      cross join lateral (
        select ragdb_internal.idf(v_chunks, l.df)::real as weight from ragdb.lexemes l
        where l.corpus_id = made_rows.corpus_id and l.term_id = p.term_id and l.in_blocks
        offset 0) w
  )
  select made_rows.corpus_id, r.term_id, v_first, r.weight, s.scores, s.dense_scores
  from (
    select w.*, i.chunk_nos, i.impacts, f.chunk_nos as fresh_nos, f.impacts as fresh_impacts
    from weights w
      left join (
        select p.term_id, array_agg(p.chunk_no) as chunk_nos, array_agg(p.impact) as impacts
        from indexed p join weights k on k.term_id = p.term_id group by 1) i
        on i.term_id = w.term_id
      left join unnest(fresh.lists) f on f.term_id = w.term_id offset 0) r
    cross join lateral (
      select ragdb_internal.sparse_block(
        string_agg(g.place || ':' || r.weight * g.impact, ','), v_units) as scores
      from (
        select max(u.impact) as impact,
          (u.chunk_no - 1) / 4 - ragdb_internal.unit_groups() * v_first + 1 as place
        from (select unnest(r.chunk_nos) as chunk_no, unnest(r.impacts) as impact
          union all select fresh.after + unnest(r.fresh_nos), unnest(r.fresh_impacts)) u
        where u.chunk_no between made_rows.first_chunk_no and made_rows.last_chunk_no
        group by 2) g
      having count(*) > 0) b
    cross join lateral ragdb_internal.stored(b.scores) s order by r.term_id;
end $$;

-- Makes the block of the chunks between two numbers, which does not exist, from the index and from
-- what is fresh, and merges it with those before it where it completes a block as wide as one may
-- be; the caller holds the corpus lock. Rows that complete a block as wide as one may be are merged
-- as they are made. Stored first, they left room behind for which nothing asked any more: 15 bytes
-- a chunk of 200,000.
create or replace function ragdb_internal.make_block(
  corpus_id integer, first_chunk_no integer, last_chunk_no integer,
  fresh ragdb_internal.fresh_postings)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first constant integer := (first_chunk_no - 1) / ragdb_internal.unit_chunks();
  v_next constant integer := last_chunk_no / ragdb_internal.unit_chunks();
  v_most constant integer := ragdb_internal.block_units();
  v_before integer[];
begin
  if fresh is not null and last_chunk_no % (v_most * ragdb_internal.unit_chunks()) = 0 then
    v_before := array(
      select n from ragdb.block_states s cross join unnest(s.block_nos) n
      where s.corpus_id = make_block.corpus_id and n >= v_next - v_most and n < v_first
      order by n);
  end if;
  if v_before <> '{}' then
    perform ragdb_internal.merge_blocks(make_block.corpus_id, v_before || v_first,
      v_next - v_before[1], array(select r::ragdb.term_blocks from ragdb_internal.made_rows(
        make_block.corpus_id, make_block.first_chunk_no, make_block.last_chunk_no, fresh) r));
    return;
  end if;
  insert into ragdb.term_blocks select r.* from ragdb_internal.made_rows(
    make_block.corpus_id, make_block.first_chunk_no, make_block.last_chunk_no, fresh) r;
  update ragdb.block_states s set block_nos = array(
      select n from unnest(s.block_nos || v_first) n order by n)
    where s.corpus_id = make_block.corpus_id;
end $$;

-- Makes the blocks anew that hold the chunks after the end of a unit, up to a number, from the
-- index and from what is fresh; the caller holds the corpus lock. So many chunks at once that
-- memory holds their postings, in blocks that may be merged. Numbers that no chunk has cost
-- nothing, so a block of chunks of which most are gone is as wide as it may.
create or replace function ragdb_internal.renew_blocks(
  corpus_id integer, after_chunk_no integer, last_chunk_no integer,
  fresh ragdb_internal.fresh_postings default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_unit constant integer := ragdb_internal.unit_chunks();
  v_widest constant bigint := ragdb_internal.block_units() * v_unit;
  v_next integer;
  v_far integer;
  v_until integer := after_chunk_no;
begin
  -- chunks that went have left terms behind that no list of the block's chunks has
  if after_chunk_no < ragdb_internal.last_in_blocks(renew_blocks.corpus_id) then
    delete from ragdb.term_blocks b
      where b.corpus_id = renew_blocks.corpus_id
        and b.block_no between after_chunk_no / v_unit and (last_chunk_no - 1) / v_unit;
    update ragdb.block_states s set block_nos = array(select n from unnest(s.block_nos) n
        where n not between after_chunk_no / v_unit and (renew_blocks.last_chunk_no - 1) / v_unit)
      where s.corpus_id = renew_blocks.corpus_id;
  end if;
  loop
    select min(n.chunk_no), max(n.chunk_no) into v_next, v_far from (
      select x.chunk_no from ragdb.chunk_lexemes x
      where x.corpus_id = renew_blocks.corpus_id and x.chunk_no > v_until
        and x.chunk_no <= renew_blocks.last_chunk_no
      order by x.chunk_no limit case when fresh is null then 8192 else 1 end) n;
    exit when v_next is null;
    v_until := least(
      case when fresh is null then ((v_far - 1) / v_unit + 1::bigint) * v_unit end,
      ((v_next - 1) / v_widest + 1) * v_widest, last_chunk_no);
    if v_until > v_next and (v_until - 1) / v_unit > (v_next - 1) / v_unit then
      v_until := v_until / v_unit * v_unit;
    end if;
    perform ragdb_internal.make_block(renew_blocks.corpus_id, v_next, v_until, fresh);
  end loop;
end $$;

-- Makes blocks up to a chunk number, past those that there are; the caller holds the corpus lock.
create or replace function ragdb_internal.cover_chunks(
  corpus_id integer, last_chunk_no integer, fresh ragdb_internal.fresh_postings default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known constant integer := ragdb_internal.last_in_blocks(cover_chunks.corpus_id);
  v_whole constant integer := v_known / ragdb_internal.unit_chunks() * ragdb_internal.unit_chunks();
begin
  insert into ragdb.block_states as s (corpus_id, last_chunk_no)
    values (cover_chunks.corpus_id, cover_chunks.last_chunk_no)
    on conflict on constraint block_states_corpus_is_unique do nothing;
  perform ragdb_internal.renew_statistics('{ragdb.lexemes}'),
    ragdb_internal.renew_blocks(
      cover_chunks.corpus_id, v_whole, cover_chunks.last_chunk_no, fresh);
  update ragdb.block_states s
    set last_chunk_no = cover_chunks.last_chunk_no, stale_chunks = array(
      select n from unnest(s.stale_chunks) n where n <= v_whole)
    where s.corpus_id = cover_chunks.corpus_id;
end $$;
