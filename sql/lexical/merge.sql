-- Merges blocks that lie side by side: one row of 15,360 groups is read faster than 15 of 1,024.
--
-- One term after the other, because the sum of a term is 61 kB wide. To gather all of them at once
-- took 570 GB of temporary files at a million chunks. Most terms have a few groups in each block:
-- these are written anew entry by entry, because such a sum costs as much for a few as for all.
--
-- A term that became frequent has no row in the blocks of before, and the dictionary lists its
-- chunks there.

-- Returns the lexemes of a corpus that blocks have, and what each weighs now.
create or replace function ragdb_internal.weighed_lexemes(corpus_id integer)
returns table (lexeme ragdb.lexemes, weight real)
language sql stable parallel safe
begin atomic
  select l, ragdb_internal.idf(c.chunks, l.df)::real
  from ragdb.corpora c join ragdb.lexemes l on l.corpus_id = c.corpus_id and l.in_blocks
  where c.corpus_id = weighed_lexemes.corpus_id;
end;

-- Returns the row that a lexeme has, by the chunks that the dictionary lists for it, in a block of
-- so many units; null where none of them is there.
create or replace function ragdb_internal.listed_row(
  lexeme ragdb.lexemes, weight real, block_no integer, units integer)
returns ragdb.term_blocks
language sql stable parallel safe
return (
  select row((listed_row.lexeme).corpus_id, (listed_row.lexeme).term_id, listed_row.block_no,
    listed_row.weight, ragdb_internal.sparse_block(pg_catalog.string_agg(
      g.place || ':' || listed_row.weight * g.impact, ','), listed_row.units),
    null)::ragdb.term_blocks
  from (
    select (n.chunk_no - 1) / 4 - ragdb_internal.unit_groups() * listed_row.block_no + 1 as place,
      max(x.impact) as impact
    from (select ragdb_internal.sparse((listed_row.lexeme).term_id || ':1') as term offset 0) t
      cross join pg_catalog.unnest(
        ragdb_internal.listed_numbers((listed_row.lexeme).chunk_nos)) n (chunk_no)
      cross join lateral (
        select ragdb_internal.inner_product(c.impacts, t.term) as impact
        from ragdb.chunk_lexemes c
        where c.corpus_id = (listed_row.lexeme).corpus_id and c.chunk_no = n.chunk_no offset 0) x
    where (n.chunk_no - 1) / ragdb_internal.unit_chunks() - listed_row.block_no
      between 0 and listed_row.units - 1
    group by 1) g
  having count(*) > 0);

-- Returns the rows of a term in the blocks between two, and others that are not stored; nulls among
-- these are left out.
create or replace function ragdb_internal.rows_to_merge(
  corpus_id integer, term_id integer, first_no integer, last_no integer,
  others ragdb.term_blocks[])
returns setof ragdb.term_blocks
language sql stable parallel safe
begin atomic
  select b.* from ragdb.term_blocks b
  where b.corpus_id = rows_to_merge.corpus_id and b.term_id = rows_to_merge.term_id
    and b.block_no between rows_to_merge.first_no and rows_to_merge.last_no
  union all
  select o.* from pg_catalog.unnest(rows_to_merge.others) o where o.term_id is not null;
end;

-- Returns the terms that blocks have, what each weighs now, and which rows it has of a block that
-- is not stored: one that is made, and what the dictionary lists.
create or replace function ragdb_internal.terms_to_merge(
  corpus_id integer, first_no integer, units integer, made ragdb.term_blocks[])
returns table (term_id integer, weight real, others ragdb.term_blocks[])
language sql stable parallel safe
begin atomic
  select (t.lexeme).term_id, t.weight, array[t.made, case when (t.lexeme).chunk_nos <> '' then
    ragdb_internal.listed_row(
      t.lexeme, t.weight, terms_to_merge.first_no, terms_to_merge.units) end]
  from (
    select w.lexeme, w.weight, m as made
    from ragdb_internal.weighed_lexemes(terms_to_merge.corpus_id) w
      left join pg_catalog.unnest(terms_to_merge.made) m on m.term_id = (w.lexeme).term_id
    offset 0) t
  offset 0;
end;

-- Returns the rows of the block of so many units that some blocks become, of whose last one the
-- rows may be made but not stored.
create or replace function ragdb_internal.merged_terms(
  corpus_id integer, block_nos integer[], units integer, made ragdb.term_blocks[])
