-- What a search says in notices beside its hits: in syntax web which words of a phrase it does not
-- look for, and that its clauses left nothing; that its filter left nothing to search; that its
-- query has no word; and which of the fields that it counts by no document has.

-- Says in a notice which words a text configuration leaves out of phrases of a query that have
-- fewer than two others.
create or replace function ragdb_internal.say_what_phrases_lack(query text, config text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_phrase text;
  v_places smallint[];
  v_left_out text;
begin
  for v_phrase in
    select c.text from ragdb_internal.query_clauses(query) c where c.is_phrase
  loop
    v_places := array(
      select distinct p from unnest(ragdb_internal.words(v_phrase, config)) w
        cross join unnest(w.positions) p);
    v_left_out := (
      select string_agg(ragdb_internal.quote(w.lexeme), ', ' order by w.positions)
      from unnest(ragdb_internal.words(v_phrase, 'simple')) w
      where not w.positions && v_places);
    continue when v_left_out is null or cardinality(v_places) > 1;
    raise notice 'the phrase % is looked for without %', ragdb_internal.quote(v_phrase), v_left_out
      using detail = 'a text configuration leaves out words that most texts have; within a phrase '
                     'they stand for any word',
            hint = 'put a second word into the quotes that says more';
  end loop;
end $$;

-- Says in a notice that the clauses of a query left nothing, where its words alone find some.
create or replace function ragdb_internal.say_unmet(query text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise notice 'nothing meets the phrases and signs of %', ragdb_internal.quote(query)
    using detail = 'a chunk must have every "phrase" and +word, and no -word; as plain words the '
                   'query finds some',
          hint = 'leave the quotes and signs out, or search with syntax => ''plain''';
end $$;

-- Returns the built-in fields in words.
create or replace function ragdb_internal.built_in_fields() returns text
language sql immutable parallel safe
return (
  select 'built-in are ' || pg_catalog.string_agg(b.field, ', ' order by b.ordinality)
  from ragdb_internal.filter_fields() with ordinality b);

-- Says in a notice that a filter leaves no chunk of some corpora, and which of its fields are not
-- built in, at most five: whoever asks for created_at means said_at.
create or replace function ragdb_internal.say_filtered(corpora ragdb.corpora[], filter jsonb)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_of_metadata text;
begin
  if filter <> '{}' and not exists (
    select from unnest(corpora) c
    where ragdb_internal.filtered_chunks(c.corpus_id, filter, null, 1) <> '{}')
  then
    v_of_metadata := (
      select string_agg(ragdb_internal.quote(m.field), ', ' order by m.field collate "C")
      from (
        select distinct t.field collate "C" as field
        from ragdb_internal.filter_terms(filter) t
        where t.field not in (select b.field from ragdb_internal.filter_fields() b)
        order by 1 limit 5) m);
    raise notice 'no document meets the filter %', ragdb_internal.quote(filter::text)
      using detail = 'a field that no document has in its metadata is met by none',
            hint = coalesce('read from the metadata: ' || v_of_metadata || '; '
                || ragdb_internal.built_in_fields() || '; ', '')
              || case when filter ? 'language' then 'a language is a code, such as de; ' else '' end
              || 'ragdb.facets() counts the values that a field has; {"glob": "*words*"} matches '
                 'a part of one';
  end if;
end $$;

-- Says in a notice each which of some fields are not built in and no document of some corpora has.
create or replace function ragdb_internal.say_unknown(corpora ragdb.corpora[], fields text[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field text;
begin
  for v_field in
    select f.field from unnest(fields) with ordinality f (field, n)
    where f.field not in (select b.field from ragdb_internal.filter_fields() b)
      and not exists (
        select from unnest(corpora) c
        where ragdb_internal.filtered_chunks(c.corpus_id,
          jsonb_build_object(f.field, '{"exists": true}'::jsonb), null, 1) <> '{}')
    order by f.n
  loop
    raise notice 'no document has %', ragdb_internal.quote(v_field)
      using detail = 'what is counted by is a built-in field or a key of the metadata',
            hint = ragdb_internal.built_in_fields();
  end loop;
end $$;

-- Says in a notice that no text configuration of some corpora finds a word in a query.
create or replace function ragdb_internal.say_wordless(corpora ragdb.corpora[], query text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
    select from unnest(corpora) c where ragdb_internal.words(query, c.text_config) <> '')
  then
    raise notice 'the query % has no word to search for', ragdb_internal.quote(query)
      using detail = 'signs are not words, and a text configuration leaves out words that most '
                     'texts have',
            hint = 'ask with a word that says more';
  end if;
end $$;

-- Says in notices what a query came to: that its filter left nothing, that it has no word, that its
-- clauses left nothing (is_empty) where its words alone find some, else which words of phrases are
-- not looked for.
create or replace function ragdb_internal.say_of_query(
  corpora ragdb.corpora[], as_of bigint, statistics ragdb.corpora,
  request ragdb_internal.search_request, is_empty boolean)
returns void
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  if is_empty and as_of is null then
    perform ragdb_internal.say_filtered(corpora, request.filter);
  end if;
  if (request.options).syntax = 'plain' or not ragdb_internal.has_clauses(request.query) then
    if is_empty then
      perform ragdb_internal.say_wordless(corpora, request.query);
    end if;
    return;
  end if;
  request.options.syntax := 'plain';
  if is_empty and (case when as_of is null
      then ragdb_internal.rank_corpora(corpora, statistics, request) <> '{}'
      else (ragdb_internal.search_then(corpora, as_of, statistics, request)).hits <> '{}' end)
  then
    perform ragdb_internal.say_unmet(request.query);
  else
    perform ragdb_internal.say_what_phrases_lack(request.query, corpora[1].text_config);
  end if;
end $$;
