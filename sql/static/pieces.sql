-- How a word that is not a piece itself is cut into pieces, by each of three kinds of tokenizers.
-- The word comes with the space that begins it. Letters that no piece has stay, and count nothing.

-- All ranks are read at once, those of each start by one look at the index.
create or replace function ragdb_internal.ranks_within(
  embedder_id integer, word text, longest integer)
returns integer[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ranks integer[] := array_fill(null::integer, array[length(word) * (longest - 1)]);
  v_found record;
begin
  for v_found in
    select a.start, p.n, p.rank
    from generate_series(1, length(word) - 1) a (start)
      cross join lateral (
        select length(p.piece) as n, p.rank from ragdb.static_pieces p
        where p.embedder_id = ranks_within.embedder_id
          and p.piece = any (array(
            select substr(word, a.start, i)
            from generate_series(2, least(longest, length(word) + 1 - a.start)) i))
        offset 0) p
  loop
    v_ranks[(v_found.start - 1) * (longest - 1) + v_found.n - 1] := v_found.rank;
  end loop;
  return v_ranks;
end $$;
comment on function ragdb_internal.ranks_within(integer, text, integer) is
  'Returns the ranks of the pieces that stand in a word, by where they start and by their length '
  'from 2 to the longest, null where there is none.';

-- The two neighbours whose joint piece ranks first become one, as long as there are any. A merge
-- costs no look-up.
create or replace function ragdb_internal.merged_pieces(
  embedder_id integer, word text, longest integer)
returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wide constant integer := least(longest, length(word));
  v_ranks constant integer[] := ragdb_internal.ranks_within(embedder_id, word, v_wide);
  v_starts integer[] := array(select generate_series(1, length(word) + 1));
  -- of each part and the next
  v_pairs integer[] := array(
    select v_ranks[(a - 1) * (v_wide - 1) + 1] from generate_series(1, length(word) - 1) a);
  v_at integer;
  v_n integer;
begin
  loop
    v_at := array_position(v_pairs, (select min(r) from unnest(v_pairs) r));
    exit when v_at is null or v_pairs[v_at] is null;
    v_starts := v_starts[: v_at] || v_starts[v_at + 2 :];
    v_pairs := v_pairs[: v_at - 1] || v_pairs[v_at + 1 :];
    for i in greatest(v_at - 1, 1) .. least(v_at, cardinality(v_pairs)) loop
      v_n := v_starts[i + 2] - v_starts[i];
      v_pairs[i] := case when v_n <= v_wide
        then v_ranks[(v_starts[i] - 1) * (v_wide - 1) + v_n - 1] end;
    end loop;
  end loop;
  return array(
    select substr(word, v_starts[i], v_starts[i + 1] - v_starts[i])
    from generate_series(1, cardinality(v_starts) - 1) i order by i);
end $$;
comment on function ragdb_internal.merged_pieces(integer, text, integer) is
  'Cuts a word as byte pair encoding does: letters are joined, the pair of the least rank first.';

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
comment on function ragdb_internal.longest_pieces(integer, text, integer) is
  'Cuts a word as WordPiece does: the longest piece first, then the longest of what is left.';

create or replace function ragdb_internal.likeliest_pieces(
  embedder_id integer, word text, longest integer)
returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  -- by the number of letters that are behind; a letter that no piece has costs more than any piece
  v_best float8[] := array_fill(-1e9::float8, array[length(word) + 1], array[0]);
  v_from integer[] := array_fill(0, array[length(word) + 1], array[0]);
  v_way record;
  v_at integer := length(word);
  v_pieces text[] := '{}';
begin
  v_best[0] := 0;
  for v_way in
    select s.start, s.start + s.n as stop, coalesce(p.rank, -1000000) as rank
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
comment on function ragdb_internal.likeliest_pieces(integer, text, integer) is
  'Cuts a word as a unigram model does: into the pieces whose ranks have the largest sum.';

create or replace function ragdb_internal.word_pieces(model ragdb.static_models, word text)
returns text[]
language sql stable parallel safe
return case (word_pieces.model).tokenizer
  when 'bpe' then ragdb_internal.merged_pieces(
    (word_pieces.model).embedder_id, ' ' || word_pieces.word, (word_pieces.model).longest)
  when 'wordpiece' then ragdb_internal.longest_pieces(
    (word_pieces.model).embedder_id, ' ' || word_pieces.word, (word_pieces.model).longest)
  else ragdb_internal.likeliest_pieces(
    (word_pieces.model).embedder_id, ' ' || word_pieces.word, (word_pieces.model).longest) end;
comment on function ragdb_internal.word_pieces(ragdb.static_models, text) is
  'Returns the pieces of a word in order, and between them letters that no piece has.';
