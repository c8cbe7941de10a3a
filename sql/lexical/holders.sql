-- Which chunks hold some words: by the lists of the dictionary and by the blocks. What demands of a
-- query and filters leave is told chunk by chunk, and phrases by the texts of the chunks.

-- Returns the chunks of a corpus that its blocks do not know. The chunks after the blocks and those
-- that the blocks know wrongly are held to have everything.
create or replace function ragdb_internal.uncovered_chunks(corpus_id integer)
returns integer[]
language sql stable parallel safe
return array(
  select x.chunk_no from ragdb.chunk_lexemes x
  where x.corpus_id = uncovered_chunks.corpus_id
    and x.chunk_no > ragdb_internal.last_in_blocks(uncovered_chunks.corpus_id)
  union all
  select pg_catalog.unnest(s.stale_chunks) from ragdb.block_states s
  where s.corpus_id = uncovered_chunks.corpus_id);

-- Returns blocks, with a bit for each group that has, by the blocks, one of the terms of each
-- place.
create or replace function ragdb_internal.groups_holding(
  corpus_id integer, term_ids integer[], places integer[])
returns table (block_no integer, bits bit varying)
language sql stable parallel safe
begin atomic
  select n.block_no, pg_catalog.bit_and(n.bits)::bit varying
  from (
    select t.block_no, w.place, binary_quantize(sum(t.scores)) as bits
    from unnest(groups_holding.term_ids, groups_holding.places) w (term_id, place)
      cross join lateral (
        select k.block_no, ragdb_internal.densely(k.scores, k.dense_scores) as scores
        from ragdb.term_blocks k
        where k.corpus_id = groups_holding.corpus_id and k.term_id = w.term_id offset 0) t
    group by t.block_no, w.place) n
  group by n.block_no
  having count(*) = (select count(distinct w) from pg_catalog.unnest(groups_holding.places) w);
end;

-- Returns the numbers of the chunks of the groups of some blocks that have a bit.
create or replace function ragdb_internal.chunks_of_groups(
  block_nos integer[], bits bit varying[])
returns integer[]
language sql immutable parallel safe
return array(
  select 4 * (ragdb_internal.unit_groups() * b.block_no + p.place - 1) + i
  from unnest(chunks_of_groups.block_nos, chunks_of_groups.bits) b (block_no, bits)
    cross join lateral ragdb_internal.set_bits(b.bits) p
    cross join pg_catalog.generate_series(1, 4) i);

