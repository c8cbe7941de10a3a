-- The sentences of a text.

-- Tells whether a part of a text ends in one of some abbreviations, a regular expression, and its
-- point. Letters past ASCII are named: their classes follow the locale of the database.
create or replace function ragdb_internal.ends_in(part text, abbreviations text) returns boolean
language sql immutable parallel safe
return pg_catalog.right(ends_in.part, 24)
  ~ ('(?:^|[^\wÀ-ɏͰ-ӿء-ي\u0900-\u0963])(?:' || ends_in.abbreviations || ')\.[ \t]*\n?[ \t]*$');

-- Tells whether a part of a text ends in the abbreviation of what has a number, such as a street.
create or replace function ragdb_internal.asks_for_number(part text) returns boolean
language sql immutable parallel safe
return ragdb_internal.ends_in(asks_for_number.part, '[\wÀ-ɏ]*[Ss]tr|[Nn](?:o|r|úm)|[Pp]{1,2}|S'
  '|[Pp]ágs?|[Tt][eé]l|[Aa](?:rt|bs)|[Cc]h(?:ap)?|[Ff]igs?|[Vv]ol|[Ss]ec|[Rr]efs?|[Ee]q'
  '|[Сс]тр|[Рр]ис|[Тт]ел|[Дд]|[Кк]в');

-- Tells whether a sentence goes on from a part of a text to the one after it, which a point and
-- white space end: they are of an item's number, of an abbreviation or of a bold line. Some
-- abbreviations are always followed by what they are of, such as a title, or the day of a German
-- date. Others may end a sentence, but not before a digit or a small letter: one letter, consonants
-- alone, or listed.
create or replace function ragdb_internal.goes_on(earlier text, before text, after text)
returns boolean
language sql immutable parallel safe
return case
  when pg_catalog.right(pg_catalog.rtrim(before, E' \u00a0\u202f'), 1) in ('»', '«')
    then goes_on.after ~ '^[:,;a-zß-öø-ÿ]'
  -- no point ends a sentence in Thai
  when pg_catalog.left(pg_catalog.right(pg_catalog.rtrim(before), 2), 1) collate "C"
      between 'ก' and '๛'
    then true
  when pg_catalog.strpos(goes_on.before, '**') > 0 and goes_on.before ~ '^\s*\*\*[^*\n]*$'
    and goes_on.after ~ '^[^*\n]*\*\*\s*$' then true
  when goes_on.before ~ '^[0-9]{1,3}\.[ \t]+$' then not ragdb_internal.asks_for_number(earlier)
  when goes_on.after ~ '^[0-9]{1,3}(?:\.\s*$|\) )' then ragdb_internal.asks_for_number(before)
  when goes_on.after ~ '^[a-zß-öø-ÿğışа-џ0-9]' and (ragdb_internal.asks_for_number(before)
    or ragdb_internal.ends_in(before, '[A-Za-zÀ-ɏЀ-ӿ]'
      '|[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz][b-df-hj-np-tv-xzß]{1,4}'
      '|[БВГДЖЗКЛМНПРСТФХЦЧШЩбвгджзклмнпрстфхцчшщ][бвгджзклмнпрстфхцчшщ]{1,4}'
      '|[Aa](?:ve?|l|pprox)|[Cc]a|[Mm](?:in|ax)|[Ee](?:tc|x|vtl)|[Uu]sw|[Ii](?:nc|ncl|nkl)|[Рр]уб'
      '|[Тт]ыс|[Мм]ин|[Оо](?:бл|к)')) then true
  when goes_on.after ~ '^(?:[a-zß-öø-ÿğışа-џ]|(?:Januar|Februar|März|April|Mai|Juni|Juli|August'
    '|September|Oktober|November|Dezember)\M)'
    and goes_on.before ~ '(?:^|\D)[0-9]{1,2}\.[ \t]*\n?[ \t]*$' then true
  else ragdb_internal.ends_in(earlier || before, 'Dra?|Prof|Mrs?|Ms|St|[Ee]\. ?g|[Ii]\. ?e'
    '|[Zz](?:\. ?B)?|[Dd]\. ?h|[Pp]\. ?ej|[Тт]\. ?е|[Уу]л'
    '|M(?:M|me|lle)?|Sr(?:a|es|ta)?|Avda?|Uds?|Sn|Doç|Δρ|κ(?:α|κ)?|[دأ]|डॉ|प्रो') end;

