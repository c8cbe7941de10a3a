-- The sentences that take back what the one before them says. To quote that one alone would be
-- right to the letter, and say the opposite of the text.

-- Tells whether a sentence takes back what the one before it says, as "However, this is no longer
-- true." does. Its first word says by which pattern it may; most sentences need none.
create or replace function ragdb_internal.takes_back(sentence text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said constant text := regexp_replace(
    translate(lower(left(sentence, 160) collate "C"), E'’\n*_`', ''' '),
    '^["“„«¡(]*(?:(?:please|but|however|yet|actually|aber|doch|mais|or|pero|sin embargo|Но|Однако)'
    ',? +)?', '');
  v_word constant text := substring(v_said, '^[^ '',.]+');
begin
  return case
    when v_word in ('this', 'that', 'it', 'these', 'those', 'they') then v_said ~ (
      '^[a-z]+(?:''s|''re| is| are| was| were)?(?: [a-z]+ly| just| quite| a)* (?:no longer|wrong'
      '|false|untrue|incorrect|outdated|obsolete|deprecated|myth|misconception)(?![a-z])'
      '|^[a-z]+(?:''s|''re| [a-z]+)(?: not|n''t)(?: [a-z]+ly| quite| always)* (?:true|so|correct'
      '|right|the case|valid|allowed|possible|supported|recommended|safe|secure)(?![a-z])')
    when v_word in ('do', 'don', 'never', 'avoid') then v_said ~ (
      '^[a-z]+(?:''t| not)?(?: ever)?(?: do| doing| use| using)? th(?:is|at)(?![a-z])')
    when v_word in ('das', 'dies', 'es') then v_said ~ (
      '^[a-z]+ (?:ist|war|gilt|stimmt|geht)(?: [^ .]+){0,3} (?:falsch|überholt|veraltet'
      '|(?:ein )?(?:irrtum|mythos)|nicht(?:[.,!]| (?:mehr|wahr|richtig|so|der fall)(?![a-z])))')
    when v_word in ('c', 'ce', 'cela') then v_said ~ (
      '^(?:c''|cela )est (?:faux|inexact|obsolète|une erreur|un mythe)(?![a-z])'
      '|^ce(?:la)? n''est (?:pas|plus) (?:vrai|exact|le cas|possible)(?![a-z])')
    when v_word in ('esto', 'eso', 'ya', 'no') then v_said ~ (
      '^es(?:to|o) es (?:falso|incorrecto|un mito|un error)(?![a-z])'
      '|^(?:es(?:to|o) )?(?:ya )?no es (?:cierto|verdad|así|el caso|posible)(?![a-z])')
    when v_word in ('Это', 'это') then v_said ~ (
      '^.то (?:уже )?(?:не (?:так|верно)|неверно|неправда|миф|заблуждение)')
    else false end;
end $$;
