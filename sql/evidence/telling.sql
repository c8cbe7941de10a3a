-- What each sentence of a text is beside what it says, and which of them may answer a question.

-- Returns how a sentence leads to the next one: as a question, which ends in a question mark,
-- brackets and quotes behind it left out, or as a heading of Markdown, also a line with a rule
-- below it or around it, or of capitals alone; null where it does not.
create or replace function ragdb_internal.opening(sentence text) returns text
language sql immutable parallel safe
return case
  when opening.sentence
    ~ '(?:[?？؟\u037e]|[Ͱ-Ͽἀ-῿]{2};)(?:["''*_)\]’”»」』）]|[ \u00a0\u202f]»)*$' then 'question'
  when opening.sentence ~ '^(?:#{1,6}\s|[A-ZÀ-Þ][A-ZÀ-Þ ]{2,40}$)' then 'heading'
  when pg_catalog.right(opening.sentence, 3) in ('---', '===', '~~~', '^^^')
    and opening.sentence ~ '^(?:[=~^-]{3,}\n)?[^\n]*[[:alnum:]][^\n]*\n[=~^-]{3,}$'
    -- a title may say what something is
    and opening.sentence !~ '[[:alnum:]] [–—-] [[:alnum:]]'
  then 'heading' end;

-- Returns a sentence without what a page shows no words of: tags, marks of templates, such as {{ x
-- }}, pictures, where a link leads that stands elsewhere, as [x]: ch01.html "Its title", and what
-- links lead to, as (x)=.
create or replace function ragdb_internal.without_tags(sentence text) returns text
language sql immutable parallel safe
return case
  when pg_catalog.right(without_tags.sentence, 2) = ')='
    and without_tags.sentence ~ '^(?:\([^()\s]+\)=\s*)+$' then ''
  when pg_catalog.translate(without_tags.sentence, '<{![', '') = without_tags.sentence
  then without_tags.sentence
  -- apart, because what has branches takes the longest, up to the last mark of several
  else pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    without_tags.sentence, '\{\{.*?\}\}', '', 'g'), '\{[%*].*?[%*]\}', '', 'g'),
    '<[^<>]*>|!\[[^][]*\]\([^()\s]*\)|^\[[^][]+\]:\s+\S+(?:\s+(?:\([^()]*\)|"[^"]*"))?',
    '', 'g') end;

-- Tells whether a sentence is long enough to be quoted, and not code. A sentence shorter than the
-- shortest quote cannot be cited. Code tells nothing to who reads it without its lines. What has as
-- many letters of the most frequent scripts is long enough: to count what a quote has takes long.
create or replace function ragdb_internal.is_citable(sentence text) returns boolean
language sql immutable parallel safe
return not pg_catalog.starts_with(is_citable.sentence, '```')
  and (pg_catalog.length(ragdb_internal.without_tags(is_citable.sentence)) >= 64
    or pg_catalog.length(pg_catalog.regexp_replace(
      ragdb_internal.without_tags(is_citable.sentence),
      '[^!-~À-ʯΑ-ωЀ-ҁҊ-ԯ\u3400-\u9fff\uac00-\ud7a3]+', '', 'g')) >= 8
    or ragdb_internal.quoted_letters(ragdb_internal.without_tags(is_citable.sentence)) >= 8);

-- Returns how long the list, the table or the code is that follows a place of a text, with the line
-- ends before it, at most 1000; 0 where none follows. A list of bullets or of numbers, rows of a
-- table, code, or a line that shows some. What is long is cut after a line.
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
      ('(?:<|\{[{%*]|!\[)[^\n]*(?:>|[}%*]\}|\))(?=[ \t]*(?:\n|$))'),
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

-- Tells whether a heading has a version, as in release notes.
create or replace function ragdb_internal.has_version(heading text) returns boolean
language sql immutable parallel safe
return has_version.heading ~ '[0-9][.][0-9]';

-- Returns the sentences of a text, their ranges in it, from 0, how long what each leads to is, or
-- the sentence that takes it back, what each is beside what it says, and the number of tables up to
-- it, and of headings of the first two levels or with a version. What is too short to be quoted is
-- short where it begins an answer, such as Yes. A comment of HTML goes to the sentence that ends
-- it: no page shows it, so whoever reads the page cannot know what an answer quotes.
create or replace function ragdb_internal.sentences_by_role(text text)
returns table (start_offset integer, end_offset integer, sentence text, led integer,
  is_citable boolean, role text, tables bigint, sections bigint)
