-- The terms of a question, and the sentences of evidence that speak of what it names.

-- A term of a question and what it weighs: more, the fewer sentences have it.
create type ragdb_internal.asked_term as (lexeme text, weight float8);

-- Returns what the name of a folder weighs: more than all other names of a question do.
create or replace function ragdb_internal.folder_weight() returns float8
language sql immutable parallel safe
return 1000;

-- Returns the terms of a question with what each weighs among these sentences; of what it only
-- tells, those that one of them has.
create or replace function ragdb_internal.asked_terms(lexemes text[], told text[],
  sentences ragdb_internal.evidence_sentence[]) returns ragdb_internal.asked_term[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(a.lexeme, ragdb_internal.cautious_idf(cardinality(sentences), d.df)
      )::ragdb_internal.asked_term
    from unnest(asked_terms.lexemes) a (lexeme)
      cross join lateral (
        select count(*)::integer as df from unnest(sentences) s
        where a.lexeme = any (s.lexemes) or a.lexeme = any (s.headed)) d
    where d.df > 0 or a.lexeme <> all (asked_terms.told));
end $$;

-- Returns what a question names as terms: names and those that are folders of its evidence. What
-- lies in another folder and does not name that speaks of another thing, so one weighs more than
-- all names do. 12,000 is named as 12000, and its lexemes are 12 and 000, so a number need be no
-- term of the question.
create or replace function ragdb_internal.named_terms(names text[], folders text[],
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[])
returns ragdb_internal.asked_term[]
language sql immutable parallel safe
return ragdb_internal.asked_terms(array(
    select n from pg_catalog.unnest(named_terms.names) n
    where n <> all (folders)
      and (n ~ '^[0-9]{4,}$' or n in (select t.lexeme from pg_catalog.unnest(terms) t))
    order by n collate "C"), '{}', sentences)
  || array(select row(f, ragdb_internal.folder_weight())::ragdb_internal.asked_term
    from pg_catalog.unnest(named_terms.folders) f);

-- Returns what a text has to weigh that names enough of some names: the share of them that a
-- question needs, and each folder; one folder where things are compared.
create or replace function ragdb_internal.least_weight(
  names ragdb_internal.asked_term[], asked text)
returns float8
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_least constant float8 := ragdb_internal.least_named(asked);
  v_folders constant integer := (
    select count(*) from unnest(names) n where n.weight = ragdb_internal.folder_weight());
begin
  return ragdb_internal.folder_weight()
      * case when v_least < 0.5 then least(v_folders, 1) else v_folders end
    + coalesce(v_least * (
      select sum(n.weight order by n.lexeme collate "C") from unnest(names) n
      where n.weight < ragdb_internal.folder_weight()), 0);
end $$;

-- Returns what those of some terms weigh that are among these lexemes, and half of it for those
-- that are in the headings alone.
create or replace function ragdb_internal.weight_of(
  terms ragdb_internal.asked_term[], lexemes text[], headed text[])
returns float8
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.sum(case when t.lexeme = any (weight_of.lexemes) then t.weight
    when t.lexeme = any (weight_of.headed) then t.weight / 2 end
    order by t.lexeme collate "C"), 0)
  from pg_catalog.unnest(weight_of.terms) t);

-- Returns those of some terms that a text says in another form than their lexeme: two as one word,
-- a number of four digits or more with signs between its thousands, and a version by one of its
-- own, as 2.4 by 2.4.1.
create or replace function ragdb_internal.said_otherwise(
  text text, lexemes text[], terms ragdb_internal.asked_term[])
returns text[]
language sql immutable parallel safe
return array(
  select t.lexeme from pg_catalog.unnest(terms) t
  where t.lexeme <> all (said_otherwise.lexemes) and case
    when t.lexeme in (
      select j.part
      from (
          select p.lexeme, pg_catalog.substr(l, pg_catalog.length(p.lexeme) + 1) as rest
          from pg_catalog.unnest(terms) p
            join pg_catalog.unnest(said_otherwise.lexemes) l on pg_catalog.starts_with(l, p.lexeme)
          offset 0) a
        join pg_catalog.unnest(terms) o on o.lexeme = a.rest
        cross join lateral pg_catalog.unnest(array[a.lexeme, o.lexeme]) j (part)) then true
    when t.lexeme ~ '^[1-9][0-9]{3,}$' then exists (
      select from pg_catalog.regexp_matches(said_otherwise.text,
        '(?<![0-9]|[0-9][.,])(' || ragdb_internal.parted_thousands() || ')', 'g') r
      where ragdb_internal.plain_number(r[1]) = t.lexeme)
    when t.lexeme ~ '^[0-9]+(?:[.][0-9]+)+$' then exists (
      select from pg_catalog.unnest(said_otherwise.lexemes) l
      where pg_catalog.starts_with(l, t.lexeme || '.')) end);

