-- Words are looked up in runs of letters and digits as they stand in the text, so that its
-- punctuation survives.
create or replace function ragdb.highlight(
  corpus text, chunk_id text, query text, start_mark text default '**', end_mark text default '**')
returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read');
  v_text text;
  v_asked text := query;
  v_lexemes text[];
  v_run record;
  v_marked text := '';
begin
  if query is null or start_mark is null or end_mark is null then
    raise exception '% is null',
      case when query is null then 'query' when start_mark is null then 'start_mark'
      else 'end_mark' end
      using errcode = 'RG400', detail = 'every argument of highlight() needs a value',
        hint = 'leave the marks out for **bold**';
  end if;
  select c.text into v_text from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = highlight.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb_internal.quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb_internal.quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb_internal.has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_asked
      from ragdb_internal.query_clauses(query) c;
  end if;
  v_lexemes := tsvector_to_array(ragdb_internal.lexemes(coalesce(v_asked, ''), v_corpus.text_config));
  for v_run in
    select r.part[1] as gap, r.part[2] as word,
      tsvector_to_array(ragdb_internal.lexemes(r.part[2], v_corpus.text_config)) && v_lexemes as hits
    from regexp_matches(v_text, '([^A-Za-z0-9' || ragdb_internal.wordly() || ']*)([A-Za-z0-9'
      || ragdb_internal.wordly() || ']*)', 'g') r (part)
  loop
    v_marked := v_marked || v_run.gap
      || case when v_run.hits then start_mark || v_run.word || end_mark else v_run.word end;
  end loop;
  return v_marked;
end $$;
comment on function ragdb.highlight(text, text, text, text, text) is
  'Returns the text of a chunk with the words that a query matches between two marks. Raises '
  'RG400, RG401, RG404, RG406.';