-- Returns the chunks that the dictionary lists for some terms, and whether all that have one of the
-- terms of each place, which stand beside them, are among them.
create or replace function ragdb_internal.listed_holding(
  corpus_id integer, term_ids integer[], places integer[],
  out chunk_nos integer[], out is_complete boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place record;
begin
  -- one place whose words are all listed is enough, and the shortest list is best
  is_complete := false;
  for v_place in
    select w.place, bool_or(l.in_blocks) as in_blocks,
      string_agg(l.chunk_nos, '') as listed
    from unnest(term_ids, places) w (term_id, place)
      cross join lateral (select k.in_blocks, k.chunk_nos, k.df from ragdb.lexemes k
        where k.corpus_id = listed_holding.corpus_id and k.term_id = w.term_id offset 0) l
    group by w.place order by bool_or(l.in_blocks), sum(l.df)
  loop
    chunk_nos := chunk_nos
      || array(select distinct n from unnest(ragdb_internal.listed_numbers(v_place.listed)) n);
    is_complete := not v_place.in_blocks;
    exit when is_complete;
  end loop;
end $$;

-- Returns chunks of a corpus, all among them that have one of the terms of each place, which stand
-- beside them; some have none, some are twice in it, and numbers of no chunk are too.
create or replace function ragdb_internal.chunks_holding(
  corpus_id integer, term_ids integer[], places integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_listed constant record :=
    ragdb_internal.listed_holding(chunks_holding.corpus_id, term_ids, places);
begin
  if v_listed.is_complete then
    return v_listed.chunk_nos;
  end if;
  return v_listed.chunk_nos || ragdb_internal.uncovered_chunks(chunks_holding.corpus_id) || (
    select ragdb_internal.chunks_of_groups(array_agg(g.block_no), array_agg(g.bits))
    from ragdb_internal.groups_holding(chunks_holding.corpus_id, term_ids, places) g);
end $$;

-- Whether the text of a chunk has a phrase.
create or replace function ragdb_internal.has_phrase(
  corpus ragdb.corpora, chunk_no integer, phrase tsquery)
returns boolean
language sql stable parallel safe
return (
  select ragdb_internal.lexemes(ragdb_internal.searched_text(
      ragdb_internal.title(c.corpus_id, c.doc_no), c.heading, c.text), (corpus).text_config)
    @@ has_phrase.phrase
  from ragdb.chunks c
  where c.corpus_id = (corpus).corpus_id and c.chunk_no = has_phrase.chunk_no);

-- Returns those of some chunks of a corpus that meet all demands, each once. A word's byte stands
-- for other words too: where it is there as often as the word is, it does not, and the order tells
-- that the chunk has the phrase.
create or replace function ragdb_internal.meeting(
  corpus ragdb.corpora, demands ragdb_internal.demand[], chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if demands = '{}' then
    return chunk_nos;
  end if;
  return array(
    select x.chunk_no
    from ragdb.chunk_lexemes x
    where x.corpus_id = corpus.corpus_id and x.chunk_no = any (meeting.chunk_nos)
      and not exists (
        select from unnest(meeting.demands) d
        where d.is_not = case
          when exists (select from unnest(d.units) u (unit)
            where ragdb_internal.inner_product(u.unit, x.impacts) <= 0) then false
          when not (x.word_order like all (d.patterns)) then false
          when not (x.word_order like any (d.orders)) then false
          when d.phrase is null then true
          when x.word_order is not null and d.bytes is not null and not exists (
            select from unnest(d.units, d.bytes) u (unit, byte)
            where ragdb_internal.times(x.word_order, u.byte) <> ragdb_internal.frequency(
              ragdb_internal.inner_product(u.unit, x.impacts), ragdb_internal.length_norm(
                x.lexeme_count, corpus.k1, corpus.b, corpus.pivot), corpus.k1)) then true
          else ragdb_internal.has_phrase(corpus, x.chunk_no, d.phrase) end));
end $$;

-- Returns the terms that are demanded, and for each its place among all; null for none.
create or replace function ragdb_internal.demanded_terms(
  demands ragdb_internal.demand[], out term_ids integer[], out places integer[])
language sql immutable parallel safe
begin atomic
  select pg_catalog.array_agg(t.term_id),
    pg_catalog.array_agg((20000 * d.ordinality + t.place)::integer)
  from pg_catalog.unnest(demanded_terms.demands) with ordinality d
    cross join lateral unnest(d.term_ids, d.places) t (term_id, place)
  where not d.is_not;
end;

-- Returns blocks, with a bit for each group that has, by the blocks, the words that are demanded,
-- and how many groups these are.
create or replace function ragdb_internal.groups_demanded(
  corpus_id integer, demands ragdb_internal.demand[],
  out block_nos integer[], out bits bit varying[], out groups bigint)
language sql stable parallel safe
begin atomic
  select pg_catalog.array_agg(h.block_no), pg_catalog.array_agg(h.bits),
    coalesce(sum(pg_catalog.bit_count(h.bits)), 0)::bigint
  from ragdb_internal.demanded_terms(groups_demanded.demands) t
    cross join lateral ragdb_internal.groups_holding(
      groups_demanded.corpus_id, t.term_ids, t.places) h;
end;

-- Returns chunks of a corpus, all among them that have the words that are demanded; null when none
-- is.
create or replace function ragdb_internal.chunks_demanded(
  corpus_id integer, demands ragdb_internal.demand[])
returns integer[]
language sql stable parallel safe
return (
  select ragdb_internal.chunks_holding(chunks_demanded.corpus_id, t.term_ids, t.places)
  from ragdb_internal.demanded_terms(chunks_demanded.demands) t where t.term_ids is not null);
