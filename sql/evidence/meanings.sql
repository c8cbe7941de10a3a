-- The sentences that say what something is, for who asks that.

-- Returns a pattern of the verbs by which something is said to be something, by the language of a
-- text configuration.
create or replace function ragdb_internal.saying_verbs(config text) returns text
language sql immutable parallel safe
return case config
  when 'german' then 'ist|sind|war(?:en)?|bedeute[nt]|bezeichne[nt]|hei(?:ß|ss)t'
  when 'french' then 'est|sont|était|désigne|signifie'
  when 'spanish' then 'es|son|era|fue|significa'
  when 'russian' then 'это|означает|является|был[аио]?'
  else 'is|are|was|were|means?|refers?\s+to|stands?\s+for|describes?|denotes?' end;

-- Returns what a sentence says something of, as the salt in "A **salt** (a string) is random", what
-- stands before the colon of an item, or the first cell of a row; then the word or the sign behind
-- it, and the rest. Null where it says none. That word is looked for by its place: a pattern of the
-- whole sentence takes a millisecond.
create or replace function ragdb_internal.subject_of(sentence text, config text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bare constant text := translate(
    regexp_replace(sentence, E'\\([^)]*\\)', '', 'g'), E'\u00a0\u202f', '  ');
  v_said constant text := case when starts_with(v_bare, '|') then substr(v_bare, 2) else v_bare end;
  v_sign constant text := E'[*_`"”»)]*\\s*(?:[:：|]|\\s[—–-])\\s|,?\\s+(?:'
    || ragdb_internal.saying_verbs(config) || E')\\s+';
  v_start constant integer := regexp_instr(v_said, v_sign, 2, 1, 0, 'i');
  v_end integer;
begin
  if v_start not between 2 and 121 or strpos(left(v_said, v_start - 1), '|') > 0
      or v_said ~* (E'^(?:as|if|when|because|since|while|wenn|weil|da|als|si|quand|cuando|если'
        '|когда)\\s') then
    return null;
  end if;
  v_end := regexp_instr(v_said, v_sign, 2, 1, 1, 'i');
  return array[left(v_said, v_start - 1), substr(v_said, v_start, v_end - v_start),
    substr(v_said, v_end)];
end $$;

-- Returns what a question asks the meaning of, and that in which it has it (null: none), as the
-- salt and cryptography of "What is a salt in cryptography?": who says it there calls it a salt.
-- Null where it asks something else. In small letters, because a capital within parts a word.
create or replace function ragdb_internal.asked_sense(question text, config text) returns text[]
language sql immutable parallel safe
return pg_catalog.regexp_match(
  pg_catalog.lower(ragdb_internal.asked_meaning(
    ragdb_internal.asked_for(question), config) collate "C"),
  '^(.+?)(?:\s+(?:in|im|en|dans|в)\s+((?!the\s|an?\s|[0-9])\S+(?:\s+\S+){0,2}))?$');

-- Returns the lexemes of a part of that; none for null.
create or replace function ragdb_internal.sense_lexemes(part text, config text) returns text[]
language sql immutable parallel safe
return case when part is null then '{}'
  else pg_catalog.tsvector_to_array(ragdb_internal.lexemes(part, config)) end;

-- Returns the lexemes of what a question asks the meaning of; none where it asks something else.
create or replace function ragdb_internal.meant_lexemes(question text, config text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.sense_lexemes(
    (ragdb_internal.asked_sense(question, config))[1], config);
end $$;

-- Returns the abbreviation in brackets behind what a sentence says something of, as CSRF in
-- "Cross-Site Request Forgery (CSRF) is an attack"; null for none.
create or replace function ragdb_internal.abbreviated_subject(sentence text, subject text)
returns text
language sql immutable parallel safe
return case when pg_catalog.strpos(sentence, '(') between 3 and pg_catalog.length(subject) + 2
  then pg_catalog.substring(sentence, '^[^(]+\(([^()\s]{2,12})\)') end;

-- Returns the lexemes of what a sentence says something of, without the English word of what kind
-- of thing it is, as Clippy in "The Clippy tool is a collection of checks".
create or replace function ragdb_internal.without_class(lexemes text[]) returns text[]
language sql immutable parallel safe
return array(
  select l from pg_catalog.unnest(lexemes) with ordinality u (l, n)
  where l <> all ('{algorithm,attribut,class,command,crate,extens,field,flag,framework,function,
    header,keyword,languag,librari,macro,method,modul,oper,option,packag,paramet,plugin,program,
    protocol,server,servic,system,tool,trait,type}')
  order by n);

-- Tells whether a sentence names what has these lexemes before a remark, as in "Note: a server has
-- pages", or says what another thing is and names it at its end alone, behind a preposition, as
-- Django in "Flask is a framework, as in Django" (English). It says of it nothing, but for what is
-- "short for" it or "the process of" it, and what is "a sport and the oldest one".
create or replace function ragdb_internal.says_of_another(
  sentence text, meant text[], config text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_told constant text[] := case when meant <> '{}' and config = 'english'
    then ragdb_internal.subject_of(sentence, config) end;
begin
  return v_told is not null and case
    when ragdb_internal.sense_lexemes(lower(v_told[1] collate "C"), config) @> meant
    then lower(btrim(v_told[1], ' *_+-') collate "C") = any (ragdb_internal.remarks())
      and v_told[2] ~ '[:：]'
    else ragdb_internal.sense_lexemes(lower(substring(v_told[3],
        E'(?i)^.*(?<!\\m(?:name|term|word|acronym|abbreviation|short|synonym|definition|meaning'
        '|process|practice|act|concept|idea|phenomenon|term\\sused)\\s)\\m(?:(?:in|of|for|with'
        '|without|like|unlike|than|on|from|at|via|using)\\s+'
        '(?:(?:an?|the|your|our|its|their)\\s+)?|(?:and|or)\\s+(?!(?:an?|the)\\s))(.+)$')
        collate "C"), config) = meant end;
end $$;

-- Returns how much more a sentence counts that says what something with these lexemes is: 2, where
-- a sign or an article follows, with which most texts say it, or 1.5; and 1 where it does not, or
-- says what it is not.
create or replace function ragdb_internal.defines(sentence text, meant text[], config text)
returns float8
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_told constant text[] := ragdb_internal.subject_of(sentence, config);
  v_subject constant text[] := ragdb_internal.sense_lexemes(
    lower(v_told[1] collate "C"), config);
begin
  return case
    when v_told is null or meant not in (
        v_subject, ragdb_internal.without_class(v_subject),
        ragdb_internal.sense_lexemes(lower(
          ragdb_internal.abbreviated_subject(sentence, v_told[1]) collate "C"), config)) then 1
    when v_told[2] ~ '[:：|—–-]' or lower(split_part(v_told[3], ' ', 1) collate "C") = any (
      '{a,an,the,one,any,ein,eine,der,die,das,un,une,una,le,la,les,el,los,las}') then 2
    when lower(split_part(v_told[3], ' ', 1) collate "C") = any (
      '{not,never,no,nicht,kein,keine,pas,ne,не}') then 1
    else 1.5 end;
end $$;

-- Returns sentences with more of the score of their chunk where they say what something is that a
-- question asks the meaning of: most texts that speak of a thing do not say it. They also have that
-- in which it has the meaning, as from a heading, where another sentence of the document does.
create or replace function ragdb_internal.defining_sentences(
  sentences ragdb_internal.evidence_sentence[], question text, config text)
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant text[] := ragdb_internal.asked_sense(question, config);
  v_meant constant text[] := ragdb_internal.sense_lexemes(v_asked[1], config);
  v_sense constant text[] := ragdb_internal.sense_lexemes(v_asked[2], config);
  v_sources constant text[] := case when v_sense <> '{}' then array(
    select distinct s.source_id from unnest(sentences) s where s.lexemes || s.headed @> v_sense)
    end;
begin
  return case when v_meant = '{}' then sentences else array(
    select row(s.n, s.source_id, s.chunk_id, s.page, s.score * d.times, s.start_offset,
        s.end_offset, s.sentence, s.lexemes,
        case when d.times > 1 and s.source_id = any (v_sources) then s.headed || v_sense
          else s.headed end)::ragdb_internal.evidence_sentence
    from unnest(sentences) s
      cross join lateral (
        select case when s.lexemes @> v_meant
          then ragdb_internal.defines(s.sentence, v_meant, config) else 1 end as times offset 0) d
    order by s.n) end;
end $$;

-- Tells whether a line or a sentence of a text says what something with these lexemes is.
create or replace function ragdb_internal.says_meaning(text text, meant text[], config text)
returns boolean
language sql immutable parallel safe
return exists (
  select
  from pg_catalog.regexp_split_to_table(
    says_meaning.text, '(?<=[.!?])\s+|\n\s*(?:[-*+] +)?') p (part)
  -- most parts do not have the word, and a stem is most of it, in ASCII without accents
  where (pg_catalog.octet_length(p.part) > pg_catalog.length(p.part)
      or pg_catalog.strpos(pg_catalog.lower(p.part collate "C"), pg_catalog.substr(
        says_meaning.meant[1], 2, greatest(pg_catalog.length(says_meaning.meant[1]) - 2, 1))) > 0)
    and ragdb_internal.defines(p.part, says_meaning.meant, says_meaning.config) = 2);
