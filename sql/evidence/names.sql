-- What a question names: things, by names or by capitals, and numbers. A text that says all else of
-- what is asked, and names another thing or year, is no answer.

-- Returns what a class of a regular expression lists for letters and digits, as a question has
-- them: whole blocks of Unicode, whatever the locale of the database. All letters one by one take
-- milliseconds to make ready.
create or replace function ragdb_internal.question_letters() returns text
language sql immutable parallel safe
return 'A-Za-z0-9ªµºÀ-ÖØ-\u1fff\u3040-\ufdff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc'
  '\U00010000-\U0003ffff';

-- Returns a pattern of the names in a question: runs of words with a capital of Latin, Greek or
-- Cyrillic that do not begin a sentence, and what else a name may go on with.
create or replace function ragdb_internal.name_in_question(goes_on text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(
  '(?:[a-z0-9,)]|(?![C])[ß-ԯ])\s+([C][L-]*(?:\s+(?:(?:of|the|de|von|van)\s+)?[C][L-]*'
    || name_in_question.goes_on || ')*)',
  'L', ragdb_internal.question_letters()), '[C]', '[A-ZÀ-ÖØ-Þ'
  'ĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽ'
  'ȘȚΆ-ΏΑ-ΫЀ-ЯҐ]');

-- Returns a text without what stands before a name and what many texts leave out: a title, such as
-- Dr. and Frau, and an initial. Few questions have one, and a session keeps few patterns ready.
create or replace function ragdb_internal.without_titles(text text) returns text
language sql immutable parallel safe
return case
  when text like '% _. %' or pg_catalog.string_to_array(pg_catalog.translate(text, '.', ''), ' ')
    && '{Mr,Mrs,Ms,Mme,Mlle,Madame,Monsieur,Dr,Prof,Herr,Herrn,Frau,Sr,Sra,Señor,Señora}'
  then pg_catalog.regexp_replace(text,
    '\m(?:(?:M(?:rs?|s|me|lle|adame|onsieur)|Dr|Prof|Herrn?|Frau|Sra?|Señora?)\.?|[A-Z]\.)\s+'
    '(?=[A-ZÀ-ÖØ-Þ])', '', 'g')
  else text end;

-- Returns the pattern of a number with signs between its thousands: 12,000, 12.000 or 12 000.
create or replace function ragdb_internal.parted_thousands() returns text
language sql immutable parallel safe
return '[1-9][0-9]{0,2}(?:[.,’'' \u00a0\u202f][0-9]{3})+(?![0-9])';

-- Returns a number without the signs between its thousands.
create or replace function ragdb_internal.plain_number(number text) returns text
language sql immutable parallel safe
return case
  when number like '%_____' and number ~ ('^' || ragdb_internal.parted_thousands() || '$')
  then pg_catalog.translate(number, E'.,\'’ \u00a0\u202f', '') else number end;

-- Returns the names and numbers in a question, a line each: what begins with a capital within a
-- sentence, but one letter, months and days, and not where all but small words do; what has a
-- capital within or two, or ends in digits, as MySQL, HTTP and x200, at any place, but not where
-- all is in capitals; with a number behind them, as in Windows 11; and numbers of two digits or
-- more, but 03 in a date and '24. In German, where each noun has a capital, only runs of such words
-- that do not stand behind a number, as in 30 Tage Urlaub, nor around von, as in Art von Messungen,
-- and no noun behind a hyphen, as in VPN-Zugang. In small letters, because a capital within parts a
-- word, and without hyphens, because what they join is a word; PDFs are PDF.
create or replace function ragdb_internal.names_in(question text, config text) returns text
language sql immutable parallel safe
return (
  select pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
      pg_catalog.regexp_replace(coalesce(pg_catalog.string_agg(m.name, E'\n'), ''),
        '(?<=[A-Z]{2})s(?![A-Za-z0-9])', '', 'g'),
      '(?<=[[:alpha:]])-(?=[[:alpha:]])', ' ', 'g'), '(?<=[[:alnum:]])-(?=[[:alnum:]])', '', 'g')
    collate "C")
  from (select ragdb_internal.without_titles(names_in.question) as question offset 0) q
    cross join lateral (
      select r[1] as name
      from pg_catalog.regexp_matches(case config
        when 'german' then pg_catalog.regexp_replace(
          pg_catalog.replace(q.question, ' von ', ', '), '(?<=[0-9])\s', ' - ', 'g')
        else q.question end, ragdb_internal.name_in_question('|\s+[0-9][0-9A-Za-z.-]*'), 'g') r
      where (config <> 'german' or r[1] ~ '\s')
        and r[1] !~ ('^(?:.$|(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?'
          '|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?'
          '|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\M)')
        and q.question ~ ('(?<![A-Za-zÀ-ӿ])(?!(?:an?|the|of|in|on|at|to|for|by|and|or|with|from)\M)'
          '[a-zß-ԯ]')
      union all
      select case config when 'german'
        then pg_catalog.regexp_replace(r[1], '(?:-[A-ZÄÖÜ][a-zäöüß]+)+$', '') else r[1] end
      from pg_catalog.regexp_matches(q.question,
        '(?<![A-Za-z0-9À-ɏ])((?:[A-Za-z0-9À-ɏ.-]*[a-zß-ɏ][A-Z]|[A-Z0-9.-]*[A-Z]{2}'
        '|[A-Za-z]+[0-9])[A-Za-z0-9À-ɏ.-]*(?:\s+[0-9][0-9A-Za-z.-]*)?)', 'g') r
      where q.question <> pg_catalog.upper(q.question collate "C")
      union all
      select ragdb_internal.plain_number(r[1])
      from pg_catalog.regexp_matches(q.question, '(?<![[:alnum:].,]|[[:alpha:]]-)('
        -- a longer pattern takes longer to make ready
        || case when pg_catalog.translate(
            q.question, E'123456789,.\'’\u00a0\u202f', '000000000      ') like '%0 000%'
          then ragdb_internal.parted_thousands() || '|' else '' end
        || '[0-9]{2}(?:[.,]?[0-9])+|(?<![’''])[1-9][0-9]|[0-9][.,][0-9]+)'
          '(?![[:alnum:]]|[.,][0-9])', 'g') r
      where pg_catalog.translate(q.question, '0123456789', '') <> q.question) m);

