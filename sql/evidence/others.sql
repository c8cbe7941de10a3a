-- Sentences about another thing than the one that a question is about: beside a manual's own thing
-- its pages speak of its like, and say of that what is asked.

-- Returns the heading that stands over a place of a chunk of evidence: the last one before it, or
-- that over the chunk.
create or replace function ragdb_internal.heading_before(chunk jsonb, start_offset integer)
returns text
language sql immutable parallel safe
return coalesce(
  pg_catalog.substring(pg_catalog.left(chunk ->> 'text', start_offset),
    '^(?:.*\n)?#{1,6} ([^\n]*)'),
  case pg_catalog.jsonb_typeof(chunk -> 'heading') when 'array' then chunk #>> '{heading,-1}' end);

-- Tells whether a sentence, below such a heading, is about another thing by its first word: a name
-- that the question does not have. "It" is what a heading of one word names. A name is what texts
-- write no less often with a capital than without, within sentences and as all of the heading, and
-- at least once, or as what an item says that it is a thing of a kind; in small letters what the
-- heading has.
create or replace function ragdb_internal.is_of_another(
  sentence text, heading text, question text, texts text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_begin constant text := '^[^A-Za-z0-9<`-]*([A-Za-z][A-Za-z0-9]+)(?![A-Za-z0-9_./(-])';
  v_within constant text := ragdb_internal.within_sentence() || '%s(?![[:alnum:]_-])';
  v_headed constant text := substring(heading, v_begin || '[^A-Za-z0-9]*$');
  v_word constant text := case
    when substring(sentence, v_begin) = any ('{It,This,They,These}') then v_headed
    else substring(sentence, v_begin) end;
  v_small constant text := lower(v_word collate "C");
  v_item constant text := v_begin || E'[\\]*_`]*(?:[(][^)\\n]*[)])?[*_]*: an? [A-Za-z]';
begin
  return v_word is not null and strpos(lower(question collate "C"), v_small) = 0 and case
    when v_word = v_small then strpos(lower(heading collate "C"), v_word) > 0
    else regexp_count(texts, format(v_within, v_word)) + (v_word = coalesce(v_headed, ''))::integer
      >= greatest(regexp_count(texts, format(v_within, v_small)),
        case when sentence ~ v_item and v_small <> all (ragdb_internal.labels()) then 0 else 1 end)
    end;
end $$;

-- Tells whether a sentence begins with a longer name than the one that a question is about, which
-- names another thing: Flask-apispec is not Flask, nor Django REST Framework Django.
create or replace function ragdb_internal.begins_with_longer(
  sentence text, name text, question text)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said constant text := substring(sentence, '[A-Za-z].*');
  v_more constant text := substring(
    substr(v_said, length(name) + 1), '^(?:-[A-Za-z]+|(?: [A-Z][A-Za-z0-9]*){2})');
begin
  return v_more is not null
    and starts_with(lower(v_said collate "C"), lower(name collate "C"))
    and strpos(lower(question collate "C"), lower(name || v_more collate "C")) = 0;
end $$;

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

-- Tells whether a sentence of evidence says from which version on something is there, and another
-- one, with all that it has of what is asked but for numbers, from which it is gone.
create or replace function ragdb_internal.was_removed(said ragdb_internal.evidence_sentence,
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[])
returns boolean
language sql immutable parallel safe
return case
  when (said).sentence ~* ragdb_internal.added_or_gone()
    and not ragdb_internal.says_kind((said).sentence, 'end', '')
  then exists (
    select from pg_catalog.unnest(sentences) s
    where s.sentence ~* ragdb_internal.added_or_gone()
      and ragdb_internal.says_kind(s.sentence, 'end', '')
      and s.lexemes @> array(
        select t.lexeme from pg_catalog.unnest(terms) t
        where t.lexeme = any ((said).lexemes) and t.lexeme !~ '^(?:[0-9]|version$|releas$)'))
  else false end;

-- Tells whether a sentence of evidence has a name, by its lexemes, or its heading has it, or the
-- sentence before it begins with it, as in "Flask is a framework. It was created by …".
create or replace function ragdb_internal.is_named(said ragdb_internal.evidence_sentence,
  name text, lexemes text[], sentences ragdb_internal.evidence_sentence[])
returns boolean
language sql immutable parallel safe
return (said).lexemes && is_named.lexemes or (said).headed && is_named.lexemes
  or (said).sentence ~ '^(?:It|This|They|These)\M' and exists (
    select from pg_catalog.unnest(sentences) b
    where b.n = (said).n - 1 and b.chunk_id = (said).chunk_id
      and b.source_id is not distinct from (said).source_id
      and pg_catalog.strpos(pg_catalog.lower(pg_catalog.left(
        b.sentence, pg_catalog.length(name) + 8) collate "C"),
        pg_catalog.lower(name collate "C")) > 0);

-- Tells whether the source of a sentence of evidence has a name, by its lexemes.
create or replace function ragdb_internal.is_named_by_source(
  sentence ragdb_internal.evidence_sentence, lexemes text[], config text)
returns boolean
language sql immutable parallel safe
return is_named_by_source.lexemes && pg_catalog.tsvector_to_array(ragdb_internal.lexemes(
  ragdb_internal.source_words((sentence).source_id), config));

-- Tells whether a sentence of evidence is about another thing than a question.
create or replace function ragdb_internal.is_about_another(
  sentence ragdb_internal.evidence_sentence, question text, evidence jsonb)
returns boolean
language sql immutable parallel safe
return (
  select ragdb_internal.is_of_another((sentence).sentence,
    (select ragdb_internal.heading_before(c.chunk, (sentence).start_offset)
      from pg_catalog.jsonb_array_elements(evidence -> 'chunks') c (chunk)
      where c.chunk ->> 'chunk_id' = (sentence).chunk_id
        and c.chunk ->> 'source_id' is not distinct from (sentence).source_id limit 1), question,
    (select pg_catalog.string_agg(c.chunk ->> 'text', E'\n')
      from pg_catalog.jsonb_array_elements(evidence -> 'chunks') c (chunk))));
