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
