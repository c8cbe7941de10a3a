-- What kind of thing answers a question: who asks when something was is not answered by what has no
-- date, nor who asks how many by what has no number, nor who asks who made it by what names nobody,
-- nor who asks which version dropped something by the one that added it.

-- Returns what those are called who have made something.
create or replace function ragdb_internal.makers() returns text[]
language sql immutable parallel safe
return '{creator,creators,author,authors,developer,developers,founder,founders,inventor,inventors,
  writer,writers,designer,designers,maintainer,maintainers,architect,architects,builder,builders,
  composer,composers}'::text[];

-- Returns the kind of what answers an English question: date, number, digits, length (of time or of
-- a thing), expansion (of letters), often, default or maker; null for any. "When does" asks for
-- what must be so rather than for a date, and how much may be said without a number. What asks for
-- more than one thing is answered by one of them.
create or replace function ragdb_internal.asked_kind(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := array_remove(
    ragdb_internal.question_words(ragdb_internal.asked_for(question)), '');
  v_first constant integer := case when v_words[1] in ('in', 'on', 'since') then 2 else 1 end;
  v_how constant text := v_words[array_position(v_words, 'how') + 1];
  -- "which version has the default" asks for a version
  v_default constant integer := case
    when not v_words[: array_position(v_words, 'default')]
      && '{version,versions,release,releases}' then array_position(v_words, 'default') end;
begin
  return case
    when config <> 'english' or v_words[array_position(v_words, 'and') :]
      && '{who,whom,whose,what,which,where,when,why,how}' then null
    when v_words[v_first] = 'when' and v_words[v_first + 1] in ('was', 'were', 'did') then 'date'
    when v_words[v_first] in ('what', 'which') and v_words[v_first + 1] = 'year' then 'date'
    when v_words[v_first] in ('what', 'which') and v_words[v_first + 1] in ('port', 'ports')
    then 'digits'
    when v_how = 'many' then 'number'
    when v_how = 'long' then 'length'
    when ragdb_internal.asked_letters(question) is not null then 'expansion'
    when v_how in ('often', 'frequently') then 'often'
    when v_words[1] = 'who' and v_words[2 : 4]
        && (ragdb_internal.making_verbs() || ragdb_internal.makers()) then 'maker'
    when v_words[v_first] like 'what%' and v_default <= 5 and v_words[v_default + 1] = 'port'
    then 'digits'
    when v_words[v_first] in ('what', 'whats', 'what''s', 'which') and v_default > 1
    then 'default' end;
end $$;

-- Returns the kinds of what answers a question; none for any.
create or replace function ragdb_internal.asked_kinds(question text, config text) returns text[]
language sql immutable parallel safe
return pg_catalog.array_remove(array[coalesce(ragdb_internal.asked_kind(question, config),
    ragdb_internal.kind_by_language(question, config),
    case when ragdb_internal.asks_version(question, config) then 'version'
      when ragdb_internal.asks_reason(question, config) then config || '_reason' end),
  case when ragdb_internal.asks_for_end(question, config) then 'end' end], null);

-- Returns the words of numbers.
create or replace function ragdb_internal.number_words() returns text[]
language sql immutable parallel safe
return '{one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,
  sixteen,seventeen,eighteen,nineteen,twenty,thirty,forty,fifty,sixty,seventy,eighty,ninety,dozen,
  dozens,hundred,hundreds,thousand,thousands,million,millions,billion,billions,half,third,quarter,
  once,twice,single,both,pair,couple,several,many,few,none,zero,all,unlimited}'::text[];

-- Returns the words of times.
create or replace function ragdb_internal.time_words() returns text[]
language sql immutable parallel safe
return '{january,february,march,april,june,july,august,september,october,november,december,monday,
  tuesday,wednesday,thursday,friday,saturday,sunday,spring,summer,autumn,fall,winter,century,
  centuries,decade,decades,year,years,month,months,week,weeks,day,days,hour,hours,night,morning,
  evening,midnight,noon,ago,today,yesterday,recently,late,later,earlier,era,age,ages,period,reign,
  war,birth,death,childhood,christmas,easter,ad,bc,bce,ce,after,before,during,while,until,till,
  since,following,prior,beginning,start}'::text[];

