-- What sentences say of the version that a question names, and of earlier ones.

-- Returns a pattern of what says from which version on something is there or is gone, as "added in"
-- of "added in version 4", and nothing before "version 4 adds".
create or replace function ragdb_internal.added_or_gone() returns text
language sql immutable parallel safe
return E'\\m(?:since|as\\s+of|(?:added|introduced|new|removed|dropped|gone)\\s+(?:in|with|by))'
  '\\s+(?:the\\s+)?|\\m(?=[A-Za-z+#-]+ v?[0-9]+(?:[.][0-9]+)* (?:adds?|added|introduce[sd]?|brings'
  '|brought|removes?|removed|drops?|dropped)\\M)';

-- Returns a pattern of what tells from which version on something is there or is gone, for who asks
-- whether something is so: a version, or what the question names with a number. Null for all other
-- questions. "Since May 2020" names no version, and "since they are sent" is a reason.
create or replace function ragdb_internal.version_pattern(question text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when ragdb_internal.asks_whether(question) then (
    select format('(?i)(?:%s)(?:version|release|%s) v?([0-9]+(?:[.][0-9]+)*)',
      ragdb_internal.added_or_gone(), replace(string_agg(distinct q.name, '|'), '+', '[+]'))
    from ragdb_internal.numbered_names(question) q
    having count(*) > 0) end;
end $$;

-- Returns the parts of the number of the version that the beginning of a sentence tells by such a
-- pattern; null for none.
create or replace function ragdb_internal.version_told(sentence text, pattern text)
returns numeric[]
language sql immutable parallel safe
return pg_catalog.string_to_array(
  pg_catalog.substring(pg_catalog.left(sentence, 2000), pattern), '.')::numeric[];

-- Returns what a question names without the numbers of versions, where it asks whether something is
-- so and a sentence says from which version on: what is new in Django 4 is said of Django 5, too.
create or replace function ragdb_internal.without_versions(names ragdb_internal.asked_term[],
  question text, sentences ragdb_internal.evidence_sentence[])
returns ragdb_internal.asked_term[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern constant text := ragdb_internal.version_pattern(question);
begin
  return case
    when exists (select from unnest(names) n where n.lexeme ~ '^[0-9.]+$')
      and exists (select from unnest(sentences) s
        where ragdb_internal.version_told(s.sentence, v_pattern) is not null)
    then array(
      select n from unnest(names) n
      where n.lexeme not in (select q.number from ragdb_internal.numbered_names(question) q))
    else names end;
end $$;

-- Tells whether a sentence has a name of a question only with other numbers behind it: what holds
-- for Python 3.6 says nothing of Python 3.9. Who asks whether something is so is told by what was
-- added or removed in another version, too: it is said of all versions from that one on.
create or replace function ragdb_internal.is_of_other_number(sentence text, question text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return question ~ '[a-z] v?[0-9]' and exists (
    select from ragdb_internal.numbered_names(question) q
      join ragdb_internal.numbered_names(case when ragdb_internal.asks_whether(question)
        then regexp_replace(sentence, ragdb_internal.added_or_gone(), 'since ', 'gi')
        else sentence end) s on s.name = q.name
    group by q.name
    having not bool_or(starts_with(s.number || '.', q.number || '.')
        or starts_with(q.number || '.', s.number || '.'))
      and sentence !~ ('(?<![0-9.])(?:' || string_agg(distinct replace(q.number, '.', '[.]'), '|')
        || ')(?![0-9])'));
end $$;

-- Tells whether a sentence of evidence says, to who asks whether something is so in a version, from
-- which one on it is there, or is gone, and this is a later one that the question does not name: it
-- says nothing of those before it.
create or replace function ragdb_internal.is_of_later(
  sentence text, question text, told numeric[], asked numeric[])
returns boolean
language sql immutable parallel safe
return told[: pg_catalog.cardinality(asked)] > asked and not exists (
  select from ragdb_internal.numbered_names(question) q
  where pg_catalog.string_to_array(q.number, '.')::numeric[] = asked
    and sentence ~ ('(?<![0-9.])' || pg_catalog.replace(q.number, '.', '[.]') || '(?![0-9])'));

-- Tells whether a sentence of evidence says, to who asks whether something is so in a version, from
-- which one on it is there, or is gone, and this does not hold of that version: it is a later one,
-- or another sentence, with all that it has of what is asked but for numbers, says the contrary of
-- a later one that is not behind the version of the question.
create or replace function ragdb_internal.is_untold_of(said ragdb_internal.evidence_sentence,
  question text, terms ragdb_internal.asked_term[],
  sentences ragdb_internal.evidence_sentence[])
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern constant text := ragdb_internal.version_pattern(question);
  v_told constant numeric[] := ragdb_internal.version_told(said.sentence, v_pattern);
  v_asked constant numeric[] := case when v_told is not null then (
    select max(string_to_array(q.number, '.')::numeric[])
    from ragdb_internal.numbered_names(question) q) end;
begin
  return v_told is not null and (ragdb_internal.is_of_later(
    said.sentence, question, v_told, v_asked) or exists (
    select from unnest(sentences) s
      cross join lateral (
        select ragdb_internal.version_told(s.sentence, v_pattern) as told offset 0) t
    where t.told > v_told and t.told[: cardinality(v_asked)] <= v_asked
      and ragdb_internal.says_kind(s.sentence, 'end', '')
        <> ragdb_internal.says_kind(said.sentence, 'end', '')
      and s.lexemes @> array(
        select a.lexeme from unnest(terms) a
        where a.lexeme = any (said.lexemes) and a.lexeme !~ '^(?:[0-9]|version$|releas$)')));
end $$;
