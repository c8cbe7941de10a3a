-- Who asks which version is told one: by a sentence that names it, or together with the heading of
-- release notes that a line stands under.

-- Returns the names near the beginning of a text with a number behind them, as Python 3.9 and
-- version 16, in small letters, but where others are meant too, as in Python 3.9 or later and
-- Python 3.9 to 3.12. A text of thousands would be compared with one of thousands.
create or replace function ragdb_internal.numbered_names(text text)
returns table (name text, number text)
language sql immutable parallel safe
begin atomic
  select distinct pg_catalog.lower(m[1] collate "C"), m[2]
  from pg_catalog.regexp_matches(pg_catalog.left(numbered_names.text, 2000),
    E'(?<!(?:[Ss]ince|[Aa]s of|[Ff]rom|[Ll]east|[Mm]inimum|[Tt]han|[Aa]fter|[Bb]efore|[Uu]ntil|>=?'
    '|≥|to) ?)(?<![A-Za-z])(?!(?:The|An?|All|These|Those|About|Over|Of|And|Or|For|With|By) )'
    '([A-Z][A-Za-z+#-]*|version|release) v?([0-9]+(?:[.][0-9]+)*)'
    '(?![0-9A-Za-z%+*]|[.,:/-][0-9A-Za-z]| ?(?:to|through|until|–|-) ?v?[0-9]|,? (?:or|and) '
    '(?:later|above|newer|higher|up|greater|onward|earlier|below|older|lower))', 'g') m;
end;

-- Tells whether a question asks which version something is so in, or which the first or the least
-- is: "Which version dropped it?", "What is the minimum MySQL version?", and the like in German,
-- French and Spanish. What has an article before its name is a book rather than a program, but
-- where it adds or needs something.
create or replace function ragdb_internal.asks_version(question text, config text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  -- most questions have no such word, and a session keeps few patterns ready
  return question ~* 'versi|release'
    and ragdb_internal.asked_for(question) ~* (E'^\\W*(?:' || case config
    when 'english' then E'(?:(?:in|on|since|from|until|as of|before|after|with)\\s+)?(?:which|what)'
      '(?:(?:’s|''s|\\s+(?:is|was|are|were))\\s+the)?\\s+(?:(?!(?:is|are|was|were|do|does|did|has'
      '|have|can|should|will|must|an?|the|in|of|with|to|for|from|on|kind|type|other|uses?)\\s)'
      '[^\\s?]+\\s+){0,2}(?:versions?|releases?)(?![^\\s?]|\\s+(?:control|managers?|notes|cycle'
      '|schedule|candidate|policy|files?|of\\s+(?:the|an?|this|that|his|her|its|their)\\s'
      '(?!.*\\m(?:add|drop|remov|introduc|support|need|requir|fix|deprecat))))'
    when 'german' then E'(?:(?:ab|seit|in|mit|bis|vor|nach|von|für)\\s+)?welche[nmrs]?\\s+'
      '(?:[^\\s?]+[\\s-])?version(?:en)?(?![^\\s?])'
    when 'french' then E'(?:(?:à partir de|depuis|dans|avec|de|pour|jusqu[’'']à)\\s+)?'
      'quelles?\\s+versions?(?![^\\s?])'
    when 'spanish' then E'(?:(?:a partir de|desde|en|con|de|para|hasta)\\s+)?qu[ée]\\s+'
      'versi(?:ón|on|ones)(?![^\\s?])'
    else '(?!)' end || ')');
end $$;

-- Returns what a question asks the version of, as FastAPI in "Which FastAPI version dropped Python
-- 3.9?"; null where it does not say.
create or replace function ragdb_internal.version_owner(question text) returns text
language sql immutable parallel safe
return coalesce(
  pg_catalog.substring(
    question, '(?<=\s)([A-Z][A-Za-z+#-]*|[a-z]+-[a-z-]+)[ -](?:[Vv]ersi|release)'),
  pg_catalog.substring(question, '(?:[Vv]ersi[a-zó]+|releases?) (?:of|von|de) ([A-Za-z+#-]+)'));

-- Returns the words before which a number with a point says how much there is, in small letters.
create or replace function ragdb_internal.unit_words() returns text[]
language sql immutable parallel safe
return '{%,°,×,€,$,£,x,ms,s,min,h,b,kb,mb,gb,tb,kib,mib,gib,tib,byte,bytes,hz,khz,mhz,ghz,g,kg,mg,m,
  km,cm,mm,times,mal,fois,veces,percent,prozent,second,seconds,sekunde,sekunden,secondes,segundos,
  milliseconds,millisekunden,minutes,minuten,minutos,hours,stunden,heures,horas,days,tage,tagen,
  jours,días,years,jahre,jahren,ans,años,metres,meters,meter,metern,mètres,metros,kilometres,
  kilometers,kilometer,kilomètres,kilómetros,grams,gramm,kilograms,kilogramm,million,millions,
  billion,billions,millionen,milliarden,milliards,millones,euro,euros,dollars}'::text[];