-- Returns the words one of which a sentence has that says a kind of thing.
create or replace function ragdb_internal.kind_words(kind text) returns text[]
language sql immutable parallel safe
return case kind
  when 'number' then ragdb_internal.number_words()
  when 'date' then ragdb_internal.time_words()
  when 'length' then '{second,seconds,minute,minutes,hour,hours,day,days,night,nights,week,weeks,
    month,months,year,years,decade,decades,century,centuries,period,age,until,till,since,forever,
    always,indefinitely,permanent,permanently,immediately,lifetime}'
  when 'often' then '{twice,hourly,daily,weekly,monthly,quarterly,yearly,annual,annually,
    biennial,biennially,cycle,cycles,interval,intervals,always,never,rare,rarely,seldom,regularly,
    frequently}'
  when 'default' then '{default,defaults,defaulted,unset,omitted,unspecified}'
  when 'maker' then ragdb_internal.makers()
  else ragdb_internal.words_by_language(kind) end;

-- Tells whether a sentence names who may have made what a question is about: who does so by a verb
-- that is not passive, by whom it was done, other than used, or a name of two words or three that
-- are not the question's: a run of more is a title.
create or replace function ragdb_internal.names_maker(sentence text, question text)
returns boolean
language sql immutable parallel safe
return sentence ~ ('(?<!\m(?:was|were|been|be|is|are)\s)\m(?:'
    || pg_catalog.array_to_string(ragdb_internal.making_verbs(), '|') || ')\M')
  or sentence ~ ('(?<!\m(?:used|supported|required|needed|followed|replaced|surrounded|caused|read'
    '|affected|enabled|returned|called|given|set|sorted|ordered|separated|step|one|side|or|and)\s)'
    '\mby\s(?!default\M|using\M|hand\M|means\M)')
  or exists (
    select from pg_catalog.regexp_matches(sentence,
      '(?<!\m[A-Z][a-z]* )\m([A-Z][a-z]+) ([A-Z][a-z]+)(?![A-Za-z]| [A-Z][a-z]* [A-Z])', 'g') m
    where pg_catalog.lower(m[1] collate "C") <> all ('{the,a,an,this,in,on,at,by,for,from,to,with,
        if,when,while,as,and,but,it,its,your,our}')
      and pg_catalog.strpos(question, m[1]) = 0 and pg_catalog.strpos(question, m[2]) = 0);

-- Tells whether a sentence may say a kind of thing that a question asks for: digits, a name, or
-- words. What stands behind #, a letter or in a link is the number of something else, and
-- may is no month.
create or replace function ragdb_internal.says_kind(sentence text, kind text, question text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case regexp_replace(kind, '^.*_', '') when 'date' then sentence
        ~ ('(?<![0-9.,#]|[a-z]/)[0-9]{3,4}(?![0-9]|[.,][0-9])|[0-9]{2}[./-][0-9]{2}'
        '|(?<=[a-z0-9,] )May(?![a-z])')
      when 'maker' then case when kind = 'maker'
        then ragdb_internal.names_maker(sentence, question)
        else ragdb_internal.names_maker_in(sentence, split_part(kind, '_', 1)) end
      when 'often' then sentence ~* (E'\\m(?:(?:once|times)\\s+(?:an?|per|in)|(?:each|every|per)'
        '\\s+(?:\\S+\\s+){0,2}(?:\\S*second|\\S*day|minute|hour|night|week|month|quarter|year|time'
        '|decade)|every\\s+[0-9]|(?:with|on|at|upon|after|before)\\s+(?:each|every)\\M|per\\s)')
      when 'end' then sentence ~* ragdb_internal.ending_pattern()
      when 'expansion' then ragdb_internal.expands(sentence, question)
      when 'version' then ragdb_internal.says_version(sentence, question)
      when 'reason' then ragdb_internal.says_reason(sentence, split_part(kind, '_', 1))
      when 'default' then false
      else sentence ~ '(?<![#/.0-9A-Za-z])[0-9]' end
    or string_to_array(translate(lower(sentence collate "C"), E'.,;:!()*_`"’''\n-',
      '                '), ' ') && ragdb_internal.kind_words(kind);
end $$;

-- Tells whether a sentence of evidence may say such a thing, by itself, as a row below a head, or
-- below a heading such as "Removed".
create or replace function ragdb_internal.says_kind(
  sentence ragdb_internal.evidence_sentence, kind text, question text)
returns boolean
language sql immutable parallel safe
return ragdb_internal.says_kind((sentence).sentence, kind, question)
  or kind = 'default' and 'default' = any ((sentence).headed)
  or kind = 'end' and ragdb_internal.is_headed_gone((sentence).headed);

-- Tells whether a sentence of evidence may say such things.
create or replace function ragdb_internal.says_kinds(
  sentence ragdb_internal.evidence_sentence, kinds text[], question text)
returns boolean
language sql immutable parallel safe
return not exists (
  select from pg_catalog.unnest(kinds) k (kind)
  where not ragdb_internal.says_kind(sentence, k.kind, question));

-- Returns the sentences of evidence, those that name no version and stand under a heading with one
-- together with that: what release notes say is of the version over it. Not those that lack what
-- else is asked for: it may stand in a line between.
create or replace function ragdb_internal.version_sentences(evidence jsonb, question text,
  sentences ragdb_internal.evidence_sentence[], others text[])
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when p.start is null then s else row(s.n, s.source_id, s.chunk_id, s.page, s.score,
        p.start, s.end_offset, substr(c.chunk ->> 'text', p.start + 1, s.end_offset - p.start),
        s.lexemes, s.headed)::ragdb_internal.evidence_sentence end
    from unnest(sentences) s
      cross join lateral (
        select ragdb_internal.headed_versions(s.headed) as versions offset 0) v
      left join jsonb_array_elements(evidence -> 'chunks') c (chunk)
        on c.chunk ->> 'chunk_id' = s.chunk_id
          and c.chunk ->> 'source_id' is not distinct from s.source_id
          and v.versions is not null
          and not ragdb_internal.says_version(s.sentence, question)
          and ragdb_internal.says_kinds(s, others, question)
      left join lateral (
        select ragdb_internal.version_start(c.chunk ->> 'text', s, v.versions) as start
        offset 0) p on true
    order by s.n);
