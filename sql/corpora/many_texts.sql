-- Putting many texts with ids of the caller's, each whole or cut, with embeddings that it has made.

-- Refuses texts with ids or metadata of another number, and embeddings that do not fit. Raises
-- RG400.
create or replace function ragdb_internal.check_texts(
  texts text[], metadatas jsonb, ids text[], cut boolean, embedder text, embeddings real[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count constant integer := cardinality(texts);
  v_wrong text;
begin
  v_wrong := case
    when texts is null or not ragdb_internal.is_list(texts)
      then 'texts is null, has a null, or more than one dimension'
    when not ragdb_internal.is_list(ids) then 'ids has a null, or more than one dimension'
    when cardinality(ids) <> v_count then format('texts are %s and ids %s', v_count,
      cardinality(ids))
    when coalesce(jsonb_typeof(metadatas), 'null') not in ('array', 'null')
      then 'metadatas is not an array'
    when jsonb_typeof(metadatas) = 'array' and jsonb_array_length(metadatas) <> v_count
      then format('texts are %s and metadatas %s', v_count, jsonb_array_length(metadatas))
    when cut is null then 'cut is null'
    when (embedder is null) <> (embeddings is null)
      then 'one of embedder and embeddings is given without the other'
    when embeddings is not null and cut then 'embeddings are of whole texts, and cut is true'
  end;
  if v_wrong is not null then
    raise exception '%', v_wrong
      using errcode = 'RG400',
        detail = 'each text has one id, one object of metadata and one embedding, where any have',
        hint = 'pass lists of one length, or null for ids and metadatas';
  end if;
end $$;

-- The nth of some texts with its id and metadata.
create type ragdb_internal.given_text as (n integer, id text, text text, metadata jsonb);

-- Returns some texts with their ids; without ids each is named by the hash of what it is, and equal
-- ones are one.
create or replace function ragdb_internal.given_texts(texts text[], metadatas jsonb, ids text[])
returns setof ragdb_internal.given_text
language sql stable parallel safe
begin atomic
  select distinct on (case when given_texts.ids is null then g.id else g.n::text end)
    g.n, g.id, g.text, g.metadata
  from (
    select t.n::integer as n, t.text, m.metadata, coalesce(t.id,
      left(encode(sha256(convert_to(
        jsonb_build_object('text', t.text, 'metadata', m.metadata)::text, 'UTF8')), 'hex'), 32))
      as id
    from unnest(given_texts.texts, given_texts.ids) with ordinality t (text, id, n)
      cross join lateral (
        select coalesce(nullif(given_texts.metadatas -> (t.n - 1)::integer, 'null'), '{}')
        offset 0) m (metadata)) g
  order by case when given_texts.ids is null then g.id else g.n::text end, g.n;
end;

-- Returns a given text as a document: a record of its id, text and metadata, as it was read, cut or
-- whole. Its plan is kept for the next text.
create or replace function ragdb_internal.text_document(
  given ragdb_internal.given_text, read ragdb_internal.markdown_text, cut boolean, language text)
returns jsonb
language sql stable parallel safe
set plan_cache_mode = force_generic_plan
begin atomic
  select jsonb_build_object(
    'doc_cid', 'sha256:' || encode(sha256(r.record), 'hex'), 'uri', (given).id,
    'external_id', (given).id, 'root', 'texts', 'title', (read).title,
    'metadata', (read).metadata || (given).metadata,
    'language', coalesce((read).language, text_document.language),
    'media_type', 'application/json', 'size_bytes', octet_length(r.record),
    'chunking', case when text_document.cut
      then '{"chunker": "para-sent/1", "strategy": "paragraph", "max_tokens": 240, "overlap": 48,
        "unit": "token"}'::jsonb
      else '{"chunker": "whole/1"}' end,
    'chunks', k.chunks, 'links', ragdb_internal.text_links((given).id, read, k.chunks))
  from (
    select case
      when text_document.cut then ragdb_internal.text_chunks(
        (read).body, 'paragraph', 240, 48, 'token', (read).headings)
      when (given).text !~ '[^ \t\n\r\f\v]' then '[]'
      else jsonb_build_array(jsonb_build_object('text', translate((given).text, E'\f', E'\n'),
        'start', 0, 'end', length((given).text), 'tokens', (length((given).text) + 3) / 4)) end
      as chunks offset 0) k
    cross join (
    -- the id too, because two ids of one text are two documents
    select convert_to(jsonb_build_object('id', (given).id, 'text', (given).text,
      'metadata', (given).metadata)::text, 'UTF8') as record offset 0) r;
end;

-- Stores the embeddings of so many texts that have just been put, each by its place among them. A
-- text without a word has no chunk, and a model may have no vector for it. Raises RG415, RG418.
create or replace function ragdb_internal.give_text_embeddings(
  corpus text, given ragdb_internal.given_text[], count integer, embeddings real[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dims constant integer := cardinality(embeddings) / nullif(count, 0);
  v_ids text[];
  v_places integer[];
begin
  select array_agg(g.id order by g.n), array_agg(g.n order by g.n) into v_ids, v_places
    from unnest(given) g where g.text ~ E'[^ \\t\\n\\r\\f\\v]';
  if v_ids is null then
    return;
  end if;
  -- where the numbers do not come to so many vectors, the check of them says it
  if cardinality(v_ids) < count and cardinality(embeddings) = v_dims * count then
    embeddings := array(
      select embeddings[(p.place - 1) * v_dims + i.n]
      from unnest(v_places) with ordinality p (place, n), generate_series(1, v_dims) i (n)
      order by p.n, i.n);
  end if;
  perform ragdb_internal.give_embeddings(
    ragdb_internal.lock_corpus(corpus, 'write'), v_ids, embeddings);
end $$;

create or replace function ragdb.put_texts(
  corpus text, texts text[], metadatas jsonb default null, ids text[] default null,
  cut boolean default true, embedder text default null, embeddings float8[] default null)
returns table (id text, chunks_indexed integer, was_duplicate boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_variable
declare
  v_numbers constant real[] := ragdb_internal.single(embeddings);
  v_given ragdb_internal.given_text[];
  v_read ragdb_internal.markdown_text[];
  v_results ragdb.put_result[];
begin
  perform ragdb_internal.check_texts(texts, metadatas, ids, cut, embedder, v_numbers);
  perform ragdb_internal.ensure_corpus(corpus, texts);
  v_given := array(
    select g from ragdb_internal.given_texts(texts, metadatas, ids) g order by g.n);
  v_read := array(
    select ragdb_internal.read_text(g.text, case when cut then ragdb_internal.text_type(g.id) end)
    from unnest(v_given) g order by g.n);
  if embedder is not null then
    perform ragdb.embed_corpus(corpus, embedder);
  end if;
  v_results := array(select p from ragdb.put_documents(corpus, coalesce(
    (select jsonb_agg(
        ragdb_internal.text_document(v_given[g.n], v_read[g.n], cut, l.language) order by g.n)
      from generate_subscripts(v_given, 1) g (n)
        left join ragdb_internal.guessed_languages(array(
          select r.body from unnest(v_read) with ordinality r (body, title, language, external_id,
            metadata, headings, n) order by r.n)) l on l.n = g.n),
    '[]')) p);
  if embedder is not null then
    perform ragdb_internal.give_text_embeddings(corpus, v_given, cardinality(texts), v_numbers);
  end if;
  return query
    select g.id, r.chunks_indexed, r.was_duplicate
    from unnest(v_given) with ordinality g (n, id, text, metadata, place)
      join unnest(v_results) r on r.position = g.place - 1
    order by g.n;
end $$;
comment on function ragdb.put_texts is
  'Stores texts, at most 10000, each as the document of a source that is called as its id, and '
  'returns the ids; a text that has the id of an earlier one takes its place. metadatas is an '
  'array of objects. Without ids each text is named by a hash of itself and its metadata. The '
  'corpus is created where there is none, with the text configuration of the language that most '
  'texts are in (english: cannot be told). The document of a text has the language that it is in. '
  'Each text is cut into chunks, of an id that ends as in ragdb.put_text as Markdown, or is one '
  '(cut: false), whose id is then that of the text. '
  'embeddings, one behind the other, are those of the texts by an embedder that runs elsewhere, to '
  'which the corpus is bound. Raises RG400, RG401, RG404, RG409, RG411, RG412, RG413, RG416, '
  'RG417, RG418.';
