-- Where a text says what a quote says: exactly, then as a reader compares, then as scanners
-- misread. Each way is tried only where the ones before it found nothing.

-- A run of letters, from 1, that may be a quote, and the share of the quote's letters in it.
create type ragdb_internal.letter_run as (first integer, last integer, similarity float8);

-- Returns the words of letters in their order, without punctuation.
create or replace function ragdb_internal.words_of(letters text) returns text[]
language sql immutable parallel safe
return array(
  select m.word[1]
  from pg_catalog.regexp_matches(words_of.letters,
    '[^' || ragdb_internal.punctuation() || ']+', 'g') with ordinality m (word, n)
  order by m.n);

-- Returns letters without punctuation, and for each its place among all, from 1.
create or replace function ragdb_internal.bones(letters text, out bones text, out places integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  select coalesce(string_agg(b.bone, '' order by b.n), ''), array_agg(b.n::integer order by b.n)
    into bones, places
    from regexp_split_to_table(letters, '') with ordinality b (bone, n)
    where b.bone !~ ('[' || ragdb_internal.punctuation() || ']');
end $$;

-- Returns the run of as many words of letters that may be misreadings of these words and has at
-- least 0.85 of their letters right; null for none. A run starts where enough of the quote's words
-- already agree.
create or replace function ragdb_internal.run_of_words(letters text, words text[])
  returns ragdb_internal.letter_run
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb_internal.letter_run;
begin
  with said as materialized (
    select w.word, w.n::integer from unnest(words) with ordinality w (word, n)
  ), word as materialized (
    select r.part[2] as word, r.n::integer as n,
      (sum(length(r.part[1] || r.part[2])) over (order by r.n))::integer as stop
    from regexp_matches(letters,
      '([' || ragdb_internal.punctuation() || ']*)([^' || ragdb_internal.punctuation() || ']+)',
      'g') with ordinality r (part, n)
  ), start as (
    select t.n - s.n + 1 as n
    from said s join word t using (word)
    group by 1
    having sum(length(s.word)) >= 0.4 * (select sum(length(a.word)) from said a)
      and t.n - s.n + 1 >= 1
    order by sum(length(s.word)) desc, 1 limit 20
  ), trial as (
    select b.n, min(t.stop - length(t.word) + 1) as first,
      max(t.stop) as last, count(*) as words,
      bool_and(ragdb_internal.is_misread(s.word, t.word)) as is_alike,
      1 - sum(case when s.word = t.word then 0
          when ragdb_internal.is_misread(s.word, t.word)
            then ragdb_internal.edit_distance(s.word, t.word)
          else length(s.word) end)::float8
        / sum(length(s.word)) as similarity
    from start b join said s on true join word t on t.n = b.n + s.n - 1
    group by b.n
  )
  select t.first, t.last, t.similarity into v_run
  from trial t
  where t.words = cardinality(run_of_words.words) and t.is_alike and t.similarity >= 0.85
  order by t.similarity desc, t.n limit 1;
  return v_run;
end $$;

-- Returns the run of bones that has the skeleton of a quote, whose own bones are given too; null
-- for none. Letters that scanners confuse, across the spaces too.
create or replace function ragdb_internal.run_of_skeletons(bones text, quote text, quote_bones text)
  returns ragdb_internal.letter_run
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_quote constant text := ragdb_internal.skeleton(quote);
  v_at constant integer := strpos(ragdb_internal.skeleton(bones), v_quote);
  v_run ragdb_internal.letter_run;
begin
  if v_at = 0 then
    return null;
  end if;
  select min(k.n), max(k.n) into v_run.first, v_run.last
    from (
      select p.n, length(ragdb_internal.skeleton(left(bones, p.n::integer))) as done
      from generate_series(1, length(bones)) p (n)) k
    where k.done between v_at and v_at + length(v_quote) - 1;
  v_run.similarity := greatest(0.85,
    1 - abs(v_run.last - v_run.first + 1 - length(quote_bones))::float8
      / (v_run.last - v_run.first + 1));
  return v_run;
end $$;

-- Returns the run of letters that may be a scanner's reading of a quote, every number right; null
-- for none. Digits must be read right, so the numbers of a run are compared apart.
create or replace function ragdb_internal.misread_run(letters text, quote text)
  returns ragdb_internal.letter_run
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.words_of(quote);
  v_quote_bones constant text := array_to_string(v_words, '');
  v_bones text;
  v_places integer[];
  v_at integer;
  v_run ragdb_internal.letter_run;
begin
  if cardinality(v_words) = 0 then
    return null;
  end if;
  select b.bones, b.places into v_bones, v_places from ragdb_internal.bones(letters) b;
  v_at := strpos(v_bones, v_quote_bones);
  if v_at > 0 then
    -- the same letters, however they are spaced and hyphenated
    v_run := row(v_places[v_at], v_places[v_at + length(v_quote_bones) - 1], 1);
  else
    v_run := ragdb_internal.run_of_words(letters, v_words);
  end if;
  if v_run is null then
    v_run := ragdb_internal.run_of_skeletons(v_bones, quote, v_quote_bones);
    v_run.first := v_places[v_run.first];
    v_run.last := v_places[v_run.last];
  end if;
  if v_run.first is null
    or not ragdb_internal.stands_apart(
      substr(letters, greatest(v_run.first - 2, 1), least(v_run.first - 1, 2)),
      substr(letters, v_run.first, v_run.last - v_run.first + 1),
      substr(letters, v_run.last + 1, 2))
    or ragdb_internal.numerals(substr(letters, v_run.first, v_run.last - v_run.first + 1))
      is distinct from ragdb_internal.numerals(quote) then
    return null;
  end if;
  return v_run;
end $$;

-- Returns a run of letters with the punctuation that a quote has around its words, where the
-- letters have it too.
create or replace function ragdb_internal.with_punctuation(run ragdb_internal.letter_run,
  letters text, quote text) returns ragdb_internal.letter_run
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_around constant text[] := regexp_match(quote,
    '^([' || ragdb_internal.punctuation() || ']*)'
    '.*?([' || ragdb_internal.punctuation() || ']*)$');
  v_before constant integer := length(v_around[1]);
  v_behind constant integer := length(v_around[2]);
begin
  if v_before > 0
    and substr(letters, greatest(run.first - v_before, 1), v_before) = v_around[1] then
    run.first := run.first - v_before;
  end if;
  if v_behind > 0 and substr(letters, run.last + 1, v_behind) = v_around[2] then
    run.last := run.last + v_behind;
  end if;
  return run;
end $$;

-- Finds a quote in a text: exact, normalised (case, white space, quotation marks, dashes and
-- ligatures aside) or approximate (as a scanner misreads; at least 0.85 of its letters in one run
-- of words, every number right). A quote that begins or ends within a word or a number is not
-- found. Places count characters from 0, the end is behind the last; all is null where the text
-- does not have it.
create or replace function ragdb_internal.find_quote(
  text text, quote text, out method text, out start_offset integer, out end_offset integer,
  out similarity float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at integer := ragdb_internal.apart_at(text, quote);
  v_quote text;
  v_letters text;
  v_places integer[];
  v_run ragdb_internal.letter_run;
begin
  if v_at > 0 then
    method := 'exact';
    similarity := 1;
    start_offset := v_at - 1;
    end_offset := start_offset + length(quote);
    return;
  end if;
  v_quote := rtrim((ragdb_internal.quotable(quote)).letters);
  if v_quote = '' then
    return;
  end if;
  select q.letters, q.places into v_letters, v_places from ragdb_internal.quotable(text) q;
  v_at := ragdb_internal.apart_at(v_letters, v_quote);
  if v_at > 0 then
    method := 'normalised';
    v_run := row(v_at, v_at + length(v_quote) - 1, 1);
  else
    v_run := ragdb_internal.misread_run(v_letters, v_quote);
    if v_run is null then
      return;
    end if;
    method := 'approximate';
    v_run := ragdb_internal.with_punctuation(v_run, v_letters, v_quote);
  end if;
  similarity := v_run.similarity;
  start_offset := v_places[v_run.first] - 1;
  -- marks and invisible characters behind the last letter belong to it
  end_offset := v_places[v_run.last];
  while end_offset < length(text)
      and substr(text, end_offset + 1, 1) ~ E'[\\u0300-\\u036f\\u064b-\\u0652\\u0670]' loop
    end_offset := end_offset + 1;
  end loop;
end $$;
