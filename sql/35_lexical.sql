-- The lexical index: what a chunk's words weigh, and which chunks hold them.
--
-- One row a chunk: `impacts` maps term id to tf·(k1 + 1) / (tf + k1·(1 − b + b·length / pivot)), so
-- that BM25 is its inner product with the query's idf; `lexemes` carries the GIN index that finds
-- the candidates. A lexeme there is written hex(corpus id).hex(term id): the posting lists of a
-- corpus are its own, whatever lies beside it.

-- pgvector's type and operator are named here and nowhere else: its schema differs by host, and
-- these bodies are bound when they are created. Both disappear into the statements that call them.
create or replace function ragdb._sparse(entries text) returns sparsevec
language sql immutable parallel safe
return ('{' || coalesce(_sparse.entries, '') || '}/1000000000')::sparsevec;
comment on function ragdb._sparse(text) is
  'Makes a sparse vector of the entries "index:value,…", in any order.';

create or replace function ragdb._inner_product(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return -(_inner_product.a <#> _inner_product.b);
comment on function ragdb._inner_product(sparsevec, sparsevec) is
  'Returns the inner product of two sparse vectors, computed in float4.';

-- A group is four chunks that lie side by side. Groups are dealt out to as few blocks as can be, of
-- 16,000 at most (pgvector has no wider vectors), so that any block is a fair sample and none is
-- wider than it needs.
create or replace function ragdb._blocks(last_chunk_no integer) returns integer
language sql immutable parallel safe
return (_blocks.last_chunk_no + 63999) / 64000;
comment on function ragdb._blocks(integer) is
  'Returns the number of blocks for the chunks up to a number.';

create or replace function ragdb._block_size(last_chunk_no integer) returns integer
language sql immutable parallel safe
return ((_block_size.last_chunk_no + 3) / 4 - 1) / ragdb._blocks(_block_size.last_chunk_no) + 1;
comment on function ragdb._block_size(integer) is
  'Returns the number of groups that a block has for the chunks up to a number.';

create or replace function ragdb._sparse_block(entries text, size integer) returns sparsevec
language sql immutable parallel safe
return ('{' || _sparse_block.entries || '}/' || _sparse_block.size)::sparsevec;
comment on function ragdb._sparse_block(text, integer) is
  'Makes the sparse vector of a block of so many groups of the entries "place:value,…", in any '
  'order.';

create or replace function ragdb._one_value(value float8, times integer) returns vector
language sql immutable parallel safe
return pg_catalog.array_fill(_one_value.value::real, array[_one_value.times])::vector;
comment on function ragdb._one_value(float8, integer) is
  'Returns a vector of one value so many times.';

create or replace function ragdb._joined(a vector, b vector) returns vector
language sql immutable parallel safe
return _joined.a || _joined.b;
comment on function ragdb._joined(vector, vector) is 'Returns one vector behind another.';

create or replace function ragdb._first(a vector, size integer) returns vector
language sql immutable parallel safe
return subvector(_first.a, 1, _first.size);
comment on function ragdb._first(vector, integer) is 'Returns the first places of a vector.';

-- doubled: a long array takes ten times as long to become a vector
create or replace function ragdb._even(value float8, size integer, out even vector)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  even := ragdb._one_value(value, (size + 255) / 256);
  for v_i in 1..6 loop
    even := ragdb._joined(even, even);
  end loop;
  even := ragdb._first(ragdb._joined(ragdb._joined(even, even), ragdb._joined(even, even)), size);
end $$;
comment on function ragdb._even(float8, integer) is
  'Returns a vector of a size with one value throughout.';

-- What a query scores at most in every group of chunks is a sum of vectors, which pgvector adds
-- several numbers an instruction: a few groups remain whose chunks have to be looked at (block-max
-- pruning: Mallia, Suel and Tonellotto, "Faster Learned Sparse Retrieval with Block-Max Pruning",
-- SIGIR 2024). Vectors are no longer weighed here: a level holds the terms that count once more, as
-- the text of an array. Sums are kept while a search looks for the need that leaves the right
-- number of groups.
create or replace function ragdb._levels(term_ids integer[], times integer[]) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if 2 > all (times) then
    return array[term_ids::text];
  end if;
  return array(
    select array_agg(t.term_id)::text
    from unnest(_levels.term_ids, _levels.times) t (term_id, times)
      cross join lateral generate_series(1, t.times) l (level)
    group by l.level);
end $$;
comment on function ragdb._levels(integer[], integer[]) is
  'Returns the terms that count at least once, twice and so on, each the text of an array.';

-- The scores of all terms are read in one scan and added up in the order of the blocks, so that the
-- sums of all use the same memory in turn; added up side by side they would touch new memory each.
-- A block without any of the terms has no row of theirs.
create or replace function ragdb._block_sums(corpus_id integer, last_chunk_no integer,
  levels text[]) returns vector[]
language sql stable parallel safe
return array(
  select coalesce(sum(o.scores::vector),
    ragdb._sparse_block('', ragdb._block_size(_block_sums.last_chunk_no))::vector)
  from (
    select n.block_no, b.scores
    from pg_catalog.generate_series(0, ragdb._blocks(_block_sums.last_chunk_no) - 1) n (block_no)
      left join (
        select k.block_no, k.scores
        from pg_catalog.unnest(_block_sums.levels) l (term_ids)
          cross join lateral (select t.block_no, t.scores from ragdb.term_blocks t
            where t.corpus_id = _block_sums.corpus_id and t.term_id = any (l.term_ids::integer[])
            offset 0) k
        offset 0) b on b.block_no = n.block_no
    order by n.block_no
    offset 0) o
  group by o.block_no
  order by o.block_no);
comment on function ragdb._block_sums(integer, integer, text[]) is
  'Returns the sums, in float4, of the scores of every group in some terms, a vector for each '
  'block; the blocks were made for the chunks up to a number.';

create or replace function ragdb._spread(sums vector) returns float8
language sql immutable parallel safe
return sqrt(greatest(1e-12::float8, (vector_norm(_spread.sums) ^ 2
  - l1_distance(_spread.sums, ragdb._sparse_block('', vector_dims(_spread.sums))::vector) ^ 2
    / vector_dims(_spread.sums))
  / vector_dims(_spread.sums)));
comment on function ragdb._spread(vector) is
  'Returns the standard deviation of the values of a vector, none of them under 0.';

create or replace function ragdb._groups_above(sums vector[], need float8)
returns table (groups bigint, bits bit varying[])
language sql immutable parallel safe rows 1
begin atomic
  select sum(pg_catalog.bit_count(b.bits))::bigint, pg_catalog.array_agg(b.bits order by b.n)
  from (
    select n.n, binary_quantize(_groups_above.sums[n.n] - e.need)::bit varying as bits
    from (select ragdb._even(_groups_above.need, vector_dims(_groups_above.sums[1])) as need
      offset 0) e
      cross join pg_catalog.generate_series(1, pg_catalog.cardinality(_groups_above.sums)) n (n)
    offset 0) b;
end;
comment on function ragdb._groups_above(vector[], float8) is
  'Counts the groups whose sum is over need, and returns a bit for each, block by block.';

-- position() looks at every bit; most pieces have none that is set
create or replace function ragdb._set_bits(bits bit varying) returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found integer[] := '{}';
  v_piece bit varying;
  v_place integer;
begin
  for v_start in 0 .. length(bits) - 1 by 500 loop
    v_piece := substring(bits from v_start + 1 for 500);
    for v_i in 1 .. bit_count(v_piece) loop
      v_place := position(B'1' in v_piece);
      v_found := v_found || v_start + v_place;
      v_piece := set_bit(v_piece, v_place - 1, 0);
    end loop;
  end loop;
  return v_found;
end $$;
comment on function ragdb._set_bits(bit varying) is
  'Returns the places of the ones among some bits, from 1.';

create or replace function ragdb._best_groups(sums vector[], bits bit varying[])
returns table (group_nos integer[], bounds float8[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(g.group_no order by g.bound desc, g.group_no),
    pg_catalog.array_agg(g.bound order by g.bound desc, g.group_no)
  from (
    select (p.place - 1) * pg_catalog.cardinality(_best_groups.sums) + b.n - 1 as group_no,
      vector_norm(subvector(_best_groups.sums[b.n], p.place, 1)) as bound
    from pg_catalog.unnest(_best_groups.bits) with ordinality b (bits, n)
      cross join lateral pg_catalog.unnest(ragdb._set_bits(b.bits)) p (place)
    where pg_catalog.bit_count(b.bits) > 0) g;
end;
comment on function ragdb._best_groups(vector[], bit varying[]) is
  'Returns the groups that have a bit, and their sums, best first.';

create or replace function ragdb._token(corpus_id integer, term_id integer) returns text
language sql immutable parallel safe
return pg_catalog.to_hex(_token.corpus_id) || '.' || pg_catalog.to_hex(_token.term_id);
comment on function ragdb._token(integer, integer) is
  'Returns the word that stands for a term of a corpus in ragdb.chunk_lexemes.lexemes.';

create or replace function ragdb._term_id(token text) returns integer
language sql immutable parallel safe
return ('x' || pg_catalog.lpad(pg_catalog.split_part(_term_id.token, '.', 2), 8,
  '0'))::bit(32)::integer;
comment on function ragdb._term_id(text) is 'Returns the term id in a word made by ragdb._token.';

create or replace function ragdb._searched_text(title text, heading text[], text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(E'\n', nullif(title, ''), nullif(array_to_string(heading, E'\n'), ''), text);
end $$;
comment on function ragdb._searched_text(text, text[], text) is
  'Returns what a chunk is searched by: its document''s title, its heading path and its text, '
  'joined by newlines.';

create or replace function ragdb._title(corpus_id integer, doc_no integer) returns text
language sql stable parallel safe
return (select d.title from ragdb.documents d where d.corpus_id = _title.corpus_id
  and d.doc_no = _title.doc_no);
comment on function ragdb._title(integer, integer) is 'Returns the title of a document.';

-- Analysis is most of the work, and looks at nothing but its chunk: where there is enough of it,
-- and the server lets them, other processes help. They can do so with a range of rows, not with a
-- list, and in no statement that writes. The planner takes a range that is newer than its
-- statistics for one row: that row shall be worth sharing, and joined to none, for the rest of the
-- work would stay behind. ts_rank() of two words that no chunk has is a constant, divided by the
-- length if so wished: it counts a chunk's positions and unfolds none.
create or replace function ragdb._analysed(corpus ragdb.corpora, chunk_nos integer[])
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
    ' from (select c.chunk_no, ragdb._lexemes(ragdb._searched_text(ragdb._title(c.corpus_id, '
    'c.doc_no), c.heading, c.text), $2)'
    '     as words'
    '   from '
    || case when v_last - v_first >= 500 and v_last - v_first + 1 = cardinality(chunk_nos)
      then 'ragdb.chunks c'
      else '(select h.* from unnest($5) n (chunk_no) cross join lateral (select k.* from '
           'ragdb.chunks k'
        ' where k.corpus_id = $1 and k.chunk_no = n.chunk_no offset 0) h) c' end
    || ' where c.corpus_id = $1 and c.chunk_no between $3 and $4 offset 0) a'
    using corpus.corpus_id, corpus.text_config, v_first, v_last, chunk_nos;
end $$;
comment on function ragdb._analysed(ragdb.corpora, integer[]) is
  'Returns the lexemes of chunks and their lengths, each occurrence counted, in no order.';

-- One statement, so that a text is analysed once and nothing is kept in between. What the planner
-- believes of tables that grow within a transaction is worthless, so it has no choice: lookups go
-- by key (lateral, offset 0), and what is joined in memory is hashed.
create or replace function ragdb._index_chunks(corpus_id integer, chunk_nos integer[]) returns void
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
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = _index_chunks.corpus_id;
  with postings as materialized (
    select m.chunk_no, m.length, w.lexeme collate "C" as lexeme,
      case cardinality(w.positions) when 1 then w.positions[1]::text
        else array_to_string(w.positions, ',') end as positions,
      ((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
        + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * m.length / v_corpus.pivot)))::real as impact
    from ragdb._analysed(v_corpus, _index_chunks.chunk_nos) m
      left join lateral unnest(m.words) w on true
  ), terms as materialized (
    select t.lexeme, t.df, t.max_impact, l.term_id,
      row_number() over (partition by l.term_id is null order by t.lexeme)::integer as ordinal
    from (select p.lexeme, count(*)::integer as df, max(p.impact) as max_impact from postings p
        where p.lexeme is not null group by p.lexeme) t
      left join lateral (select k.term_id from ragdb.lexemes k
        where k.corpus_id = v_corpus.corpus_id and k.lexeme = t.lexeme offset 0) l on true
  ), numbered as materialized (
    select t.lexeme, t.df, t.max_impact, t.term_id is null as is_new,
      coalesce(t.term_id, v_corpus.next_term_id + t.ordinal - 1) as term_id
    from terms t
  ), counted as (
    insert into ragdb.lexemes as l (corpus_id, lexeme, term_id, df, max_impact)
    select v_corpus.corpus_id, n.lexeme, n.term_id, n.df, n.max_impact from numbered n
      order by n.lexeme
    on conflict on constraint lexemes_are_unique_per_corpus do update
      set df = l.df + excluded.df, max_impact = greatest(l.max_impact, excluded.max_impact)
  ), indexed as (
    insert into ragdb.chunk_lexemes (corpus_id, chunk_no, lexeme_count, impacts, lexemes)
    select v_corpus.corpus_id, g.chunk_no, g.length, ragdb._sparse(g.impacts),
      coalesce(g.lexemes, '')::tsvector
    from (
      select p.chunk_no, max(p.length) as length,
        string_agg(n.term_id || ':' || p.impact, ',') as impacts,
        string_agg(ragdb._token(v_corpus.corpus_id, n.term_id) || ':' || p.positions, ' ')
          as lexemes
      from postings p left join numbered n on n.lexeme = p.lexeme
      group by p.chunk_no
    ) g
    order by g.chunk_no
    returning lexeme_count
  )
  update ragdb.corpora c
    set chunks = c.chunks + (select count(*) from indexed),
      lexeme_count = c.lexeme_count + (select coalesce(sum(i.lexeme_count), 0) from indexed i),
      next_term_id = c.next_term_id + (select count(*) from numbered n where n.is_new)
    where c.corpus_id = v_corpus.corpus_id;
  -- many entries at once cost a fifth of one by one; the list is empty again before anybody
  -- searches
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  -- what was indexed anew, the blocks know wrongly; where term ids begin anew, they know nothing
  update ragdb.block_states t
    set stale_chunks = t.stale_chunks || array(
      select n.chunk_no from unnest(_index_chunks.chunk_nos) n (chunk_no)
      where n.chunk_no <= t.last_chunk_no and n.chunk_no <> all (t.stale_chunks))
    where t.corpus_id = v_corpus.corpus_id;
  delete from ragdb.block_states t
    where t.corpus_id = v_corpus.corpus_id
      and (v_corpus.next_term_id = 1 or cardinality(t.stale_chunks) > 1000);
end $$;
comment on function ragdb._index_chunks(integer, integer[]) is
  'Adds chunks to the lexical index and the counters of their corpus; the caller holds the corpus '
  'lock.';

create or replace function ragdb._unindex_chunks(corpus_id integer, chunk_nos integer[])
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
  v_terms integer[];
  v_dfs integer[];
begin
  with gone as materialized (
    delete from ragdb.chunk_lexemes x
    where x.corpus_id = _unindex_chunks.corpus_id and x.chunk_no = any (_unindex_chunks.chunk_nos)
    returning x.lexeme_count, x.lexemes
  ), lost as (
    select ragdb._term_id(w.lexeme) as term_id, count(*)::integer as df
    from gone g cross join lateral unnest(g.lexemes) w
    group by 1
  ), counted as (
    update ragdb.corpora c
      set chunks = c.chunks - (select count(*) from gone),
        lexeme_count = c.lexeme_count - (select coalesce(sum(g.lexeme_count), 0) from gone g)
      where c.corpus_id = _unindex_chunks.corpus_id
  )
  select array_agg(l.term_id), array_agg(l.df) into v_terms, v_dfs from lost l;
  update ragdb.lexemes l set df = l.df - t.df
    from unnest(v_terms, v_dfs) t (term_id, df)
    where l.corpus_id = _unindex_chunks.corpus_id and l.term_id = t.term_id;
end $$;
comment on function ragdb._unindex_chunks(integer, integer[]) is
  'Takes chunks out of the lexical index and the counters of their corpus; the caller holds the '
  'corpus lock.';

-- A lexeme of 64 chunks is worth a block; of fewer chunks than these 2,000 in all, no lexeme is.
-- Group by group, so that what is kept in memory is the largest impacts alone.
create or replace function ragdb._build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_mergejoin = off
set enable_seqscan = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_blocks constant integer := ragdb._blocks(corpus.next_chunk_no - 1);
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 then
    return;
  end if;
  insert into ragdb.block_states (corpus_id, last_chunk_no) values (corpus.corpus_id,
    corpus.next_chunk_no - 1);
  update ragdb.lexemes l set block_weight = w.weight
    from (select t.term_id,
      case when t.df >= 64 then ln(1 + (corpus.chunks - t.df + 0.5::float8) / (t.df + 0.5::float8))
      end as weight
      from ragdb.lexemes t where t.corpus_id = corpus.corpus_id) w
    where l.corpus_id = corpus.corpus_id and l.term_id = w.term_id
      and l.block_weight is distinct from w.weight;
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, scores)
  select corpus.corpus_id, p.term_id, n.group_no % v_blocks, ragdb._sparse_block(
    string_agg(n.group_no / v_blocks + 1 || ':' || (w.block_weight * p.impact)::real, ','),
    ragdb._block_size(corpus.next_chunk_no - 1))
  from generate_series(0, (corpus.next_chunk_no - 2) / 4) n (group_no)
    cross join lateral (
      select ragdb._term_id(u.lexeme) as term_id,
        max((corpus.k1 + 1) * cardinality(u.positions) / (cardinality(u.positions)
          + corpus.k1 * (1 - corpus.b + corpus.b * x.lexeme_count / corpus.pivot))) as impact
      from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) u
      where x.corpus_id = corpus.corpus_id and x.chunk_no between 4 * n.group_no + 1
        and 4 * n.group_no + 4
      group by u.lexeme
      offset 0) p
    join (select l.term_id, l.block_weight from ragdb.lexemes l
      where l.corpus_id = corpus.corpus_id and l.block_weight is not null offset 0) w
        on w.term_id = p.term_id
  group by p.term_id, n.group_no % v_blocks
  order by p.term_id, n.group_no % v_blocks;
end $$;
comment on function ragdb._build_blocks(ragdb.corpora) is
  'Makes the blocks of a corpus anew; the caller holds the corpus lock.';

-- The pivot is pinned between two calls, so that putting a document never moves the score of
-- another one. Both passes go chunk by chunk: what is kept in memory is one row of the dictionary
-- per lexeme.
create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(optimize_corpus.corpus, 'write');
  v_before float8 := v_corpus.pivot;
  v_pivot float8 := v_corpus.pivot;
  v_dropped integer;
begin
  if v_corpus.lexeme_count > 0 then
    v_pivot := v_corpus.lexeme_count::float8 / v_corpus.chunks;
  end if;
  update ragdb.lexemes l set max_impact = m.max_impact
    from (
      select ragdb._term_id(p.token) as term_id, p.max_impact
      from (
        select w.lexeme as token,
          max((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
          + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real
            as max_impact
        from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) w
        where x.corpus_id = v_corpus.corpus_id
        group by w.lexeme) p) m
    where l.corpus_id = v_corpus.corpus_id and l.term_id = m.term_id
      and l.max_impact <> m.max_impact;
  if v_pivot <> v_corpus.pivot then
    update ragdb.corpora c set pivot = v_pivot where c.corpus_id = v_corpus.corpus_id;
    update ragdb.chunk_lexemes x set impacts = ragdb._sparse((
        select string_agg(ragdb._term_id(w.lexeme) || ':'
          || ((v_corpus.k1 + 1) * cardinality(w.positions)
          / (cardinality(w.positions) + v_corpus.k1
            * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real, ',')
        from unnest(x.lexemes) w))
      where x.corpus_id = v_corpus.corpus_id;
  end if;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics v_dropped = row_count;
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
  perform ragdb._build_blocks(v_corpus);
  return query select v_corpus.chunks, v_before, v_pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts, bounds and blocks '
  'and drops lexemes that no chunk has. Raises RG400, RG401, RG404.';