-- Returns the pattern of what stands before a word within a sentence: another in small letters.
create or replace function ragdb_internal.within_sentence() returns text
language sql immutable parallel safe
return E'(?<![^[:space:](])[a-z][a-z-]*,?[ \\n]+';

-- Tells whether texts write a word in small letters as a name, as Uvicorn: within sentences more
-- than once with a capital, alone and in no longer name, and no less often than in small letters.
-- To look for a word is dear, and few words have a capital anywhere.
create or replace function ragdb_internal.is_written_as_name(word text, texts text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := ragdb_internal.within_sentence();
  v_first constant text := upper(left(word, 1) collate "C") || substr(word, 2);
  v_all constant text := upper(word collate "C");
  v_capital integer;
begin
  if strpos(texts, ' ' || v_first) = 0 and strpos(texts, ' ' || v_all) = 0 then
    return false;
  end if;
  v_capital := regexp_count(texts, v_before || '(?:' || v_first || '|' || v_all
    || E')(?![[:alnum:]_-]|[ \\n]+(?:[A-Z]|of[ \\n]))');
  return v_capital > 1 and v_capital >= regexp_count(
    texts, v_before || word || '(?![[:alnum:]_-])');
end $$;

-- Returns the words that what is asked has in small letters and that its evidence writes as names,
-- and what it is about; null for none, and in German, where each noun has a capital.
create or replace function ragdb_internal.written_as_names(
  asked text, evidence jsonb, config text)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_subject constant text := ragdb_internal.bare_subject(asked, config);
  v_texts constant text := (
    select string_agg(c.chunk ->> 'text', E'\n')
    from jsonb_array_elements(evidence -> 'chunks') c (chunk) where config <> 'german');
begin
  return (
    select string_agg(q.word, ' ')
    from string_to_table(translate(asked, '?,;:!()"', ''), ' ') q (word)
    where q.word ~ '^[a-z][a-z0-9]{2,}$' and (q.word = v_subject
      or ragdb_internal.is_written_as_name(q.word, v_texts)));
end $$;

-- Returns lexemes without the parts of numbers with points among them: what has 2 and 4 need not
-- speak of 2.4.
create or replace function ragdb_internal.without_parts(lexemes text[]) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when array_to_string(lexemes, ' ') !~ '[0-9][.][0-9]' then lexemes else array(
    select l.lexeme
    from unnest(lexemes) with ordinality l (lexeme, n)
    where l.lexeme !~ '^[0-9]+$' or not exists (
      select from unnest(lexemes) d
      where strpos(d, '.') > 0 and l.lexeme = any (string_to_array(d, '.')))
    order by l.n) end;
end $$;

-- Returns the lexemes of the names and numbers in what is asked, as evidence writes them too.
create or replace function ragdb_internal.names_asked(asked text, evidence jsonb, config text)
returns text[]
language sql immutable parallel safe
return ragdb_internal.without_parts(pg_catalog.tsvector_to_array(
  ragdb_internal.lexemes(pg_catalog.concat_ws(' ', ragdb_internal.names_in(asked, config),
    ragdb_internal.written_as_names(asked, evidence, config)), config)));

-- Returns the lexemes of names in what is asked that are names of folders too that evidence lies
-- in: what lies in one speaks of that. In small letters what no sentence has as a word counts.
create or replace function ragdb_internal.named_folders(asked text, evidence jsonb, config text)
returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_folders constant text[] := (
    select array_agg(distinct f.folder)
    from jsonb_array_elements(evidence -> 'chunks') c (chunk)
      cross join lateral string_to_table(lower(translate(regexp_replace(
        c.chunk ->> 'source_id', '[^/]*$', ''), '_.#-', '////') collate "C"), '/') f (folder)
    where f.folder ~ '^[a-z][a-z0-9]{2,}$');
  v_names text;
begin
  v_names := (
    select string_agg(q.word, ' ')
    from string_to_table(translate(asked, '?,;:!()"', ''), ' ') with ordinality q (word, n)
    where lower(q.word collate "C") = any (v_folders)
      and (q.n > 1 and q.word <> lower(q.word collate "C") or not exists (
        select from jsonb_array_elements(evidence -> 'chunks') c (chunk)
        where c.chunk ->> 'text' ~ (ragdb_internal.within_sentence()
          || lower(q.word collate "C") || '(?![[:alnum:]_-])'))));
  return case when v_names is null then '{}' else tsvector_to_array(
    ragdb_internal.lexemes(lower(v_names collate "C"), config)) end;
end $$;

-- Returns those names of a question, beside numbers alone, of which a corpus (null: none) has each
-- word, and the last of them where what it asks calls something "it". What else the corpus lacks is
-- told of whoever asks, as in "We use Windows 11. How do I reset my password?".
create or replace function ragdb_internal.told_names(
  corpus ragdb.corpora, asked text, asking text, config text)
returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(t.name, ' ')
  from (
    select n.name, pg_catalog.lead(n.name) over (order by n.n) is null as is_last
    from pg_catalog.string_to_table(ragdb_internal.names_in(
      told_names.asked, told_names.config), E'\n') with ordinality n (name, n)
    where n.name ~ '[^0-9.,]') t
  where t.is_last and told_names.asking
      -- where a blank follows one more, "take" is left out
      ~ ('\m(?:it\M(?!\s(?:\s|possible|ok|mean))'
        '|(?:its|they|them|their|he|she|him|his|er|ihn|ihm)\M)')
    or ragdb_internal.lacking(ragdb_internal.whole_of(told_names.corpus),
      ragdb_internal.lexemes(t.name, told_names.config)) = '{}');

