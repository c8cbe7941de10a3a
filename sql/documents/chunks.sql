-- Reading chunks and the texts that they are of, as in read.sql.

-- Returns the citation of a chunk: its source, where it has none of its own.
create or replace function ragdb_internal.chunk_citation(citation jsonb, source text) returns jsonb
language sql immutable parallel safe
return coalesce(citation, pg_catalog.jsonb_build_object('uri', source));

-- Returns the chunk of an id; no row where there is none.
create or replace function ragdb_internal.chunk_by_id(corpus_id integer, chunk_id text)
returns setof ragdb.chunk
language sql stable parallel safe
begin atomic
  select c.chunk_id, d.doc_cid, c.ordinal, c.source, d.title, c.heading, c.page, c.start_offset,
    c.end_offset, c.token_count, c.text,
    ragdb_internal.chunk_citation(c.citation, c.source),
    encode(ragdb_internal.content_hash(c.text), 'hex'), d.metadata
  from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  where c.corpus_id = chunk_by_id.corpus_id and c.chunk_id = chunk_by_id.chunk_id;
end;

create or replace function ragdb.get_chunk(corpus text, chunk_id text) returns setof ragdb.chunk
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_with_chunk(get_chunk.corpus, get_chunk.chunk_id);
begin
  return query
    select c.* from ragdb_internal.chunk_by_id(v_corpus.corpus_id, get_chunk.chunk_id) c;
  if not found then
    perform ragdb_internal.missing_chunk(v_corpus, chunk_id);
  end if;
end $$;
comment on function ragdb.get_chunk is
  'Returns one chunk by its id. Raises RG400, RG404, RG406.';

-- A reader is shown the beginning of an id, and may give that back.
create or replace function ragdb.find_chunk(corpus text, prefix text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(find_chunk.corpus, 'read', true);
  v_id text;
begin
  select c.chunk_id into v_id from ragdb_internal.chunk_of(v_corpus.corpus_id, prefix) c;
  if not found and prefix <> '' then
    v_id := ragdb_internal.only_id(array(
      select distinct c.chunk_id from unnest(ragdb_internal.readable_ids(v_corpus)) i (id)
        cross join lateral (
          select k.chunk_id from ragdb.chunks k
          where k.corpus_id = i.id
            and k.chunk_id >= prefix and k.chunk_id <= ragdb_internal.past_prefix(prefix)
          order by k.chunk_id limit 2) c
        order by c.chunk_id limit 2), 'chunk', prefix);
  end if;
  if v_id is null then
    raise exception 'corpus % has no chunk %',
        ragdb_internal.quote(corpus), coalesce(ragdb_internal.quote(prefix), 'null')
      using errcode = 'RG406', detail = 'neither is it an id, nor does an id begin so',
        hint = 'ragdb.search() returns chunk ids';
  end if;
  return v_id;
end $$;
comment on function ragdb.find_chunk is
  'Returns the id of the one chunk of a corpus that is named so, or whose id alone begins so. '
  'Raises RG400, also where two do, RG404, RG406.';

create or replace function ragdb.document_chunks(
  corpus text, document text, first integer default 0, count integer default null)
returns setof ragdb.chunk
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(document_chunks.corpus, 'read', true);
  v_document constant ragdb.documents :=
    ragdb_internal.find_document(v_corpus, document_chunks.document);
begin
  if first is null or first < 0 or count < 1 then
    raise exception 'first is % and count %', coalesce(first::text, 'null'),
        coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'they say where a page begins and how many chunks it has',
        hint = 'first is the ordinal of a chunk, from 0; count is 1 or more, and null for all';
  end if;
  return query
    select r.* from ragdb.chunks c
      cross join lateral ragdb_internal.chunk_by_id(c.corpus_id, c.chunk_id) r
    where c.corpus_id = v_document.corpus_id and c.doc_no = v_document.doc_no
      and c.ordinal >= first and (count is null or c.ordinal < first::bigint + count)
    order by c.ordinal;
end $$;
comment on function ragdb.document_chunks is
  'Returns the chunks of a document, named as for ragdb.get_document, in order: all, or count (1 '
  'or more) from the ordinal first on. Raises RG400, RG404, RG405, RG425.';

-- Returns the text of a run of chunks of a document. Chunks overlap, and leave the white space
-- between them out.
create or replace function ragdb_internal.joined_text(
  corpus_id integer, doc_no integer, first_ordinal integer, last_ordinal integer)
returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(
    -- turns have no offsets
    pg_catalog.repeat(E'\n', case when x.is_first then 0
      else least(greatest(coalesce(x.start_offset - x.covered, 2), 0), 2) end)
    || pg_catalog.substr(x.text, greatest(coalesce(x.covered - x.start_offset, 0), 0) + 1),
    '' order by x.ordinal)
  from (
    select c.*, pg_catalog.row_number() over w = 1 as is_first,
      coalesce(max(c.end_offset) over (w rows between unbounded preceding and 1 preceding),
        c.start_offset) as covered
    from ragdb.chunks c
    where c.corpus_id = joined_text.corpus_id and c.doc_no = joined_text.doc_no
      and c.ordinal between joined_text.first_ordinal and joined_text.last_ordinal
    window w as (order by c.ordinal)) x);

create or replace function ragdb.document_text(corpus text, document text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(document_text.corpus, 'read', true);
  v_document constant ragdb.documents :=
    ragdb_internal.find_document(v_corpus, document_text.document);
begin
  return ragdb_internal.joined_text(
    v_document.corpus_id, v_document.doc_no, 0, v_document.chunks);
end $$;
comment on function ragdb.document_text is
  'Returns the text of a document, named as for ragdb.get_document, as its chunks have it: each '
  'character once, with a line end or two for white space that no chunk has; null without chunks. '
  'Raises RG400, RG404, RG405, RG425.';
