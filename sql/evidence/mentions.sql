-- The sentences that only mention what a question asks the meaning of: "We like Django" does not
-- tell what Django is.

-- Returns the thing that a question asks what it is, by its words in small letters and without an
-- article, as {socks,proxy} of "What is a socks proxy?". Null where it asks something else, also
-- who somebody is, or what a part is of something: "the length of a password" is told by what has
-- one. A thing has an article before it, one word, or words with a capital.
create or replace function ragdb_internal.asked_thing(question text, config text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bare constant text := ragdb_internal.asked_for(question);
  v_sense constant text := (ragdb_internal.asked_sense(question, config))[1];
  v_written constant text := left(
    ragdb_internal.asked_meaning(v_bare, config), length(v_sense));
  v_article constant text := substring(
    v_sense, E'^(?:an?|ein(?:e[nmrs]?)?|une?|una?)\\s+|^un[’'']');
  v_words constant text[] := string_to_array(
    substr(v_sense, coalesce(length(v_article), 0) + 1), ' ');
begin
  return case
    when v_sense is null or cardinality(v_words) > 4
      or v_bare !~* E'^\\W*(?:what|whats|was|qu|c[’'']est|que|qué|что)(?![[:alnum:]])' then null
    when v_words && '{a,an,the,of,for,on,with,by,to,from,at,as,about,in,into,than,like,and,or,ein,
        eine,der,die,das,des,dem,den,von,vom,für,mit,aus,bei,zu,zum,zur,auf,un,une,le,la,les,de,du,
        d,pour,avec,à,au,aux,par,una,el,los,las,del,para,con,por}' then null
    -- what is done in something is no thing
    when config = 'english' and v_sense ~ '^[a-z]{2,}[^e]ed$' then null
    when v_article is not null or cardinality(v_words) = 1
      or v_written !~ E'(?:^|\\s)[^A-ZÀ-ÖØ-ÞА-Я]' then v_words end;
end $$;

-- Returns a pattern of the words of a thing in a text, as they end in other forms too: their
-- lexemes, which are most of a word, without the last letter.
create or replace function ragdb_internal.thing_pattern(thing text[], config text) returns text
language sql immutable parallel safe
return (
  select '(?<![[:alnum:]])'
    || pg_catalog.string_agg(w.stem, '[[:alnum:]]*[^[:alnum:]]+' order by w.n)
    || '[[:alnum:]]{0,4}(?![[:alnum:]])'
  from (
    select t.n, pg_catalog.regexp_replace(case
        when l.lexeme is null or not pg_catalog.starts_with(t.word, pg_catalog.left(l.lexeme, -1))
        then t.word
        when pg_catalog.length(l.lexeme) > 4 then pg_catalog.left(l.lexeme, -1)
        else l.lexeme end, '([^[:alnum:]])', E'\\\\\\1', 'g') as stem
    from pg_catalog.unnest(thing) with ordinality t (word, n)
      left join lateral (
        select x.lexeme
        from pg_catalog.unnest(ragdb_internal.sense_lexemes(t.word, config)) x (lexeme)
        -- what a hyphen joins has its parts as lexemes too
        order by pg_catalog.length(x.lexeme) desc, x.lexeme limit 1) l on true) w);

-- Returns a pattern of what calls a thing by its name, beside ragdb_internal.saying_verbs.
create or replace function ragdb_internal.calling_words(config text) returns text
language sql immutable parallel safe
return case config
  when 'german' then 'genannt|namens|nennt' when 'french' then 'appelée?s?|nommée?s?|dite?s?'
  when 'spanish' then 'llamad[oa]s?|denominad[oa]s?' when 'russian' then 'называ[[:alpha:]]+'
  else 'called|named|termed|known|labell?ed|dubbed' end;

-- Tells whether what is before a thing says that it is this, as "is a", or calls it by its name, as
-- "called the"; what follows ends the clause there, or the thing is part of another: "is a thing
-- box".
create or replace function ragdb_internal.leads_to_thing(before text, after text, config text)
returns boolean
language sql immutable parallel safe
return pg_catalog.right(before, 53) ~* pg_catalog.format(
    E'(?<![[:alnum:]])(?:%s)(?![[:alnum:]])(?:(?!\\m(?:to|in|with|by|on|at|from|via|using|when|if'
    '|than|like|without|and|or|but|mit|nach|avec|dans|con|en)\\M)[^.:;!?])*$',
    case when after ~* E'^["*_`”»\\])]*(?:[.,;:!?]|\\s*$|\\s+(?:[^[:alpha:]]|(?:in|of|for|that'
      '|which|who|with|to|from|at|as|when|where|by|on)\\s))'
    then ragdb_internal.saying_verbs(config) || '|' else '' end
      || ragdb_internal.calling_words(config));

