-- How a word that is not a piece itself is cut into pieces, by each of three kinds of tokenizers.
-- The space that begins a word is cut with it. Letters that no piece has stay, and count nothing.

-- Returns the parts of words that are cut by themselves, in no order: each digit and what stands
-- between digits, or the whole word. A space stands where a word begins. Half of the words that a
-- collection brings have digits. Where each digit is a piece by itself, what stands between digits
-- is cut alone.
create or replace function ragdb_internal.word_runs(words text[], splits_digits boolean)
returns table (word text, run text)
language sql immutable parallel safe
begin atomic
  with split as materialized (
    select w.word, word_runs.splits_digits and w.word ~ '[0-9]' as is_split
    from pg_catalog.unnest(word_runs.words) w (word)
  )
  select s.word, ' ' || s.word from split s where not s.is_split
  union all
  select s.word, r.run
  from split s cross join lateral pg_catalog.string_to_table(
    pg_catalog.translate(' ' || s.word, '123456789', '000000000'), '0') r (run)
  where s.is_split and r.run <> ''
  union all
  select s.word, d.digit
  from split s cross join lateral pg_catalog.string_to_table(s.word, null) d (digit)
  where s.is_split and d.digit collate "C" between '0' and '9';
end;

-- Where the pieces of an embedder stand in a part of a word that is cut by itself: from which
-- letter to before which, the first in rank first; nulls where there are none.
create type ragdb_internal.placed_pieces as (
  word text, run text, starts integer[], stops integer[]);

-- Returns where pieces stand in the parts of a few words, each looked up by key. Series stand in
-- select lists, where no row of them is stored.
create or replace function ragdb_internal.pieces_of_few(
  embedder_id integer, words text[], longest integer, splits_digits boolean)
returns setof ragdb_internal.placed_pieces
language sql stable parallel safe
begin atomic
  with runs as materialized (
    select r.*
    from ragdb_internal.word_runs(pieces_of_few.words, pieces_of_few.splits_digits) r
  )
  select r.word, r.run, s.starts, s.stops
  from runs r
    cross join lateral (
      select pg_catalog.array_agg(a.start order by p.rank, a.start) as starts,
        pg_catalog.array_agg(a.start + pg_catalog.length(p.piece)
          order by p.rank, a.start) as stops
      from (select pg_catalog.generate_series(1, pg_catalog.length(r.run) - 1) as start) a
        cross join lateral (
          select c.piece, c.rank from ragdb.static_pieces c
          where c.embedder_id = pieces_of_few.embedder_id and c.piece = any (array(
            select pg_catalog.substr(r.run, a.start, pg_catalog.generate_series(
              2, least(pieces_of_few.longest, pg_catalog.length(r.run) + 1 - a.start)))))
          offset 0) p) s
  where pg_catalog.length(r.run) > 1
  union all
  select r.word, r.run, null, null from runs r where pg_catalog.length(r.run) = 1;
end;

-- Returns what ragdb_internal.pieces_of_few does. All pieces are hashed, so 3,000 words are cut in
-- two thirds of the time, 1,000 in the same. Its caller has set plans for few.
create or replace function ragdb_internal.pieces_of_many(
  embedder_id integer, words text[], longest integer, splits_digits boolean)
returns setof ragdb_internal.placed_pieces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
set enable_hashjoin = on
set enable_nestloop = off
set enable_mergejoin = off
set enable_indexscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with runs as materialized (
      select r.* from ragdb_internal.word_runs(words, splits_digits) r
    ), different as materialized (
      select distinct r.run from runs r where length(r.run) > 1
    ), placed as materialized (
      select s.run, array_agg(s.start order by p.rank, s.start) as starts,
        array_agg(s.start + s.size order by p.rank, s.start) as stops
      from (
          select a.run, a.start, z.size, substr(a.run, a.start, z.size) as part
          from (
              select d.run, generate_series(1, length(d.run) - 1) as start from different d) a
            cross join lateral (
              select generate_series(2, least(longest, length(a.run) + 1 - a.start)) as size
              offset 0) z) s
        join ragdb.static_pieces p
          on p.embedder_id = pieces_of_many.embedder_id and p.piece = s.part
      group by s.run
    )
    select r.word, r.run, p.starts, p.stops from runs r left join placed p on p.run = r.run;
end $$;

-- Cuts words of up to 64 characters as byte pair encoding does: letters are joined, the pair of the
-- least rank first. The two neighbours whose joint piece ranks first become one, as long as there
-- are any. The pieces that stand in a word are read once, the first in rank first; a turn takes the
-- first of them that begins where a part begins and ends where the next part ends. Where a part
-- begins, its byte says where it ends; all other bytes are 0. A turn reads no further than it has
-- to.
create or replace function ragdb_internal.merged_pieces(
  embedder_id integer, words text[], longest integer, splits_digits boolean)
