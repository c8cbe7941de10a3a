-- The sums that a static embedder makes vectors of texts from: static-v2, described in
-- docs/static.md.
--
-- An embedding is the sum of the vectors of the words, each by its weight, scaled to length 1 and
-- rounded to halves. Vectors of words are whole numbers and weights are eighths, so the sum is the
-- same in whatever order it is made, on every machine.

-- Returns the row of a static embedder; null for any other. Not in SQL: such a function is planned
-- in each transaction before PostgreSQL 18.
create or replace function ragdb_internal.static_model(embedder_id integer)
returns ragdb.static_models
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select m from ragdb.static_models m where m.embedder_id = static_model.embedder_id);
end $$;

-- Tells whether an embedder runs inside the database.
create or replace function ragdb_internal.is_static(embedder_id integer) returns boolean
language sql stable parallel safe
return exists (select from ragdb.static_models m where m.embedder_id = is_static.embedder_id);

-- A word and its vector.
create type ragdb_internal.word_vector as (word text, embedding vector);

-- Returns the vectors of words that are not pieces, zero where no part of one is known.
create or replace function ragdb_internal.cut_vectors(model ragdb.static_models, words text[])
returns setof ragdb_internal.word_vector
language sql stable parallel safe
begin atomic
  select p.word, coalesce(sum(c.embedding::vector), (
    select n.embedding::vector - n.embedding::vector from ragdb.static_pieces n
    where n.embedder_id = (cut_vectors.model).embedder_id and n.piece = ''))
  from ragdb_internal.word_pieces(cut_vectors.model, cut_vectors.words) p
    left join lateral (
      select k.embedding from ragdb.static_pieces k
      where k.embedder_id = (cut_vectors.model).embedder_id and k.piece = p.piece
      offset 0) c on true
  group by p.word;
end;

-- Returns different words with the vectors that are stored of them; null of those that must be cut.
-- Each is looked up by key, whatever the planner believes of the tables.
create or replace function ragdb_internal.kept_vectors(model ragdb.static_models, words text[])
returns table (word text, half halfvec)
language sql stable parallel safe
begin atomic
  select w.word, coalesce(p.embedding, s.embedding)
  from pg_catalog.unnest(kept_vectors.words) w (word)
    left join lateral (
      select c.embedding from ragdb.static_pieces c
      where c.embedder_id = (kept_vectors.model).embedder_id and c.piece = ' ' || w.word
      offset 0) p on true
    left join lateral (
      select k.embedding from ragdb.static_words k
      where k.embedder_id = (kept_vectors.model).embedder_id and k.word = w.word
        and p.embedding is null
      offset 0) s on true;
end;

-- Returns the vector of a word, or a sum of them, by their weight in eighths.
create or replace function ragdb_internal.weighed(embedding vector, eighths integer)
returns vector
language sql immutable parallel safe
return case when weighed.eighths = 8 then weighed.embedding
  else weighed.embedding * pg_catalog.array_fill((weighed.eighths / 8::float8)::real,
    array[vector_dims(weighed.embedding)])::vector end;

-- Returns a vector scaled to length 1, its numbers rounded to halves; null for zero.
create or replace function ragdb_internal.unit_halves(total vector) returns vector
language sql immutable parallel safe
return case when vector_norm(unit_halves.total) > 0
  then l2_normalize(unit_halves.total)::halfvec::vector end;

-- Returns the sum of a chunk of that of its title and heading path and that of its text, in which
-- the former is made a third as long as the latter if it is shorter. Null is what has no word. A
-- title and headings say in a few words what a chunk is about, and a long text would drown them.
-- The factor is in eighths, so that this sum is exact too.
create or replace function ragdb_internal.headed(head vector, body vector) returns vector
language sql immutable parallel safe
return case
  when headed.head is null then headed.body
  when headed.body is null then headed.head
  else headed.body + headed.head * pg_catalog.array_fill(
    greatest(1, pg_catalog.round(
      8 * vector_norm(headed.body) / (3 * nullif(vector_norm(headed.head), 0))) / 8)::real,
    array[vector_dims(headed.head)])::vector end;

-- Returns the sums of texts, zero where no word is known; then the words that had to be cut,
-- without n, with their vectors. Texts without words have no row. The words that must be cut are
-- cut together. The others stay halves until they are hashed: what is stored on the way is half as
-- large.
create or replace function ragdb_internal.sums_of_texts(model ragdb.static_models, texts text[])
returns table (n integer, total vector, word text)
language sql stable parallel safe
begin atomic
  with counted as materialized (
    select c.* from ragdb_internal.counted_words(
      sums_of_texts.texts, (sums_of_texts.model).folding) c
  ), kept as materialized (
    select k.*
    from (select array(select distinct c.word from counted c) as words offset 0) d
      cross join lateral ragdb_internal.kept_vectors(sums_of_texts.model, d.words) k
  ), cut as materialized (
    select c.*
    from (select array(select k.word from kept k where k.half is null) as words offset 0) u
      cross join lateral ragdb_internal.cut_vectors(sums_of_texts.model, u.words) c
    where u.words <> '{}'
  )
  select s.n, s.total, null::text
  from (
    select u.n, sum(ragdb_internal.weighed(u.total, u.eighths)) as total
    from (
      select c.n, c.eighths, sum(v.embedding) as total
      from counted c join (
        select k.word, k.half::vector as embedding from kept k where k.half is not null
        union all
        select t.* from cut t) v on v.word = c.word
      group by c.n, c.eighths) u
    group by u.n) s
  union all
  select null, t.embedding, t.word from cut t;
end;

-- Returns what ragdb_internal.sums_of_texts does, by a plan that is kept. Planned once, with the
-- functions above as parts of the statement: to plan it takes longer than to embed a text, and
-- before PostgreSQL 18 SQL functions that stay functions are planned at each call. What is joined
-- is as large as the texts, and is hashed whatever the planner believes.
create or replace function ragdb_internal.summed_texts(model ragdb.static_models, texts text[])
returns table (n integer, total vector, word text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_nestloop = off
set enable_mergejoin = off
set enable_sort = off
as $$
begin
  return query select s.* from ragdb_internal.sums_of_texts(model, texts) s;
end $$;

-- Returns what a static embedder gives a text that has no word it knows: the opposite of all its
-- pieces together, which is near to nothing.
create or replace function ragdb_internal.unknown_text(embedder_id integer) returns vector
language sql stable parallel safe
return (
  select ragdb_internal.unit_halves(p.embedding::vector) from ragdb.static_pieces p
  where p.embedder_id = unknown_text.embedder_id and p.piece = '');