-- Tells whether a sentence that has a thing, by such a pattern, tells of it what it is: it begins
-- with it, or has it beside what says so, as in "is a thing", "called a thing", "a thing, which",
-- "thing (a box", "thing: a" and "(thing)". "This is a thing", "is a thing box" and "[thing]: URL"
-- do not. A sign stands for the thing, so that each pattern is that of many questions: to make one
-- ready of all of this with a thing in it took half of an answer.
create or replace function ragdb_internal.tells_thing(sentence text, pattern text, config text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said constant text := regexp_replace(sentence, pattern, E'\x01', 'gi');
  v_parts constant text[] := string_to_array(v_said, E'\x01');
begin
  return v_said !~* (E'^[^[:alnum:]]*(?:this|that|these|those|here|it|they)\\s+(?:is|are)\\s+'
      '(?:an?\\s+)?["*_`“]*\x01')
    and (v_said ~* E'^[^[:alnum:]]*(?:(?:an?|the|one|ein|eine|der|die|das|une?|l[ea]|les|el|los|las'
      '|una)\\s+|l[’''])?["*_`“«\\[]*\x01["*_`”»\\])]*(?:[(]\\S+[)]["*_`]*)?\\s+[[:alpha:]]'
    or v_said ~* E'(?<![[:alnum:]])als\\s["„*_`]*\x01|[(]["*_`“«]*\x01["*_`”»]*[)]'
      '|\x01["*_`”»\\])]*\\s+[(](?!(?:and|or|see|und|oder|siehe|et|ou|voir|y|o|e|i|z)'
      '(?![[:alpha:]]))["„“«]?[[:alpha:]]|\x01-\\s+oder\\s'
    or v_said ~* (E'\x01(?!\\]:)["*_`”»\\])]*(?:\\s*[(][^)]*[)])?["*_`”»\\]]*(?:\\s*[:：|]|\\s-\\s'
      '|\\s(?:[[:alpha:]]+\\s)?[—–]\\s|,?\\s+(?:(?:' || ragdb_internal.saying_verbs(config)
      || E')|(?:also\\s)?(?:' || ragdb_internal.calling_words(config) || E'))\\s'
      '|,\\s*(?:an?|one|eine?|une?|una|which|that|who|d(?:er|ie|as)|qui|que|котор\\w+)\\s)')
    or exists (
      select from generate_series(1, cardinality(v_parts) - 1) i
      where ragdb_internal.leads_to_thing(v_parts[i], v_parts[i + 1] || case
        when i + 1 < cardinality(v_parts) then E'\x01' else '' end, config)));
end $$;

-- Tells whether a sentence without the thing that stands over it goes on with it: it begins with a
-- pronoun, or with an article, as what a glossary says below its heading.
create or replace function ragdb_internal.goes_on_with_thing(sentence text) returns boolean
language sql immutable parallel safe
return sentence ~* (E'^[^[:alnum:]]*(?:it|this|they|these|an?|one|es|sie|dies(?:e[rs]?)?|eine?|il'
  '|elles?|ils|c[’'']est|ce|une?|est[aeo]|una?|это|он[аои]?)(?![[:alnum:]])');

-- Tells whether a sentence says what a label has, as in "Type: a string", rather than what it is,
-- as in "Argument: a value that a call passes" (English): that has a clause of its own.
create or replace function ragdb_internal.fills_label(sentence text, config text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_told constant text[] := case when config = 'english'
    then ragdb_internal.subject_of(sentence, config) end;
begin
  return coalesce(v_told[2] ~ '[:：|]'
    and lower(btrim(v_told[1], ' *_+-') collate "C") = any (ragdb_internal.labels())
    and v_told[3] !~* E'\\m(?:that|which|who|whom|whose|where|when|used)\\M', false);
end $$;

-- Returns the sentences of evidence but those that only mention the thing that a question asks what
-- it is, or neither have it nor stand below it. Where a sentence has not all words of a thing, the
-- last one counts, with all that a hyphen joins in it. What the words of a question are read as is
-- told by lexemes alone.
create or replace function ragdb_internal.telling_of_thing(
  sentences ragdb_internal.evidence_sentence[], question text, config text)
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_thing constant text[] := ragdb_internal.asked_thing(question, config);
  v_last constant text[] := ragdb_internal.sense_lexemes(
    translate(v_thing[cardinality(v_thing)], '-', ' '), config);
  v_whole constant text := ragdb_internal.thing_pattern(v_thing, config);
  v_pattern constant text := ragdb_internal.thing_pattern(
    v_thing[cardinality(v_thing) :], config);
begin
  return case when v_last is null or v_last = '{}' then sentences else array(
    select s from unnest(sentences) s
    where case
      when s.sentence ~* v_pattern then not ragdb_internal.fills_label(s.sentence, config)
        and ragdb_internal.tells_thing(
          s.sentence, case when s.sentence ~* v_whole then v_whole else v_pattern end, config)
      else s.lexemes @> v_last
        or s.headed @> v_last and ragdb_internal.goes_on_with_thing(s.sentence) end
    order by s.n) end;
end $$;