returns table (word text, piece text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- a zero, and the bytes from 2 to 66
  v_letters constant bytea := E'\\x0002030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20'
    '2122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142';
  v_are_many constant boolean := cardinality(words) > 1000;
begin
  return query
    with recursive runs as materialized (
      select f.* from ragdb_internal.pieces_of_few(
        embedder_id, words, longest, splits_digits) f where not v_are_many
      union all
      select m.* from ragdb_internal.pieces_of_many(
        embedder_id, words, longest, splits_digits) m where v_are_many
    ), cut as (
      select g.word, g.run, g.starts, g.stops,
        substr(v_letters, 1, length(g.run) + 1) || E'\\x00' as ends, 0 as gone
      from runs g
      where length(g.run) > 1
      union all
      select c.word, c.run, c.starts, c.stops, case when m.gone is null then c.ends
        else set_byte(set_byte(c.ends, m.start, m.stop), m.gone, 0) end, m.gone
      from cut c
        left join lateral (
          select u.start, u.stop, get_byte(c.ends, u.start) as gone
          from (select unnest(c.starts) as start, unnest(c.stops) as stop) u
          where get_byte(c.ends, get_byte(c.ends, u.start)) = u.stop
          limit 1) m on true
      where c.gone is not null
    )
    select c.word, substr(c.run, i, get_byte(c.ends, i) - i)
    from cut c cross join lateral generate_series(1, length(c.run)) i
    where c.gone is null and get_byte(c.ends, i) > 0
    union all
    select r.word, r.run from runs r where length(r.run) = 1;
end $$;

-- Cuts a word as WordPiece does: the longest piece first, then the longest of what is left.
create or replace function ragdb_internal.longest_pieces(
  embedder_id integer, word text, longest integer)
returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_rest text := word;
  v_piece text;
  v_pieces text[] := '{}';
begin
  while v_rest <> '' loop
    select p.piece into v_piece from ragdb.static_pieces p
      where p.embedder_id = longest_pieces.embedder_id and p.piece = any (array(
        select left(v_rest, i) from generate_series(1, least(longest, length(v_rest))) i))
      order by length(p.piece) desc limit 1;
    if found then
      v_pieces := v_pieces || v_piece;
    end if;
    v_rest := substr(v_rest, greatest(length(v_piece), 1) + 1);
    v_piece := null;
  end loop;
  return v_pieces;
end $$;

-- Cuts a word as a unigram model does: into the pieces whose ranks have the largest sum.
create or replace function ragdb_internal.likeliest_pieces(
  embedder_id integer, word text, longest integer)
returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  -- by the number of letters that are behind; a letter that no piece has costs more than any piece
  v_best float8[] := array_fill('-infinity'::float8, array[length(word) + 1], array[0]);
  v_from integer[] := array_fill(0, array[length(word) + 1], array[0]);
  v_way record;
  v_at integer := length(word);
  v_pieces text[] := '{}';
begin
  v_best[0] := 0;
  for v_way in
    select s.start, s.start + s.n as stop, coalesce(p.rank, -1000000000) as rank
    from (select a.start, n.n from generate_series(0, length(word) - 1) a (start)
        cross join lateral generate_series(1, least(longest, length(word) - a.start)) n (n)) s
      left join lateral (select p.rank from ragdb.static_pieces p
        where p.embedder_id = likeliest_pieces.embedder_id
          and p.piece = substr(word, s.start + 1, s.n) offset 0) p on true
    where p.rank is not null or s.n = 1
    order by stop, start
  loop
    if v_best[v_way.start] + v_way.rank > v_best[v_way.stop] then
      v_best[v_way.stop] := v_best[v_way.start] + v_way.rank;
      v_from[v_way.stop] := v_way.start;
    end if;
  end loop;
  while v_at > 0 loop
    v_pieces := substr(word, v_from[v_at] + 1, v_at - v_from[v_at]) || v_pieces;
    v_at := v_from[v_at];
  end loop;
  return v_pieces;
end $$;

-- Returns the pieces of words, and between them letters that no piece has. One row, so that who
-- joins the words with others hashes these.
create or replace function ragdb_internal.word_pieces(model ragdb.static_models, words text[])
returns table (word text, piece text)
language plpgsql stable parallel safe rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  if words = '{}' then
    return;
  elsif model.tokenizer = 'bpe' then
    return query select p.word, p.piece from ragdb_internal.merged_pieces(
      model.embedder_id, words, model.longest, model.splits_digits) p;
    return;
  end if;
  return query select w.word, p.piece
    from unnest(words) w (word)
      cross join lateral unnest(case model.tokenizer
        when 'wordpiece'
          then ragdb_internal.longest_pieces(model.embedder_id, ' ' || w.word, model.longest)
        else ragdb_internal.likeliest_pieces(model.embedder_id, ' ' || w.word, model.longest)
        end) p (piece);
end $$;