-- Returns what a text that answers a question has to name: the lexemes of the names and numbers in
-- it (without what asks), but those that more than a sixth of the chunks of the corpus have, and
-- more than four: such a name is what the corpus is about, and few of its texts repeat it. Beside
-- sentences that ask (null: all do), what others tell counts where the corpus has it.
create or replace function ragdb_internal.named_lexemes(
  corpus ragdb.corpora, asked text, asking text, evidence jsonb, config text)
returns text[]
language sql stable parallel safe
return (
  select case when named.words = '' then '{}' else ragdb_internal.without_parts(array(
    select t.lexeme
    from (select ragdb_internal.whole_of(named_lexemes.corpus) as whole offset 0) w
      cross join lateral ragdb_internal.term_facts(
        named_lexemes.corpus, w.whole, named.words) t
    where coalesce(t.common_df <= greatest(4, (w.whole).chunks / 6.0), true)
    order by t.lexeme collate "C")) end
  from (
    select ragdb_internal.lexemes(pg_catalog.concat_ws(' ',
        ragdb_internal.names_in(s.asking, config),
        ragdb_internal.written_as_names(s.asking, named_lexemes.evidence, config),
        case when named_lexemes.asking is not null then ragdb_internal.told_names(
          named_lexemes.corpus, named_lexemes.asked, s.asking, config) end), config) as words
    from (select coalesce(named_lexemes.asking, named_lexemes.asked) as asking) s offset 0) named);

-- Returns the share of what a question names, by weight, that a text has to name to answer it: two
-- thirds, because one of three may be said otherwise (python -m bench.evidence.named); a third
-- where things are compared, of each of which another text may speak.
create or replace function ragdb_internal.least_named(question text) returns float8
language sql immutable parallel safe
return case when pg_catalog.lower(question collate "C")
    ~ ('\m(?:or|versus|vs|than|compared?|differ(?:ent|s|ence|ences)?|between|both|oder|als'
      '|vergl(?:ichen|eiche)|unterschied\S*|zwischen|ou|entre|o|или|чем|между)\M')
  then 0.3 else 0.66 end;
