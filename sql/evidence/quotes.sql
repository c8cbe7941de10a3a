-- Letters as a reader compares them, each with the place it came from: decomposed, without case,
-- white space as one space, quotation marks and dashes as ASCII, soft hyphens and what cannot be
-- seen gone.
create or replace function ragdb_internal.quotable(text text, out letters text, out places integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  with letter as materialized (
    select c.letter, c.n from regexp_split_to_table(text, '') with ordinality c (letter, n)
  ), form as materialized (
    select d.letter, case
      when d.letter ~ '[\u0001-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
        then ' '
      when d.letter ~
        '[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]' then ''
      when d.letter ~ '[\u2018-\u201b\u2032\u02bc\u0060\u00b4\u2039\u203a]' then ''''
      when d.letter ~ '[\u201c-\u201f\u2033\u00ab\u00bb]' then '"'
      when d.letter ~ '[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]' then '-'
      when octet_length(d.letter) = 1 then lower(d.letter collate "C")
      when d.letter ~ ('[' || ragdb_internal.unassigned() || ']') then d.letter
      -- a letter such as ´ is a space and a mark when decomposed
      else normalize(ragdb_internal.fold(normalize(d.letter, nfkc)), nfkd) end as form
    from (select distinct l.letter from letter l) d
  ), spread as (
    select l.n, f.form, lag(f.form) over (order by l.n) as before
    from letter l join form f using (letter) where f.form <> ''
  ), kept as (
    select s.n, s.form from spread s where not (s.form = ' ' and coalesce(s.before, ' ') = ' ')
  )
  select coalesce(string_agg(k.form, '' order by k.n), ''),
    coalesce(array_agg(k.n::integer order by k.n) , '{}')
  into letters, places
  from (select k.n, u.form from kept k, regexp_split_to_table(k.form, '')
    with ordinality u (form, m)) k;
end $$;
comment on function ragdb_internal.quotable(text) is
  'Returns the letters of a text as quotes are compared, and for each its place in the text, from '
  '1.';

-- What scanners take for each other is made the same; white space and punctuation go. Not for
-- digits: they must be read right, so they are compared apart.
create or replace function ragdb_internal.skeleton(letters text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.translate(
  pg_catalog.regexp_replace(skeleton.letters,
    '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+', '', 'g'),
  '01|i', 'olll'), 'rn', 'm'), 'vv', 'w'), 'cl', 'd');
comment on function ragdb_internal.skeleton(text) is
  'Returns letters without white space and ASCII punctuation, those that scanners confuse (0 o, 1 '
  'i l |, rn m, vv w, cl d) made one.';

create or replace function ragdb_internal.numerals(letters text) returns text[]
language sql immutable parallel safe
return array(
  select pg_catalog.regexp_replace(m.numeral[1], '([0-9]),(?=[0-9]{3}(?![0-9]))', '\1', 'g')
  from pg_catalog.regexp_matches(numerals.letters,
    '(?<![[:alpha:]])((?:(?<![0-9[:alpha:]])-)?[0-9]+(?:[.,:][0-9]+)*)(?![[:alpha:]])', 'g')
    with ordinality m (numeral, n) order by m.n);
comment on function ragdb_internal.numerals(text) is
  'Returns the numbers of a text in their order, thousands without commas; digits inside a word '
  'are none.';

-- Words may differ as scanners differ: the first letter right, one letter in five wrong, and no
-- digit.
create or replace function ragdb_internal.is_misread(a text, b text) returns boolean
language sql immutable parallel safe
return a = b or ragdb_internal.skeleton(a) = ragdb_internal.skeleton(b)
  or (a !~ '[0-9]' and b !~ '[0-9]' and pg_catalog.left(a, 1) = pg_catalog.left(b, 1)
    and pg_catalog.length(a) between 5 and 100 and pg_catalog.length(b) between 5 and 100
    and pg_catalog.abs(pg_catalog.length(a) - pg_catalog.length(b)) <= 1
    and ragdb_internal.edit_distance(a, b) <= 1);
comment on function ragdb_internal.is_misread(text, text) is
  'Whether one word may be a scanner''s reading of another: alike after _skeleton, or of 5 letters '
  'or more, the first the same, with one edit.';

-- Exact, then as a reader compares, then as scanners misread. Places count characters from 0; end
-- is behind the last.
create or replace function ragdb_internal.find_quote(
  text text, quote text, out method text, out start_offset integer, out end_offset integer,
    out similarity float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at integer := strpos(text, quote);
  v_quote text;
  v_letters text;
  v_places integer[];
  v_bones text;
  v_bone_places integer[];
  v_words text[];
  v_from integer;
  v_to integer;
begin
  if quote = '' then
    return;
  elsif v_at > 0 then
    method := 'exact';
    similarity := 1;
    start_offset := v_at - 1;
    end_offset := v_at - 1 + length(quote);
    return;
  end if;
  v_quote := rtrim((ragdb_internal.quotable(quote)).letters);
  select q.letters, q.places into v_letters, v_places from ragdb_internal.quotable(text) q;
  if v_quote = '' then
    return;
  end if;
  v_at := strpos(v_letters, v_quote);
  if v_at > 0 then
    method := 'normalised';
    similarity := 1;
    v_from := v_at;
    v_to := v_at + length(v_quote) - 1;
  else
    -- words of the text with their places among the letters
    v_words := array(select m.word[1]
      from regexp_matches(v_quote, '[^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+',
        'g')
      with ordinality m (word, n) order by m.n);
    if cardinality(v_words) = 0 then
      return;
    end if;
    -- the same letters, however they are spaced and hyphenated
    select string_agg(b.bone, '' order by b.n), array_agg(b.n::integer order by b.n) into v_bones,
      v_bone_places
      from regexp_split_to_table(v_letters, '') with ordinality b (bone, n)
      where b.bone !~ '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]';
    v_bones := coalesce(v_bones, '');
    v_at := strpos(v_bones, array_to_string(v_words, ''));
    if v_at > 0 then
      v_from := v_bone_places[v_at];
      v_to := v_bone_places[v_at + length(array_to_string(v_words, '')) - 1];
      similarity := 1;
    else
      with said as materialized (
        select w.word, w.n::integer from unnest(v_words) with ordinality w (word, n)
      ), word as materialized (
        select r.part[2] as word, r.n::integer as n,
          (sum(length(r.part[1] || r.part[2])) over (order by r.n))::integer as stop
        from regexp_matches(v_letters,
          '([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)'
          '([^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+)', 'g')
          with ordinality r (part, n)
      ), start as (
        -- where enough of the words already agree
        select t.n - s.n + 1 as n
        from said s join word t using (word)
        group by 1
        having sum(length(s.word)) >= 0.4 * (select sum(length(a.word)) from said a)
          and t.n - s.n + 1 >= 1
        order by sum(length(s.word)) desc, 1 limit 20
      ), trial as (
        select b.n, min(t.stop - length(t.word) + 1) as first, max(t.stop) as last,
          count(*) as words,
          bool_and(ragdb_internal.is_misread(s.word, t.word)) as is_alike,
          1 - sum(case when s.word = t.word then 0 when ragdb_internal.is_misread(s.word, t.word)
            then ragdb_internal.edit_distance(s.word, t.word) else length(s.word) end)::float8
              / sum(length(s.word)) as similarity
        from start b join said s on true join word t on t.n = b.n + s.n - 1
        group by b.n
      )
      select t.first, t.last, t.similarity into v_from, v_to, similarity
      from trial t
      where t.words = cardinality(v_words) and t.is_alike and t.similarity >= 0.85
      order by t.similarity desc, t.n limit 1;
      if not found then
        -- letters that scanners confuse, across the spaces too
        v_at := strpos(ragdb_internal.skeleton(v_bones), ragdb_internal.skeleton(v_quote));
        if v_at = 0 then
          similarity := null;
          return;
        end if;
        select min(k.n), max(k.n) into v_from, v_to
          from (select p.n, length(ragdb_internal.skeleton(left(v_bones, p.n::integer))) as done
            from generate_series(1, length(v_bones)) p (n)) k
          where k.done between v_at and v_at + length(ragdb_internal.skeleton(v_quote)) - 1;
        similarity := greatest(0.85,
          1 - abs(v_to - v_from + 1 - length(array_to_string(v_words, '')))::float8
          / (v_to - v_from + 1));
        v_from := v_bone_places[v_from];
        v_to := v_bone_places[v_to];
      end if;
    end if;
    if ragdb_internal.numerals(substr(v_letters, v_from, v_to - v_from + 1))
      is distinct from ragdb_internal.numerals(v_quote) then
      similarity := null;
      return;
    end if;
    method := 'approximate';
    -- the punctuation around it, which was left aside
    v_words := regexp_match(v_quote,
      '^([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)'
      '.*?([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)$');
    if v_words[1] <> ''
      and substr(v_letters, greatest(v_from - length(v_words[1]), 1),
        length(v_words[1])) = v_words[1] then
      v_from := v_from - length(v_words[1]);
    end if;
    if v_words[2] <> '' and substr(v_letters, v_to + 1, length(v_words[2])) = v_words[2] then
      v_to := v_to + length(v_words[2]);
    end if;
  end if;
  start_offset := v_places[v_from] - 1;
  -- marks and invisible characters behind the last letter belong to it
  end_offset := v_places[v_to];
  while end_offset < length(text) and (substr(text, end_offset + 1, 1) ~ '[\u0300-\u036f]' ) loop
    end_offset := end_offset + 1;
  end loop;
end $$;
comment on function ragdb_internal.find_quote(text, text) is
  'Finds a quote in a text: exact, normalised (case, white space, quotation marks, dashes and '
  'ligatures aside) or approximate (as a scanner misreads; at least 0.85 of its letters in one run '
  'of words, every number right); all null where it is not.';
