-- The sentences of a text that may answer a question.

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
-- before the quotation mark that closes. What Japanese quotes goes on behind the quote.
create or replace function ragdb_internal.sentence_pattern(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  pg_catalog.replace(
  '((?:[^EW\n]|[E](?![SC])|[E]Q+(?![SC])|[W]+[C]+(?=[とっ、，])'
  '|\n(?!\s*\n| *(?:[-*+] |[0-9]{1,3}[.)] |[#|]|```)))*'
  '(?:[E]Q*[S]*|[W]+[C]*[S]*|\n\s*|$)'
  '|```(?:[^`]|`(?!``))*(?:```\s*|$))',
  'Q', '(?:[C]|[ \u00a0\u202f]»)'), 'C', '"''’”)\]»«」』】）》〉'), 'S', '\s\u00a0\u202f\u3000'),
  'E', case when sentence_pattern.text like '%;%'
    and sentence_pattern.text ~ '[Ͱ-Ͽἀ-῿]{2};' then '.!?؟۔;' else '.!?؟۔' end),
  'W', '。！？।॥\u037e');

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

-- Returns how a sentence leads to the next one: as a question, which ends in a question mark,
-- brackets and quotes behind it left out, or as a heading of Markdown; null where it does not.
create or replace function ragdb_internal.opening(sentence text) returns text
language sql immutable parallel safe
return case
  when opening.sentence
    ~ '(?:[?？؟\u037e]|[Ͱ-Ͽἀ-῿]{2};)(?:["''*_)\]’”»」』）]|[ \u00a0\u202f]»)*$' then 'question'
  when opening.sentence ~ '^#{1,6}\s' then 'heading' end;

-- Returns a sentence without what a page shows no words of: tags, marks of templates, such as {{ x
-- }}, pictures, and where a link leads that stands elsewhere, as [x]: ch01.html.
create or replace function ragdb_internal.without_tags(sentence text) returns text
language sql immutable parallel safe
return case when pg_catalog.translate(without_tags.sentence, '<{![', '') = without_tags.sentence
  then without_tags.sentence
  else pg_catalog.regexp_replace(without_tags.sentence,
    '<[^<>]*>|\{\{.*?\}\}|\{[%*].*?[%*]\}|!\[[^][]*\]\([^()\s]*\)|^\[[^][]+\]:\s+\S+', '', 'g') end;

-- Tells whether a sentence is long enough to be quoted, and not code. A sentence shorter than the
-- shortest quote cannot be cited. Code tells nothing to who reads it without its lines.
create or replace function ragdb_internal.is_citable(sentence text) returns boolean
language sql immutable parallel safe
return not pg_catalog.starts_with(is_citable.sentence, '```')
  and (pg_catalog.length(ragdb_internal.without_tags(is_citable.sentence)) >= 64
    or ragdb_internal.quoted_letters(ragdb_internal.without_tags(is_citable.sentence)) >= 8);

-- Returns how long the list, the table or the code is that follows a place of a text, with the line
-- ends before it, at most 1000; 0 where none follows. A list of bullets or of numbers, rows of a
-- table, or code. What is long is cut after a line.
create or replace function ragdb_internal.led_length(text text, at integer) returns integer
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.max(pg_catalog.length(pg_catalog.substring(w.near,
      '^[ \t]*\n(?:[ \t]*\n)*' || k.kind))), 0)
  from (
    select case when pg_catalog.length(led_length.text) > led_length.at + 1000
      then pg_catalog.regexp_replace(pg_catalog.substr(led_length.text, led_length.at + 1, 1000),
        '\n[^\n]*$', '')
      else pg_catalog.substr(led_length.text, led_length.at + 1) end as near) w
    cross join (values
      ('```(?:[^`]|`(?!``))*```'),
      ('\|[^\n]*(?:\n\|[^\n]*)*'),
      ('[-*+] [^\n]*(?:\n\s*[-*+] [^\n]*|\n(?![ \t]*(?:#|\||```|\n|$))[^\n]*)*'),
      ('[0-9]{1,3}[.)] [^\n]*'
        '(?:\n\s*[0-9]{1,3}[.)] [^\n]*|\n(?![ \t]*(?:#|\||```|\n|$))[^\n]*)*')) k (kind));

-- Returns how long the lines are that a text begins with as an e-mail does, who wrote to whom, when
-- and of what; 0 where it does not begin with two.
create or replace function ragdb_internal.mail_head_length(text text) returns integer
language sql immutable parallel safe
return coalesce(pg_catalog.length(pg_catalog.substring(mail_head_length.text,
  '^(?:(?:From|To|Cc|Date|Subject): [^\n]*(?:\n|$)){2,}')), 0);

-- Returns what a sentence of a text is beside what it says: the head of a mail (so long), a
-- question, a heading, also a line in bold, the head of a table or the rule below it, or what leads
-- to no list (led is 0); null for most. Bold behind the sign of an item is a term of a list.
create or replace function ragdb_internal.role_of(
  text text, mail_length integer, start_offset integer, sentence text, next text, led integer)