-- Returns a pattern of the parts of a text that marks or lines end. White space follows a mark, but
-- for those of Chinese, Japanese and Hindi. In a Greek text a semicolon asks. French has a space
-- before the quotation mark that closes. What Japanese quotes goes on behind the quote. A line of
-- capitals alone above an indented one is a heading, as in a manual page.
create or replace function ragdb_internal.sentence_pattern(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  pg_catalog.replace(pg_catalog.replace(
  '((?:[^EW\n]|[E](?![SC])|[E]Q+(?![SC])|[W]+[C]+(?=[とっ、，])'
  '|\n(?!\s*\n| *(?:[-*+] |[0-9]{1,3}[.)] |[#|]|```))H)*'
  '(?:[E]Q*[S]*|[W]+[C]*[S]*|\n\s*|$)'
  '|```(?:[^`]|`(?!``))*(?:```\s*|$))',
  'Q', '(?:[C]|[ \u00a0\u202f]»)'), 'C', '"''’”)\]»«」』】）》〉'), 'S', '\s\u00a0\u202f\u3000'),
  'E', case when sentence_pattern.text like '%;%'
    and pg_catalog.octet_length(sentence_pattern.text) > pg_catalog.length(sentence_pattern.text)
    and sentence_pattern.text ~ '[Ͱ-Ͽἀ-῿]{2};' then '.!?؟۔;' else '.!?؟۔' end),
  'W', '。！？।॥\u037e'), 'H', case
    when sentence_pattern.text ~ '(?:^|\n)[A-ZÀ-Þ][A-ZÀ-Þ ]{2,40}\n[ \t]'
    then '(?:(?![ \t])|(?<!(?:^|\n)[A-ZÀ-Þ][A-ZÀ-Þ ]{2,40}\n))' else '' end);

-- Returns the sentences of a text and their ranges in it, from 0. The same ends of sentences as the
-- chunker's: a mark, closing quotes and brackets, white space; but none behind an abbreviation,
-- because half a sentence tells nothing. A line of its own is a sentence too, and of Markdown a
-- heading, an item, a row of a table, and all that is fenced as code. The sign before an item is
-- none of it.
create or replace function ragdb_internal.sentences(text text)
returns table (start_offset integer, end_offset integer, sentence text)
language sql immutable parallel safe
begin atomic
  select (s.stop - pg_catalog.length(s.part) + s.lead)::integer,
    (s.stop - pg_catalog.length(s.part) + s.lead + pg_catalog.length(s.sentence))::integer,
      s.sentence
  from (
    select p.part, pg_catalog.sum(pg_catalog.length(p.part)) over (order by p.n) as stop,
      pg_catalog.length(p.part) - pg_catalog.length(t.told) as lead,
      pg_catalog.rtrim(t.told, E' \t\r\n\u00a0\u202f\u3000') as sentence, p.n
    from (
      select pg_catalog.string_agg(c.part, '' order by c.n) as part, pg_catalog.min(c.n) as n
      from (
        select b.part, b.n, pg_catalog.count(*) filter (where not ragdb_internal.goes_on(
          b.earlier, b.before, b.part)) over (order by b.n) as beginning
        from (
          select m.part[1] as part, m.n, pg_catalog.lag(m.part[1], 2, '') over w as earlier,
            pg_catalog.lag(m.part[1], 1, '') over w as before
          from pg_catalog.regexp_matches(sentences.text,
            ragdb_internal.sentence_pattern(sentences.text), 'g')
            with ordinality m (part, n)
          where m.part[1] <> ''
          window w as (order by m.n)) b) c
      group by c.beginning) p
      cross join lateral (
        select pg_catalog.regexp_replace(p.part, E'^[ \t\r\n\u3000]*(?:[-*+] +)?', '') as told) t) s
  where s.sentence <> ''
  order by s.n;
end;