returns table (term_id integer, weight real, scores sparsevec)
language sql stable parallel safe
begin atomic
  select t.term_id, t.weight, m.scores
  from (
      select min(m) as first_no, max(m) as last_no,
        ragdb_internal.even(0, ragdb_internal.unit_groups() * merged_terms.units) as zeros
      from pg_catalog.unnest(merged_terms.block_nos) m
      offset 0) s
    cross join lateral ragdb_internal.terms_to_merge(
      merged_terms.corpus_id, s.first_no, merged_terms.units, merged_terms.made) t
    cross join lateral (
      select avg(coalesce(pg_catalog.pg_column_size(b.scores), 1e9)) <= 400 as are_short
      from ragdb_internal.rows_to_merge(
        merged_terms.corpus_id, t.term_id, s.first_no, s.last_no, t.others) b
      offset 0) r
    cross join lateral (
      select ragdb_internal.sparse_block(
          pg_catalog.string_agg(g.place || ':' || g.score, ','), merged_terms.units) as scores
      from (
        select e.entries[i] + ragdb_internal.unit_groups() * (e.block_no - s.first_no) as place,
          max(e.entries[i + 1] * e.factor) as score
        from (
            select b.block_no, t.weight / b.weight::float8 as factor,
              ragdb_internal.entries(b.scores) as entries
            from ragdb_internal.rows_to_merge(
              merged_terms.corpus_id, t.term_id, s.first_no, s.last_no, t.others) b
            offset 0) e
          cross join pg_catalog.generate_series(1, pg_catalog.cardinality(e.entries), 2) i
        group by 1) g
      where r.are_short
      union all
      select ragdb_internal.sparsely(sum(ragdb_internal.placed(b.scores, b.dense_scores,
        t.weight / b.weight, b.block_no - s.first_no, merged_terms.units, s.zeros)))
      from ragdb_internal.rows_to_merge(
        merged_terms.corpus_id, t.term_id, s.first_no, s.last_no, t.others) b
      where not r.are_short) m
  where m.scores is not null;
end;

-- Returns the blocks of a corpus before one, and how many units each has. How wide a block is its
-- rows tell; one without rows may be as wide as there is room.
create or replace function ragdb_internal.blocks_before(corpus_id integer, before_no integer)
returns table (block_no integer, units integer)
language sql stable parallel safe
begin atomic
  select n.block_no, coalesce((
      select vector_dims(ragdb_internal.densely(t.scores, t.dense_scores))
        / ragdb_internal.unit_groups()
      from ragdb.term_blocks t
      where t.corpus_id = blocks_before.corpus_id and t.block_no = n.block_no limit 1),
    n.next_no - n.block_no)
  from (
    select b.block_no,
      pg_catalog.lead(b.block_no, 1, blocks_before.before_no) over (order by b.block_no) as next_no
    from ragdb.block_states s cross join pg_catalog.unnest(s.block_nos) b (block_no)
    where s.corpus_id = blocks_before.corpus_id
      and b.block_no < blocks_before.before_no) n;
end;

-- Has the blocks before one know the chunks that the dictionary lists for terms that became
-- frequent, and takes those of units before another out of the lists; the caller holds the corpus
-- lock. A row that is there already was made when the term was frequent: it has all of its chunks.
create or replace function ragdb_internal.place_listed(
  corpus_id integer, before_no integer, until_no integer default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  insert into ragdb.term_blocks
    select (r.made).*
    from ragdb_internal.blocks_before(place_listed.corpus_id, place_listed.before_no) b
      cross join ragdb_internal.weighed_lexemes(place_listed.corpus_id) t
      cross join lateral (
        select ragdb_internal.listed_row(t.lexeme, t.weight, b.block_no, b.units) as made
        offset 0) r
    where (t.lexeme).chunk_nos <> '' and (r.made).term_id is not null
    on conflict on constraint term_blocks_are_unique do nothing;
  update ragdb.lexemes l set chunk_nos = (
      select coalesce(string_agg(int4send(n), ''), '')
      from unnest(ragdb_internal.listed_numbers(l.chunk_nos)) n
      where (n - 1) / ragdb_internal.unit_chunks() >= coalesce(until_no, before_no))
    where l.corpus_id = place_listed.corpus_id and l.in_blocks and l.chunk_nos <> '';
end $$;

-- Makes one block of so many units of some that lie side by side, in order, of whose last one the
-- rows may be made but not stored; the caller holds the corpus lock.
create or replace function ragdb_internal.merge_blocks(
  corpus_id integer, block_nos integer[], units integer, made ragdb.term_blocks[] default '{}')
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set plan_cache_mode = auto
set work_mem = '64MB'
as $$
declare
  v_first constant integer := block_nos[1];
begin
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, weight, scores, dense_scores)
    select merge_blocks.corpus_id, t.term_id, v_first, t.weight, s.scores, s.dense_scores
    from ragdb_internal.merged_terms(
        merge_blocks.corpus_id, merge_blocks.block_nos, merge_blocks.units, merge_blocks.made) t
      cross join lateral ragdb_internal.stored(t.scores) s
    order by t.term_id
    on conflict on constraint term_blocks_are_unique do update
      set weight = excluded.weight, scores = excluded.scores,
        dense_scores = excluded.dense_scores;
  delete from ragdb.term_blocks b
    where b.corpus_id = merge_blocks.corpus_id and b.block_no = any (merge_blocks.block_nos)
      and b.block_no <> v_first;
  update ragdb.block_states s set block_nos = array(select n from unnest(s.block_nos) n
      where n <= v_first or n <> all (merge_blocks.block_nos))
    where s.corpus_id = merge_blocks.corpus_id;
  perform ragdb_internal.place_listed(
    merge_blocks.corpus_id, v_first, v_first + merge_blocks.units);
end $$;
