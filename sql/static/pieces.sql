-- How a word that is not a piece itself is cut into pieces, by each of three kinds of tokenizers.
-- The word comes with the space that begins it. Letters that no piece has are left out.

-- The two neighbours whose joint piece ranks first become one, as long as there are any.
create or replace function ragdb_internal.merged_pieces(embedder_id integer, word text)
returns text[]
language plpgsql stable parallel safe strict
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_parts text[] := string_to_array(word, null);
  v_ranks integer[];
  v_at integer;
begin
  v_ranks := array(
    select (select p.rank from ragdb.static_pieces p
      where p.embedder_id = merged_pieces.embedder_id and p.piece = v_parts[i] || v_parts[i + 1])
    from generate_series(1, cardinality(v_parts) - 1) i order by i);
  loop
    v_at := array_position(v_ranks, (select min(r) from unnest(v_ranks) r));
    exit when v_at is null or v_ranks[v_at] is null;
    v_parts[v_at] := v_parts[v_at] || v_parts[v_at + 1];
    v_parts := v_parts[: v_at] || v_parts[v_at + 2 :];
    v_ranks := v_ranks[: v_at - 1] || v_ranks[v_at + 1 :];
    if v_at > 1 then
      v_ranks[v_at - 1] := (select p.rank from ragdb.static_pieces p
        where p.embedder_id = merged_pieces.embedder_id
          and p.piece = v_parts[v_at - 1] || v_parts[v_at]);
    end if;
    if v_at < cardinality(v_parts) then
      v_ranks[v_at] := (select p.rank from ragdb.static_pieces p
        where p.embedder_id = merged_pieces.embedder_id
          and p.piece = v_parts[v_at] || v_parts[v_at + 1]);
    end if;
  end loop;
  return v_parts;
end $$;
comment on function ragdb_internal.merged_pieces(integer, text) is
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
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_word constant text := ' ' || word;
  v_pieces constant text[] := case model.tokenizer
    when 'bpe' then ragdb_internal.merged_pieces(model.embedder_id, v_word)
    when 'wordpiece' then
      ragdb_internal.longest_pieces(model.embedder_id, v_word, model.longest)
    else ragdb_internal.likeliest_pieces(model.embedder_id, v_word, model.longest) end;
begin
  return array(
    select u.piece from unnest(v_pieces) with ordinality u (piece, n)
    where exists (select from ragdb.static_pieces p
      where p.embedder_id = model.embedder_id and p.piece = u.piece)
    order by u.n);
end $$;
comment on function ragdb_internal.word_pieces(ragdb.static_models, text) is
  'Returns the pieces of a word that a static embedder has vectors of, in order.';
