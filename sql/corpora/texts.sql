-- Putting a text that is cut here. Whoever puts the first text makes the corpus, as `ragdb ingest`
-- does.

-- Creates a corpus where there is none of its name, for the given language, else for that of most
-- of some texts; null is left to the gate. Raises RG401, RG411.
create or replace function ragdb_internal.ensure_corpus(
  corpus text, texts text[], language text default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus is null or exists (
      select from ragdb.corpora c
      where c.corpus_id = ragdb_internal.corpus_number(ensure_corpus.corpus)
        and ragdb_internal.privilege(c) > 0) then
    return;
  end if;
  begin
    perform ragdb.create_corpus(corpus, text_config => coalesce(
      ragdb_internal.language_config(language), ragdb_internal.config_for(texts)));
  exception when sqlstate 'RG409' then
    null;  -- another was quicker, or it is hidden from the caller, which the gate says
  end;
end $$;

-- Returns the chunks of a text as a document gives them, under its headings. Raises RG400.
create or replace function ragdb_internal.text_chunks(
  text text, strategy text, max_tokens integer, overlap integer, unit text,
  headings ragdb_internal.heading[])
returns jsonb
language sql immutable parallel safe
return (
  -- a form feed means a page to a printer, and nothing to a reader
  select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
    'text', pg_catalog.translate(c.content, E'\f', E'\n'),
    'start', c.start_offset, 'end', c.end_offset, 'tokens', c.token_count,
    'heading', case when cardinality(s.starts) > 0 then ragdb_internal.heading_over(
      text_chunks.headings, s.starts, c.start_offset, c.end_offset) end)
    order by c.ordinal), '[]')
  from ragdb_internal.chunk_text(text_chunks.text, text_chunks.strategy, text_chunks.max_tokens,
      text_chunks.overlap, text_chunks.unit) c
    cross join (
      select array(select start_offset from unnest(text_chunks.headings)) as starts offset 0) s);

create or replace function ragdb.put_text(
  corpus text, source text, text text, title text default null, language text default null,
  metadata jsonb default '{}', external_id text default null, strategy text default 'paragraph',
  max_tokens integer default 240, overlap integer default 48, unit text default 'token',
  media_type text default null, force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_bytes constant bytea := convert_to(text, 'UTF8');
  v_type constant text := ragdb_internal.text_type(source, media_type);
  v_read constant ragdb_internal.markdown_text := ragdb_internal.read_text(text, v_type);
  v_language text;
  v_chunks jsonb;
begin
  if text is null or coalesce(source, '') = '' then
    raise exception '%', case when text is null then 'text is null'
        else 'source is null or empty' end
      using errcode = 'RG400', detail = 'a document has a text, which may be empty, and is found '
        'and cited by its source', hint = 'pass a text, and its path or address';
  end if;
  v_language := coalesce(language, v_read.language, (
    select g.language from ragdb_internal.guessed_languages(array[v_read.body]) g));
  perform ragdb_internal.ensure_corpus(corpus, array[v_read.body], v_language);
  v_chunks := ragdb_internal.text_chunks(
    v_read.body, strategy, max_tokens, overlap, unit, v_read.headings);
  return query
    select p.* from ragdb.put_document(
      corpus => corpus, doc_cid => 'sha256:' || encode(sha256(v_bytes), 'hex'), uri => source,
      chunks => v_chunks,
      chunking => jsonb_build_object('chunker', 'para-sent/1', 'strategy', strategy,
        'max_tokens', max_tokens, 'overlap', overlap, 'unit', ragdb_internal.checked_unit(unit)),
      title => coalesce(title, v_read.title), language => v_language, media_type => v_type,
      metadata => v_read.metadata || coalesce(metadata, '{}'),
      external_id => coalesce(external_id, v_read.external_id),
      size_bytes => octet_length(v_bytes)::bigint,
      links => ragdb_internal.text_links(source, v_read, v_chunks),
      force => force) p;
end $$;
comment on function ragdb.put_text is
  'Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document of a '
  'source, as ragdb.put_documents does. Where media_type is null it is text/markdown for a source '
  'that ends in .md, .markdown, .mdown or .mkd, else text/plain. A Markdown text has the title, '
  'headings, links and metadata that ragdb ingest reads of it; front matter that is not plain YAML '
  'stays in the text. What the call gives wins. Where no language is given or named, it is the one '
  'that the text is in. Where there is no such corpus it is created with the text configuration of '
  'that language (english: cannot be told). Raises RG400, RG401, RG404, RG409, RG411, RG412.';