returns text
language sql immutable parallel safe
return case
  when role_of.start_offset < role_of.mail_length then 'mail'
  when pg_catalog.starts_with(role_of.sentence, '|') and (role_of.next ~ '^\|[-:| \t]+$'
    or role_of.sentence ~ '^\|[-:| \t]+$') then 'table'
  when pg_catalog.starts_with(role_of.sentence, '**')
    and role_of.sentence ~ '^\*\*[^*\n]*[^*.!?:\s]\*\*$' and pg_catalog.substr(
      role_of.text, role_of.start_offset, 1) in ('', E'\n') then 'heading'
  else coalesce(ragdb_internal.opening(role_of.sentence),
    case when role_of.led = 0 then 'lead' end) end;

-- Returns the sentences of a text, their ranges in it, from 0, how long what each leads to is, what
-- each is beside what it says, and the number of tables up to it. What is too short to be quoted is
-- short where it begins an answer, such as Yes.
create or replace function ragdb_internal.sentences_by_role(text text)
returns table (start_offset integer, end_offset integer, sentence text, led integer,
  is_citable boolean, role text, tables bigint)
language sql immutable parallel safe
begin atomic
  select n.start_offset, n.end_offset, n.sentence, n.led, n.is_citable,
    case when n.role is null and not n.is_citable and n.next_start = n.end_offset + 1
      and pg_catalog.lag(n.role) over v = 'question' and pg_catalog.lead(n.role) over v is null
      then 'short' else n.role end,
    pg_catalog.count(*) filter (where n.role = 'table' and n.sentence ~ '[^-:| \t]') over v
  from (
    select l.*, ragdb_internal.is_citable(l.sentence), ragdb_internal.role_of(
      sentences_by_role.text, l.mail_length, l.start_offset, l.sentence, l.next, l.led) as role
    from (
      select s.*, h.length as mail_length, pg_catalog.lead(s.sentence) over v as next,
        pg_catalog.lead(s.start_offset) over v as next_start,
        case when s.sentence ~ '[:\uff1a]["''*_)\]\u2019\u201d\u00bb]*$' then
          ragdb_internal.led_length(sentences_by_role.text, s.end_offset) end as led
      from (select ragdb_internal.mail_head_length(sentences_by_role.text) as length offset 0) h
        cross join ragdb_internal.sentences(sentences_by_role.text) s
      window v as (order by s.start_offset)) l
    offset 0) n
  window v as (order by n.start_offset);
end;

-- Returns the sentences of a text that may answer, their ranges in it, from 0, the words that each
-- is found by, of what follows questions those of these too, and the headings before it, of a row
-- the head of its table. The head of a mail, a question, a heading or what ends in a colon is no
-- answer. What follows it is, as on a page of frequent questions, and has the words of both. What
-- is too short to be quoted is quoted with the sentence behind it, else with its question, and left
-- out where both are too short. What leads to a list, a table or code is quoted with it. To cut a
-- text reads it from its beginning, so what is cut already is taken as it is.
create or replace function ragdb_internal.telling_sentences(text text)
returns table (
  start_offset integer, end_offset integer, sentence text, words text, heading text)
language sql immutable parallel safe
begin atomic
  select b.start, b.stop, t.sentence, b.words, b.heading
  from (
    select a.*, a.end_offset + coalesce(a.led, 0) as stop,
      case when a.is_citable then coalesce(pg_catalog.min(a.start_offset)
          filter (where a.role = 'short') over w, a.start_offset)
        else pg_catalog.min(a.start_offset) filter (where a.role is distinct from 'mail') over w
        end as start,
      pg_catalog.string_agg(a.sentence, E'\n')
        filter (where (a.role in ('heading', 'mail', 'table')) is not true) over w as words,
      coalesce(pg_catalog.string_agg(a.sentence, E'\n')
          filter (where a.role in ('heading', 'mail', 'table')) over w,
        case when pg_catalog.starts_with(a.sentence, '|')
          then pg_catalog.string_agg(a.sentence, E'\n')
            filter (where a.role = 'table') over (partition by a.tables) end) as heading
    from (
      select r.*, pg_catalog.count(*) filter (where r.role is null) over (
        order by r.start_offset rows between unbounded preceding and 1 preceding) as told
      from ragdb_internal.sentences_by_role(telling_sentences.text) r) a
    window w as (partition by a.told order by a.start_offset)) b
    cross join lateral (
      select (b.start, b.stop) = (b.start_offset, b.end_offset) as is_whole offset 0) k
    cross join lateral (
      select case when k.is_whole then b.sentence
        else pg_catalog.substr(telling_sentences.text, b.start + 1, b.stop - b.start)
        end as sentence offset 0) t
  where b.role is null
    and case when k.is_whole then b.is_citable else ragdb_internal.is_citable(t.sentence) end
  order by b.start;
end;

-- Tells whether a sentence has a question of three words or more in quotation marks. Who quotes a
-- question shows what may be asked, as a manual does. A quote of one or two words is rather a name.
create or replace function ragdb_internal.quotes_question(sentence text, question text)
returns boolean
language sql immutable parallel safe
return question ~ '\S\s+\S+\s+\S' and pg_catalog.strpos(
  pg_catalog.lower(pg_catalog.translate(sentence, '“”„«»''?', '""""""') collate "C"),
  '"' || pg_catalog.lower(pg_catalog.btrim(pg_catalog.translate(question, '?', '')) collate "C")
    || '"') > 0;
