-- Where a chunk says a quote, for whoever shows a citation.
create or replace function ragdb.locate_quote(corpus text, chunk_id text, quote text)
returns table (method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql stable security definer rows 2 -- none or one; `rows 1` promises one
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_with_chunk(locate_quote.corpus, locate_quote.chunk_id);
  v_chunk constant ragdb.chunks :=
    ragdb_internal.chunk(array[v_corpus], locate_quote.chunk_id);
begin
  if locate_quote.quote is null or length(locate_quote.quote) not between 1 and 10000 then
    raise exception 'quote has % characters', coalesce(length(locate_quote.quote)::text, 'no')
      using errcode = 'RG400', detail = 'a quote is words of the chunk',
        hint = 'give 1 to 10000 characters';
  end if;
  return query
    select f.method, f.start_offset, f.end_offset, f.similarity
      from ragdb_internal.find_quote(v_chunk.text, locate_quote.quote) f
      where f.method is not null;
end $$;
comment on function ragdb.locate_quote is
  'Finds a quote of 1 to 10000 characters in the text of a chunk as ragdb.check_citations does: '
  'method exact, normalised or approximate, similarity (0 to 1), and its place in characters from '
  '0; no row where the chunk does not say it. Raises RG400, RG404, RG406.';