language sql immutable parallel safe
begin atomic
  select n.start_offset, n.end_offset, n.sentence, n.led, n.is_citable,
    case when n.role is null and not n.is_citable and n.next_start = n.end_offset + 1
      and pg_catalog.lag(n.role) over v = 'question' and pg_catalog.lead(n.role) over v is null
      then 'short' else n.role end,
    pg_catalog.count(*) filter (where n.role = 'table' and n.sentence ~ '[^-:| \t]') over v,
    pg_catalog.count(*) filter (where n.role = 'heading'
      and (n.sentence ~ '^##?\s' or ragdb_internal.has_version(n.sentence))) over v
  from (
    select l.*, ragdb_internal.is_citable(l.sentence), case
      when (pg_catalog.starts_with(l.sentence, '<!--') or l.opened > coalesce(l.closed, -1))
        and l.sentence !~ '-->\s*\S' then 'comment'
      else ragdb_internal.role_of(sentences_by_role.text, l.mail_length, l.start_offset,
        l.sentence, l.next, l.led) end as role
    from (
      select s.*, h.length as mail_length,
        pg_catalog.max(s.start_offset) filter (
          where pg_catalog.starts_with(s.sentence, '<!--')) over b as opened,
        pg_catalog.max(s.start_offset) filter (
          where pg_catalog.strpos(s.sentence, '-->') > 0) over b as closed,
        pg_catalog.lead(s.sentence) over v as next,
        pg_catalog.lead(s.start_offset) over v as next_start,
        case when s.sentence ~ '[:\uff1a]["''*_)\]\u2019\u201d\u00bb]*$' then
            ragdb_internal.led_length(sentences_by_role.text, s.end_offset)
          when pg_catalog.lead(s.start_offset) over v = s.end_offset + 1
            and ragdb_internal.takes_back(pg_catalog.lead(s.sentence) over v) then
            pg_catalog.lead(s.end_offset) over v - s.end_offset end as led
      from (select ragdb_internal.mail_head_length(sentences_by_role.text) as length offset 0) h
        cross join ragdb_internal.sentences(sentences_by_role.text) s
      window v as (order by s.start_offset),
        b as (order by s.start_offset rows between unbounded preceding and 1 preceding)) l
    offset 0) n
  window v as (order by n.start_offset);
end;

-- Returns the sentences of a text that may answer, their ranges in it, from 0, the words that each
-- is found by, of what follows questions those of these too, and the headings before it, of a row
-- the head of its table, and a heading with a version that is over it, as in release notes. The
-- head of a mail, a question, a heading or what ends in a colon is no answer. What follows it is,
-- as on a page of frequent questions, and has the words of both. What is too short to be quoted is
-- quoted with the sentence behind it, else with its question, and left out where both are too
-- short. What leads to a list, a table or code is quoted with it, and so is what the next sentence
-- takes back. To cut a text reads it from its beginning, so what is cut already is taken as it is.
create or replace function ragdb_internal.telling_sentences(text text)
returns table (
  start_offset integer, end_offset integer, sentence text, words text, heading text)
language sql immutable parallel safe
begin atomic
  select b.start, b.stop, t.sentence, b.words, nullif(b.heading, '')
  from (
    select a.*, a.end_offset + coalesce(a.led, 0) as stop,
      pg_catalog.bool_or(a.role = 'question') over w as answers,
      case when a.is_citable then coalesce(pg_catalog.min(a.start_offset)
          filter (where a.role = 'short') over w, a.start_offset)
        else pg_catalog.min(a.start_offset)
          filter (where (a.role in ('mail', 'comment')) is not true) over w end as start,
      pg_catalog.string_agg(a.sentence, E'\n') filter (
        where (a.role in ('comment', 'heading', 'mail', 'table')) is not true) over w as words,
      pg_catalog.concat_ws(E'\n',
        pg_catalog.min(a.sentence) filter (
          where a.role = 'heading' and ragdb_internal.has_version(a.sentence))
          over (partition by a.sections),
        coalesce(pg_catalog.string_agg(a.sentence, E'\n')
            filter (where a.role in ('heading', 'mail', 'table')) over w,
          case when pg_catalog.starts_with(a.sentence, '|')
            then pg_catalog.string_agg(a.sentence, E'\n')
              filter (where a.role = 'table') over (partition by a.tables) end)) as heading
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
    -- code answers a question, but not a heading
    and (b.is_citable or b.answers
      or pg_catalog.btrim(ragdb_internal.without_tags(b.sentence)) !~ '^(?:```|$)')
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
