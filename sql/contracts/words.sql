-- The words of a contract's lines: keys with their values, and what is wrong with them.

-- A word of a line: its key and value, bare or in quotes, with the column of the first quote.
-- Without a key it is bare, and the quoted text that it begins comes with it. One is glued where a
-- space is missing before it.
create type ragdb_internal.contract_word as (
  line integer, "column" integer, key text, bare text, quoted text, quote_column integer,
  is_glued boolean);

-- Returns the words of the lines of a contract; comments only where a space is missing before them.
-- Words tile the line, each with the blanks before it, so that their lengths say where they stand;
-- what stands at a place does not depend on what follows the word, so a line is read once, however
-- long it is. A word is a comment to the end of the line, or key=value with the value quoted, bare
-- or missing, or anything else up to a blank, or to the end of what it quotes. A quoted text ends
-- with its quote or with the line. What is cut out of a word is cut once, hence "materialized".
create or replace function ragdb_internal.contract_words(lines ragdb_internal.contract_line[])
  returns setof ragdb_internal.contract_word
language sql immutable parallel safe
begin atomic
  with parts as (
    select l.line, t.n, t.part[1] as part, pg_catalog.ltrim(t.part[1], E' \t') as word,
      (l.indent + pg_catalog.length(l.node) + 1 + pg_catalog.sum(pg_catalog.length(t.part[1]))
        over (partition by l.line order by t.n rows unbounded preceding))::integer as stop
    from pg_catalog.unnest(lines) l
      cross join lateral pg_catalog.regexp_matches(l.rest, '[ \t]*(?:#.*'
        '|[A-Za-z_][A-Za-z0-9_-]*=(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^ \t"][^ \t]*)?'
        '|(?:[^A-Za-z_# \t"][^ \t"]*|[A-Za-z_][A-Za-z0-9_-]*(?:[^A-Za-z0-9_= \t"-][^ \t"]*)?)?'
        '(?:"(?:[^"\\]|\\.)*(?:"|\\?$))?)', 'g') with ordinality t (part, n)
    where l.node is not null and l.depth is not null
  ), named as materialized (
    select p.line, p.stop - pg_catalog.length(p.word) as place, p.word,
      pg_catalog.substring(p.word, '^([A-Za-z_][A-Za-z0-9_-]*)=') as key,
      p.n > 1 and p.word = p.part as is_glued
    from parts p where p.word <> ''
  ), valued as materialized (
    select n.*, v.value,
      case when pg_catalog.left(n.word, 1) = '#' then 0
        when n.key is null then pg_catalog.strpos(n.word, '"')
        when pg_catalog.left(v.value, 1) = '"' then 1 else 0 end as quote
    from named n
      cross join lateral (
        select pg_catalog.substr(n.word, coalesce(pg_catalog.length(n.key) + 2, 1))) v (value)
    where n.is_glued or pg_catalog.left(n.word, 1) <> '#'
  )
  select v.line, v.place, v.key, case when v.key is null or v.quote = 0 then v.value end,
    case when v.quote > 0 then pg_catalog.substr(v.value, v.quote) end,
    v.place + coalesce(pg_catalog.length(v.key) + 1, 0) + v.quote - 1, v.is_glued
  from valued v
  order by v.line, v.place;
end;

-- Returns the value of a word without problems as JSON. What is quoted is JSON already, but for its
-- tabs.
create or replace function ragdb_internal.word_json(word ragdb_internal.contract_word)
  returns text
language sql stable parallel safe
return case when (word).quoted is null then ragdb_internal.bare_json((word).bare)
  else pg_catalog.replace((word).quoted, E'\t', '\t') end;

-- Returns the words that are not key=value, the first 1000. What a message shows of a word that
-- quotes something goes to the next blank, so it is looked up in its line; the first thousand are
-- enough.
create or replace function ragdb_internal.problems_of_pairs(lines ragdb_internal.contract_line[],
  words ragdb_internal.contract_word[])
returns setof ragdb_internal.syntax_problem
language sql immutable parallel safe
set enable_nestloop = off
begin atomic
  with wrong as materialized (
    select w.* from pg_catalog.unnest(words) w
    where w.key is null and pg_catalog.left(w.bare, 1) <> '#'
    order by w.line, w."column" limit 1000
  ), shown as (
    select w.line, w."column", case when w.quoted is null then w.bare
        else pg_catalog.substring(pg_catalog.substr(l.rest,
          w."column" - l.indent - pg_catalog.length(l.node), 41), '^[^ \t]*') end as word
    from wrong w join pg_catalog.unnest(lines) l on l.line = w.line
  )
  select s.line, s."column", 'not-a-pair', array[pg_catalog.to_jsonb(
    case when pg_catalog.length(s.word) > 40 then pg_catalog.left(s.word, 39) || '…'
      else s.word end)::text]
  from shown s
  order by s.line, s."column";
end;

-- Returns the words that a space is missing before, and the keys that a line has already.
create or replace function ragdb_internal.problems_of_keys(words ragdb_internal.contract_word[])
  returns setof ragdb_internal.syntax_problem
language sql immutable parallel safe
begin atomic
  select w.line, w."column", 'space-missing', '{}'::text[]
  from pg_catalog.unnest(words) w where w.is_glued
  union all
  select k.line, k."column", 'key-twice', array[k.key, k.first_column::text]
  from (
    select w.line, w."column", w.key,
      pg_catalog.min(w."column") over (partition by w.line, w.key) as first_column
    from pg_catalog.unnest(words) w where w.key is not null) k
  where k."column" > k.first_column;
end;

-- Returns what is wrong with the values of words.
create or replace function ragdb_internal.problems_of_values(words ragdb_internal.contract_word[])
  returns setof ragdb_internal.syntax_problem
language sql immutable parallel safe
begin atomic
  select w.line,
    w."column" + pg_catalog.length(w.key) + greatest(pg_catalog.strpos(w.bare, '"'), 1),
    case when w.bare = '' then 'value-missing' else 'quote-inside' end, '{}'::text[]
  from pg_catalog.unnest(words) w
  where w.key is not null and (w.bare = '' or pg_catalog.strpos(w.bare, '"') > 0)
  union all
  select w.line, w.quote_column + p.place, p.words, '{}'
  from pg_catalog.unnest(words) w
    cross join lateral ragdb_internal.problems_of_quoted(w.quoted) p
  where w.quoted is not null
    and (pg_catalog.strpos(w.quoted, '\') > 0 or ragdb_internal.is_open(w.quoted));
end;