-- Returns those of some terms that are numbers of up to three digits and that a text has only as
-- the number of an item or within another number, but for the first part of a version: 3.11 is a
-- Python 3, and 1.3 is none.
create or replace function ragdb_internal.misnamed(
  text text, terms ragdb_internal.asked_term[])
returns text[]
language sql immutable parallel safe
return array(
  select t.lexeme from pg_catalog.unnest(terms) t
  where t.lexeme ~ '^[0-9]{1,3}$' and pg_catalog.regexp_replace(
    misnamed.text, '(^|\n)[ \t]*[0-9]{1,3}[.)][ \t]', E'\\1', 'g')
      !~ ('(?<![0-9]|[0-9][.,])' || t.lexeme || '(?![0-9]|,[0-9]{3})'));

-- Returns the words of a source: its path or address without the signs between them.
create or replace function ragdb_internal.source_words(source_id text) returns text
language sql immutable parallel safe
return pg_catalog.translate(source_id, '/_.#-', '     ');

-- Returns for each chunk of evidence what those of some terms weigh that it names, or its source,
-- what stands over it and the question that it answers, and those that the chunks of its document
-- name which are evidence. A text goes on to speak of a thing without its name.
create or replace function ragdb_internal.naming_chunks(
  evidence jsonb, config text, read_as jsonb, names ragdb_internal.asked_term[])
returns table (source_id text, chunk_id text, own float8, document float8)
language sql immutable parallel safe
begin atomic
  with said as materialized (
    select c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id,
      array(
        select s.lexeme
        from pg_catalog.unnest(
          l.lexemes || ragdb_internal.said_otherwise(t.text, l.lexemes, names)) s (lexeme)
        where s.lexeme <> all (ragdb_internal.misnamed(t.text, names))) as lexemes
    from pg_catalog.jsonb_array_elements(naming_chunks.evidence -> 'chunks') c (chunk)
      cross join lateral (
        select pg_catalog.concat_ws(E'\n',
          ragdb_internal.source_words(c.chunk ->> 'source_id'),
          ragdb_internal.said_in_chunk(c.chunk)) as text offset 0) t
      cross join lateral (
        select ragdb_internal.also_says(pg_catalog.tsvector_to_array(
          ragdb_internal.lexemes(t.text, config)), read_as) as lexemes offset 0) l
  )
  select s.source_id, s.chunk_id, ragdb_internal.weight_of(names, s.lexemes, '{}'),
    ragdb_internal.weight_of(names, d.lexemes, '{}')
  from said s
    cross join lateral (
      select pg_catalog.array_agg(l.lexeme) as lexemes
      from said o
        cross join lateral pg_catalog.unnest(o.lexemes) l (lexeme)
      where o.source_id is not distinct from s.source_id) d;
end;

-- Returns the sentences but those of another version: under a heading with a version, where what
-- names another one stands under a heading with that, or one of its own, as 2.4.1 of 2.4, in the
-- same document, as in release notes.
create or replace function ragdb_internal.of_version(
  names ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[])
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version constant text := '^[0-9]+(?:[.][0-9]+)+$';
  v_asked constant text[] := array(
    select distinct h
    from unnest(sentences) s cross join unnest(s.headed) h
      join unnest(names) n on n.lexeme ~ v_version and starts_with(h || '.', n.lexeme || '.'));
  v_sources constant text[] := array(
    select distinct s.source_id from unnest(sentences) s where s.headed && v_asked);
begin
  return case when v_sources = '{}' then sentences else array(
    select s from unnest(sentences) s
    where array_position(v_sources, s.source_id) is null
      or s.headed || s.lexemes && v_asked
      or not exists (select from unnest(s.headed) h where h ~ v_version)
    order by s.n) end;
end $$;

-- Returns the sentences of evidence that may answer what names some things: those of documents that
-- name enough of them, by weight. What stands in a chunk that names too few itself counts less:
-- another thing of the same document may be meant. All where nothing is named.
create or replace function ragdb_internal.naming_sentences(evidence jsonb, config text,
  read_as jsonb, names ragdb_internal.asked_term[], asked text,
  sentences ragdb_internal.evidence_sentence[])
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_least constant float8 := ragdb_internal.least_weight(names, asked);
begin
  return case when names = '{}' then sentences else array(
    select row(s.n, s.source_id, s.chunk_id, s.page,
        s.score * case when c.own < v_least then 0.7 else 1 end, s.start_offset, s.end_offset,
        s.sentence, s.lexemes, s.headed)::ragdb_internal.evidence_sentence
    from (
        select * from ragdb_internal.naming_chunks(evidence, config, read_as, names) c
        where greatest(c.own, c.document) >= v_least) c
      join unnest(ragdb_internal.of_version(names, sentences)) s on s.chunk_id = c.chunk_id
        and s.source_id is not distinct from c.source_id
    order by s.n) end;
end $$;
