-- Who asks in which version something was dropped is not told the one that added it, nor the other
-- way round.

-- Returns a pattern of what says that something comes to its end.
create or replace function ragdb_internal.ending_pattern() returns text
language sql immutable parallel safe
return '\m(?:deprecat|discontinu|remov|obsolet|abandon|retire|supersed|withdr|unsupported|sunset'
  '|cease|no longer|not support|cancel|terminat|replac|phas(?:ed?|ing)\s+out'
  '|(?:drop|end|stop)(?:p?ed|p?ing|s)?\M|eol\M|entf(?:ern|iel|äll|allen)|gestrichen|abgeschafft'
  '|eingestellt|weggefallen|veraltet|nicht mehr|suppr[ei]|retir|retrait|enlev'
  '|n(?:e |[''’])\S+ plus|elimin|quit[óa]|dej(?:ó|a|aron) de|ya no)';

-- Tells whether a question asks in which version something came to its end, or, in English, when.
create or replace function ragdb_internal.asks_for_end(question text, config text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := ragdb_internal.question_words(ragdb_internal.asked_for(question));
  v_of_version constant boolean := v_words && '{version,versions,release,releases}';
begin
  return case when config = 'english' then v_words[: 2] && '{when,what,which}'
      and (v_words[: 3] && '{was,were,did,year}' or v_of_version)
      and (v_words && '{deprecated,deprecate,discontinued,discontinue}'
        or v_words && '{dropped,drop,removed,remove}'
          and (v_of_version or 'support' = any (v_words)))
    else ragdb_internal.asks_version(question, config)
      and question ~* ragdb_internal.ending_pattern() end;
end $$;

-- Tells whether something stands under a heading such as "Removed", by the lexemes of its headings.
create or replace function ragdb_internal.is_headed_gone(headed text[]) returns boolean
language sql immutable parallel safe
return coalesce(headed, '{}')
  && '{remov,deprec,drop,discontinu,entfernt,supprim,retir,elimin}'::text[];

-- Returns a pattern of what says that something is new.
create or replace function ragdb_internal.beginning_pattern() returns text
language sql immutable parallel safe
return '(?<![[:alpha:]])(?:add(?:s|ed)?|introduc\w*|brings?|brought|brachten?|einführte|eingeführt'
  '|hinzu\w*|ajout\w*|introdui\w*|añad\w*|introdujo|incorpor\w*|agreg\w*)(?![[:alpha:]])';

-- Tells whether a question asks which version something is new in rather than gone, in English,
-- German, French or Spanish.
create or replace function ragdb_internal.asks_for_begin(question text) returns boolean
language sql immutable parallel safe
return question ~* ragdb_internal.beginning_pattern()
  and question !~* ragdb_internal.ending_pattern();

-- Tells whether a sentence says of what it is about that it is gone, and of nothing that it is new,
-- by its headings or by its last line: one of release notes may be quoted with what stands before
-- it.
create or replace function ragdb_internal.says_gone(sentence ragdb_internal.evidence_sentence)
returns boolean
language sql immutable parallel safe
return (
  select l.line !~* ragdb_internal.beginning_pattern()
    and (ragdb_internal.is_headed_gone((sentence).headed) or l.line ~* (
      '^\W*(?:remov(?:ed?|es)|drop(?:s|ped)?|deprecated?|entfernt|suppression|retrait|retirada'
      '|eliminad[oa]|se eliminó)(?![[:alpha:]])'
      '|(?:was|were|is|are|been|wurden?|été|fue(?:ron)?)\s+(?:\S+\s+)*(?:removed|dropped|deprecated'
      '|entfernt|gestrichen|supprimée?s?|retirée?s?|eliminad[oa]s?|retirad[oa]s?)(?![[:alpha:]])'
      '|(?<![[:alpha:]])(?:no longer|nicht mehr|n(?:e |[''’])\S+ plus|ya no)\s'))
  from (
    select pg_catalog.substring((sentence).sentence, '[^\n]*$') as line offset 0) l);