-- Returns a pattern of the numbers with a point in a sentence that are no versions: dates, round
-- thousands, and how much of something there is; null for none.
create or replace function ragdb_internal.other_numbers(sentence text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when sentence ~ '[0-9][.][0-9]' then (
    select string_agg(replace(m[2], '.', '[.]'), '|')
    from regexp_matches(sentence,
      E'(\\m[Vv](?:ersion )?)?([0-9]+(?:[.][0-9]+)+)\\s?([%°×€$£]|[[:alpha:]]+)?', 'g') m
    where m[1] is null and (m[2] ~ '^[0-9]{1,2}[.][0-9]{1,2}[.](?:19|20)[0-9]{2}$|^[0-9]+[.]000$'
      or lower(m[3] collate "C") = any (ragdb_internal.unit_words()))) end;
end $$;

-- Returns a sentence without the numbers that a question has, without those that are no versions,
-- and without those behind other names than that whose version it asks for: "Drop support for
-- Python 3.7, require Python 3.8" names no version of FastAPI.
create or replace function ragdb_internal.without_other_versions(sentence text, question text)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_owner constant text := replace(ragdb_internal.version_owner(question), '+', '[+]');
  v_numbers constant text := nullif(concat_ws('|', ragdb_internal.other_numbers(sentence), (
    select string_agg(replace(m[1], '.', '[.]'), '|')
    from regexp_matches(question, '([0-9]+(?:[.][0-9]+)*)', 'g') m)), '');
  v_names constant text := case
    when v_owner is null then (
      select string_agg(replace(m[1], '+', '[+]'), '|')
      from regexp_matches(question, E'(?<=\\s)([A-Z][A-Za-z+#-]*) v?[0-9]', 'g') m)
    else format('(?!(?:%s|%s|Version|Release|Since|In|From|Until|With|By|As|Of|At|To|For|New)'
      '(?![A-Za-z+#-]))[A-Z][A-Za-z+#-]*', v_owner,
      upper(left(v_owner, 1) collate "C") || substr(v_owner, 2)) end;
  v_left text := sentence;
begin
  if v_names is not null then
    v_left := regexp_replace(v_left, '(?<![A-Za-z+#-])(?:' || v_names
      || ') [(]?v?[0-9]+(?:[.][0-9]+)*'
      '(?:(?:,| and| or) v?[0-9]+(?:[.][0-9]+)*)*', ' ', 'g');
  end if;
  return case when v_numbers is null then v_left else regexp_replace(
    v_left, '(?<![0-9.])(?:' || v_numbers || ')(?![0-9]|[.][0-9])', ' ', 'g') end;
end $$;

-- Tells whether a sentence names a version that a question asks for: a number with a point, or one
-- behind the word or a name of the question, as in Python 3. It also has what the question names
-- with a number: "Bump idna to 3.15" says nothing of Python 3.15.
create or replace function ragdb_internal.says_version(sentence text, question text)
returns boolean
language sql immutable parallel safe
return ragdb_internal.without_other_versions(sentence, question)
    ~* ('(?<![0-9#/.$€£])[0-9]+[.](?:[0-9]|x\M)|(?<![0-9A-Za-z._/])(?:v|(?:versi[oó]n(?:e[ns])?'
      '|versions?|releases?' || coalesce('|' || (
        select pg_catalog.string_agg(m[1], '|')
        from pg_catalog.regexp_matches(question, '(?<=\s)([A-Z][A-Za-z]+)', 'g') m), '')
      || ')[ \u00a0-]v?)[0-9]')
  and not exists (
    select from ragdb_internal.numbered_names(question) q
    where pg_catalog.strpos(pg_catalog.lower(sentence collate "C"), q.name) = 0);

-- Returns a pattern of the versions among the lexemes of the headings of a sentence; null for none.
create or replace function ragdb_internal.headed_versions(headed text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when array_to_string(headed, ' ') ~ '[0-9][.][0-9]' then (
    select string_agg(replace(h, '.', '[.]'), '|')
    from unnest(headed) h
    where h ~ '^[0-9]+(?:[.][0-9]+)+$'
      and h !~ '^[0-9]{1,2}[.][0-9]{1,2}[.](?:19|20)[0-9]{2}$') end;
end $$;

-- Returns the place of a text from which on its last line with one of some versions before a
-- sentence stands, at most so far before; null for none, and where that begins a section, as
-- "3.2 Plugins" does.
create or replace function ragdb_internal.version_start(
  text text, said ragdb_internal.evidence_sentence, versions text)
returns integer
language sql immutable parallel safe
return (
  select (said).start_offset - pg_catalog.length(t.tail)
  from (
    select pg_catalog.substring(
      E'\n' || pg_catalog.right(pg_catalog.left(version_start.text, (said).start_offset), 800),
      '^.*\n([^\n]*(?<![0-9.])(?:' || versions || ')(?![0-9])[^\n]*\n.*)$') as tail offset 0) t
  where t.tail
    !~ '^#* *[0-9.]+ +(?!(?:Alpha|Beta|RC|LTS|Final|Release|Preview)\M)[A-ZÀ-Þ]');
