-- What a question is about by its grammar, as uvicorn in "Does uvicorn support HTTP/3?": who leaves
-- out "the" names a thing, also in small letters.

-- Returns the verbs by which somebody is said to have made something.
create or replace function ragdb_internal.making_verbs() returns text[]
language sql immutable parallel safe
return '{created,wrote,developed,invented,founded,designed,built,authored,maintains}'::text[];

-- Returns the words that begin an English question of yes or no.
create or replace function ragdb_internal.asking_verbs() returns text[]
language sql immutable parallel safe
return '{does,do,did,is,are,was,were,can,could,has,have,will,should}'::text[];

-- Tells whether an English question asks for yes or no.
create or replace function ragdb_internal.asks_whether(question text) returns boolean
language sql immutable parallel safe
return pg_catalog.lower(pg_catalog.split_part(
    ragdb_internal.asked_for(question), ' ', 1) collate "C") = any (ragdb_internal.asking_verbs());

-- Returns words that stand before the colon of a remark, in small letters. It says nothing of them,
-- as "Argument: a value that a call passes" does.
create or replace function ragdb_internal.remarks() returns text[]
language sql immutable parallel safe
return '{note,tip,hint,info,warning,caution,danger,important,example}'::text[];

-- Returns words that stand before the colon of an item and name no thing, in small letters.
create or replace function ragdb_internal.labels() returns text[]
language sql immutable parallel safe
return ragdb_internal.remarks() || '{answer,result,summary,description,goal,purpose,problem,cause,
  effect,solution,requirement,requirements,prerequisite,prerequisites,requires,required,optional,
  needed,default,type,format,syntax,usage,input,output,value,returns,return,parameter,parameters,
  argument,arguments,option,options,raises,yields}'::text[];

-- Returns the words of a question as they are written, without signs.
create or replace function ragdb_internal.written_words(question text) returns text[]
language sql immutable parallel safe
return pg_catalog.array_remove(pg_catalog.string_to_array(
  pg_catalog.translate(question, E'?,;!()"\n', '        '), ' '), '');

-- Returns the place of the last word of a question behind "of" where "the" begins what is of it, as
-- in "the default port of uvicorn", and not in "which body of water"; null for none.
create or replace function ragdb_internal.owner_place(words text[]) returns integer
language sql immutable parallel safe
return case when words[cardinality(words) - 1] = 'of'
    and words[pg_catalog.array_position(words, 'the') :] && '{what,which,a,an}' is false
  then cardinality(words) end;

-- Returns the word of an English question that names what it is about in small letters: behind
-- "does", "who created", "when was" and the like, or its last behind "the … of", without an article
-- or a plural; null for none. A name has a verb behind it, and no article.
create or replace function ragdb_internal.bare_subject(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.written_words(question);
  v_place constant integer := case
    when lower(v_words[1] collate "C") = 'who' and v_words[2] = any (ragdb_internal.making_verbs())
      or lower(v_words[1] collate "C") = 'when' and v_words[2] in ('was', 'were', 'did')
    then 3
    else coalesce(ragdb_internal.owner_place(v_words), array_position(
      array_replace(v_words[: 6], 'Does', 'does'), 'does') + 1) end;
begin
  return case when config = 'english' and v_words[v_place] ~ '^[a-z][a-z0-9_.-]+$'
      and (v_words[v_place] !~ '[^s]s$' or v_words[v_place - 1] not in ('of', 'was', 'were', 'did'))
      and v_words[v_place] <> all ('{a,an,the,this,that,it,its,he,she,his,her,my,your,our,their,one,
        each,every,any,no,another,someone,anyone,everyone,somebody,anybody,everybody,something,
        anything,everything,nothing,what,which,who,people,men,women,children}')
      and coalesce(v_words[v_place + 1] <> all ('{a,an,the}'), true)
    then v_words[v_place] end;
end $$;

-- Returns the name of the thing that an English question is about: behind what begins a question of
-- yes or no, behind who made it, or its last behind "the … of"; null for none.
create or replace function ragdb_internal.asked_subject(question text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.written_words(ragdb_internal.asked_for(question));
  v_first constant text := lower(v_words[1] collate "C");
  v_place constant integer := case
    when v_first = any (ragdb_internal.asking_verbs()) then 2
    when v_first = 'who' and v_words[2] = any (ragdb_internal.making_verbs()) then 3
    else ragdb_internal.owner_place(v_words) end;
begin
  return case when config <> 'english' or v_place is null then null
    when v_words[v_place] ~ '^[A-Z]' then v_words[v_place]
    when v_place > 2 or v_first = 'does' then ragdb_internal.bare_subject(
      array_to_string(v_words, ' '), config) end;
end $$;

-- Returns the lexemes of what an English question asks whether a thing with a name does it, behind
-- the verb, as zstd of "Does gzip 1.12 support zstd?"; none for another question.
create or replace function ragdb_internal.asked_object(question text, config text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.written_words(ragdb_internal.asked_for(question));
  v_name constant text := ragdb_internal.asked_subject(question, config);
  v_verb constant integer := case when v_words[3] ~ '^v?[0-9]' then 4 else 3 end;
begin
  return case
    when v_name is null or v_words[2] <> v_name or lower(v_words[1] collate "C") <> all (
      '{does,do,did,can,could,will,should}') then '{}'
    else array(
      select l from unnest(ragdb_internal.lexemes_of_name(
        array_to_string(v_words[v_verb + 1 :], ' '), config)) l
      where l <> all (ragdb_internal.lexemes_of_name(v_name, config)) and l !~ '^[0-9.]+$') end;
end $$;
