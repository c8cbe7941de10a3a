-- The texts of chunks with the words that a query matches between two marks.

-- Returns a pattern of the words of a run of letters and digits: of a script without spaces each
-- letter with its marks, and with the vowels that normalisation takes from it.
create or replace function ragdb_internal.letters_and_words() returns text
language sql immutable parallel safe
return pg_catalog.format('[%s](?:[%s\u0e33\u0eb3\u1160-\u11ff]|[%s][%1$s])*|[A-Za-z0-9%4$s]+|.',
  ragdb_internal.spaceless_letters(), ragdb_internal.spaceless_marks(), ragdb_internal.stackers(),
  ragdb_internal.spaced());

-- Returns a run of letters and digits with those of its words that are asked between two marks: of
-- a script without spaces pairs of letters, and a letter that stands alone.
create or replace function ragdb_internal.marked_letters(
  run text, config text, asked text[], start_mark text, end_mark text)
returns text
language sql stable parallel safe
begin atomic
  with letters as (
    select m.part[1] as word, m.n, k.is_letter, k.is_letter and lag(k.is_letter) over w as is_next,
      k.is_letter and coalesce(lead(k.is_letter) over w, false) as has_next,
      lead(m.part[1]) over w as next
    from pg_catalog.regexp_matches(marked_letters.run,
        '(' || ragdb_internal.letters_and_words() || ')', 'g') with ordinality m (part, n)
      cross join lateral (select m.part[1] ~ ('^[' || ragdb_internal.spaceless_letters() || ']')
        as is_letter offset 0) k
    window w as (order by m.n)),
  told as (
    select l.*, case
        when l.has_next then x.lexemes <@ marked_letters.asked
        when l.is_next then false
        else x.lexemes && marked_letters.asked end as is_asked
    from letters l
      cross join lateral (select pg_catalog.tsvector_to_array(ragdb_internal.lexemes(
        l.word || case when l.has_next then l.next else '' end, marked_letters.config))
        as lexemes offset 0) x),
  marked as (
    select t.*, t.is_asked or t.is_next and lag(t.is_asked) over (order by t.n) as is_marked
    from told t)
  select pg_catalog.string_agg(case when m.starts then marked_letters.start_mark else '' end
    || m.word || case when m.ends then marked_letters.end_mark else '' end, '' order by m.n)
  from (
    select k.word, k.n, k.is_marked and not coalesce(k.is_next and lag(k.is_marked) over w, false)
        as starts,
      k.is_marked and not coalesce(lead(k.is_next and k.is_marked) over w, false) as ends
    from marked k window w as (order by k.n)) m;
end;

-- Returns a run of letters and digits, which has one of the asked lexemes, with marks: between two
-- where it is one word.
create or replace function ragdb_internal.marked_run(
  run text, config text, asked text[], start_mark text, end_mark text)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(run) > length(run)
      and run ~ ('[' || ragdb_internal.spaceless_letters() || ']') then
    return ragdb_internal.marked_letters(run, config, asked, start_mark, end_mark);
  end if;
  return start_mark || run || end_mark;
end $$;

-- Returns the texts of chunks with the words that have one of the asked lexemes between two marks.
-- Words are looked up in runs of letters and digits as they stand in the text, so that its
-- punctuation survives; each once, because texts say most of their words more than once. Raises
-- RG406.
create or replace function ragdb_internal.marked_texts(
  corpora ragdb.corpora[], chunk_ids text[], asked text[], start_mark text, end_mark text)
returns table (chunk_id text, text text)
language sql stable parallel safe
begin atomic
  with runs as materialized (
    select i.chunk_id, r.part[1] as gap, r.part[2] as word, r.n
    from (select distinct u.chunk_id from pg_catalog.unnest(marked_texts.chunk_ids) u (chunk_id)) i
      cross join lateral pg_catalog.regexp_matches(
        (ragdb_internal.chunk(marked_texts.corpora, i.chunk_id)).text,
        pg_catalog.replace('([^A-Za-z0-9&]*)([A-Za-z0-9&]*)', '&', ragdb_internal.wordly()), 'g')
        with ordinality r (part, n)),
  words as materialized (
    select d.word, case when pg_catalog.tsvector_to_array(ragdb_internal.lexemes(d.word,
          (marked_texts.corpora)[1].text_config)) && marked_texts.asked
        then ragdb_internal.marked_run(d.word, (marked_texts.corpora)[1].text_config,
          marked_texts.asked, marked_texts.start_mark, marked_texts.end_mark)
        else d.word end as marked
    from (select distinct o.word from runs o) d)
  select r.chunk_id, pg_catalog.string_agg(r.gap || w.marked, '' order by r.n)
  from runs r join words w on w.word = r.word
  group by r.chunk_id;
end;

create or replace function ragdb.highlight_chunks(
  corpus text, chunk_ids text[], query text, start_mark text default '**',
  end_mark text default '**', syntax text default 'plain')
returns table (chunk_id text, text text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_with_parts(corpus);
  v_asked text[];
begin
  if query is null or start_mark is null or end_mark is null then
    raise exception '% is null', case when query is null then 'query'
        when start_mark is null then 'start_mark' else 'end_mark' end
      using errcode = 'RG400', detail = 'marking words needs every argument',
            hint = 'leave the marks out for **bold**';
  elsif greatest(length(start_mark), length(end_mark)) > 100 then
    raise exception 'a mark has % characters', greatest(length(start_mark), length(end_mark))
      using errcode = 'RG400', detail = 'every word that is found stands between two marks',
            hint = 'a mark has at most 100 characters';
  elsif query ~ E'\\S' then
    perform ragdb_internal.check_query(query);
  end if;
  perform ragdb_internal.check_syntax(syntax);
  if (cardinality(chunk_ids) <= 1000 and ragdb_internal.is_list(chunk_ids)) is not true then
    raise exception 'chunk_ids is not a list of ids'
      using errcode = 'RG400', detail = 'a list has one dimension, no null and 1,000 ids at most',
            hint = 'pass an array, such as array[''a'', ''b'']';
  end if;
  -- as an argument, for each word of the texts again
  v_asked := tsvector_to_array(ragdb_internal.lexemes(
    coalesce(ragdb_internal.ranking_text(ragdb_internal.read_query(query, syntax)), ''),
    v_corpora[1].text_config));
  return query select m.chunk_id, m.text from ragdb_internal.marked_texts(
    v_corpora, chunk_ids, v_asked, start_mark, end_mark) m;
end $$;
comment on function ragdb.highlight_chunks is
  'Returns the texts of at most 1,000 chunks, in any order, with the words that a query matches '
  'between two marks. Raises RG400, RG401, RG404, RG406.';

create or replace function ragdb.highlight(
  corpus text, chunk_id text, query text, start_mark text default '**', end_mark text default '**',
  syntax text default 'plain')
returns text
language sql stable security definer
begin atomic
  select h.text from ragdb.highlight_chunks(highlight.corpus, array[highlight.chunk_id],
    highlight.query, highlight.start_mark, highlight.end_mark, highlight.syntax) h;
end;
comment on function ragdb.highlight is
  'Returns the text of a chunk with the words that a query matches between two marks. Raises '
  'RG400, RG401, RG404, RG406.';