end $$;

-- Returns sentences with less of the score of their chunk where they do not say the kinds of thing
-- that a question asks for, and a default with what it is the default of.
create or replace function ragdb_internal.kind_sentences(evidence jsonb,
  sentences ragdb_internal.evidence_sentence[], kinds text[], question text,
  terms ragdb_internal.asked_term[])
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_defaults constant text[] := case
    when kinds && '{default,digits}' and 'default' = any (ragdb_internal.question_words(question))
    then ragdb_internal.default_lexemes('english')
    when kinds[1] ~ '_default$' then ragdb_internal.default_lexemes(
      split_part(kinds[1], '_', 1)) end;
begin
  return case when kinds = '{}' then sentences else array(
    select case when ragdb_internal.says_kinds(s, kinds, question) then s
      else row(s.n, s.source_id, s.chunk_id, s.page, s.score * 0.6, s.start_offset, s.end_offset,
        s.sentence, s.lexemes, s.headed)::ragdb_internal.evidence_sentence end
    from unnest(case when v_defaults is not null
      then ragdb_internal.default_sentences(evidence, terms, sentences, v_defaults)
      when 'version' = any (kinds)
      then ragdb_internal.version_sentences(evidence, question, sentences,
        array_remove(kinds, 'version')) else sentences end) s
    order by s.n) end;
end $$;

-- Returns the lexemes of what is asked. Who asks for a default or a version is answered by what
-- says one, so that word tells nothing of what it is of.
create or replace function ragdb_internal.kind_lexemes(asked text, kinds text[], config text)
returns text[]
language sql immutable parallel safe
return (
  select coalesce(nullif(array(
      select l from pg_catalog.unnest(a.lexemes) l
      where not (kind_lexemes.kinds[1] ~ 'default$'
          and l = any (ragdb_internal.default_lexemes(config))
        or 'version' = any (kind_lexemes.kinds) and l in ('version', 'releas'))), '{}'), a.lexemes)
  from (
    select pg_catalog.tsvector_to_array(ragdb_internal.lexemes(asked, config)) as lexemes
    offset 0) a);

-- Tells whether one of the picked sentences, of the chunk of the first, says each such thing but a
-- reason, which may be given without a word of it. A version is that of the first: another line of
-- release notes is about another thing. What is gone in a version was not added by it.
create or replace function ragdb_internal.picked_kinds(
  picked ragdb_internal.evidence_sentence[], kinds text[], question text)
returns boolean
language sql immutable parallel safe
return not exists (
  select from pg_catalog.unnest(kinds) k (kind)
  where k.kind !~ '_reason$' and not exists (
    select from pg_catalog.unnest(picked) p
    where ragdb_internal.says_kind(p, k.kind, question)
      and (k.kind <> 'version' or p.n = (picked[1]).n
        and not (ragdb_internal.asks_for_begin(question) and ragdb_internal.says_gone(p)))
      and p.chunk_id = (picked[1]).chunk_id
      and p.source_id is not distinct from (picked[1]).source_id));
