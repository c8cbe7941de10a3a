-- The sentences of a text that may answer a question.

-- Returns the sentences of a text and their ranges in it, from 0. The same ends of sentences as the
-- chunker's: a mark, closing quotes and brackets, white space. A line of its own is a sentence too,
-- and of Markdown a heading, an item, a row of a table, and all that is fenced as code. The sign
-- before an item is none of it.
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
      pg_catalog.rtrim(t.told, E' \t\r\n') as sentence, p.n
    from (
      select m.part[1] as part, m.n
      from pg_catalog.regexp_matches(sentences.text,
        '((?:[0-9]{1,3}[.)] )?'
        '(?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?![\s"''\u2019\u201d)\]])|[.!?]["''\u2019\u201d)\]]'
        '+(?!\s)|\n(?!\s*\n| *(?:[-*+] |[0-9]{1,3}[.)] |[#|]|```)))*'
        '(?:[.!?\u3002\uff01\uff1f]["''\u2019\u201d)\]]*\s*|\n\s*|$)'
        '|```(?:[^`]|`(?!``))*(?:```\s*|$))', 'g')
        with ordinality m (part, n)
      where m.part[1] <> '') p
      cross join lateral (
        select pg_catalog.regexp_replace(p.part, E'^[ \t\r\n]*(?:[-*+] +)?', '') as told) t) s
  where s.sentence <> ''
  order by s.n;
end;

-- Returns how a sentence leads to the next one: as a question, which ends in a question mark,
-- brackets and quotes behind it left out, or as a heading of Markdown; null where it does not.
create or replace function ragdb_internal.opening(sentence text) returns text
language sql immutable parallel safe
return case
  when opening.sentence ~ '[?\uff1f\u061f]["''*_)\]\u2019\u201d\u00bb]*$' then 'question'
  when opening.sentence ~ '^#{1,6}\s' then 'heading' end;

-- Tells whether a sentence is long enough to be quoted, and not code. A sentence shorter than the
-- shortest quote cannot be cited. Code tells nothing to who reads it without its lines.
create or replace function ragdb_internal.is_citable(sentence text) returns boolean
language sql immutable parallel safe
return not pg_catalog.starts_with(is_citable.sentence, '```')
  and (pg_catalog.length(is_citable.sentence) >= 64 or pg_catalog.length(pg_catalog.replace(
  (ragdb_internal.quotable(is_citable.sentence)).letters, ' ', '')) >= 8);

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

-- Returns the sentences of a text that may answer, their ranges in it, from 0, the words that each
-- is found by, of what follows questions those of these too, and the headings before it. The head
-- of a mail, a question, a heading or what ends in a colon is not an answer. What follows it is, as
-- on a page of frequent questions, and has the words of both; what is too short to be quoted is
-- quoted with its question, and left out where both are. What leads to a list, a table or code is
-- quoted with it. To cut a text reads it from its beginning, so what is cut already is taken as it
-- is.
create or replace function ragdb_internal.telling_sentences(text text)
returns table (
  start_offset integer, end_offset integer, sentence text, words text, heading text)
language sql immutable parallel safe
begin atomic
  select b.start, b.stop, t.sentence, b.words, b.heading
  from (
    select a.*, a.end_offset + coalesce(a.led, 0) as stop,
      case when a.is_citable then a.start_offset
        else pg_catalog.min(a.start_offset) filter (where a.opening is distinct from 'mail') over w
        end as start,
      pg_catalog.string_agg(a.sentence, E'\n')
        filter (where (a.opening in ('heading', 'mail')) is not true) over w as words,
      pg_catalog.string_agg(a.sentence, E'\n')
        filter (where a.opening in ('heading', 'mail')) over w as heading
    from (
      select s.*, l.led, q.opening, ragdb_internal.is_citable(s.sentence),
        pg_catalog.count(*) filter (where q.opening is null) over (
          order by s.start_offset rows between unbounded preceding and 1 preceding) as told
      from (select ragdb_internal.mail_head_length(telling_sentences.text) as length offset 0) h
        cross join ragdb_internal.sentences(telling_sentences.text) s
        cross join lateral (select case when s.sentence ~ '[:\uff1a]["''*_)\]\u2019\u201d\u00bb]*$'
          then ragdb_internal.led_length(telling_sentences.text, s.end_offset) end as led) l
        cross join lateral (select case when s.start_offset < h.length then 'mail'
          else coalesce(ragdb_internal.opening(s.sentence), case when l.led = 0 then 'lead' end)
          end as opening) q) a
    window w as (partition by a.told order by a.start_offset)) b
    cross join lateral (
      select (b.start, b.stop) = (b.start_offset, b.end_offset) as is_whole offset 0) k
    cross join lateral (
      select case when k.is_whole then b.sentence
        else pg_catalog.substr(telling_sentences.text, b.start + 1, b.stop - b.start)
        end as sentence offset 0) t
  where b.opening is null
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
