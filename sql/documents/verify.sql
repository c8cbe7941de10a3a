create or replace function ragdb.check_corpus(corpus text, deep boolean default true)
returns table ("check" text, expected text, found text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(check_corpus.corpus, 'read');
  v_id integer := v_corpus.corpus_id;
begin
  if deep is null then
    raise exception 'deep is null'
      using errcode = 'RG400', detail = 'it says whether chunks are analysed again',
        hint = 'the default is true';
  end if;
  return query
    with document as (
      select count(*) as documents, coalesce(sum(d.tokens), 0) as tokens,
        coalesce(sum(d.size_bytes), 0) as bytes,
        ragdb_internal.document_languages(v_id, array_agg(d.doc_no)) as languages
      from ragdb.documents d where d.corpus_id = v_id
    ), chunk as (
      select count(*) as chunks, count(*) filter (where x.chunk_no is null) as unindexed,
        count(*) filter (where c.end_offset - c.start_offset <> length(c.text)) as offsets,
        count(*) filter (where c.content_hash <> ragdb_internal.content_hash(c.text)) as hashes,
        count(*) filter (where c.chunk_id <> c.named) as ids
      from (
        select c.*, case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id
          when d.external_id is null then ragdb_internal.chunk_id(v_corpus.name, d.source_name, d.source,
            c.content_hash,
            row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1)
          when d.chunks = 1 then d.external_id
            else d.external_id || '#' || c.ordinal + 1 end as named
        from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id
          and d.doc_no = c.doc_no
        where c.corpus_id = v_id
      ) c left join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
    ), half as (
      select count(*) filter (where d.chunks <> coalesce(c.chunks, 0)
        or d.tokens <> coalesce(c.tokens, 0)
          or c.chunks <> c.last + 1) as documents,
        count(*) filter (where s.uri is distinct from d.source) as sources
      from ragdb.documents d
        left join (select c.doc_no, count(*) as chunks, sum(c.token_count) as tokens,
          max(c.ordinal) as last
          from ragdb.chunks c where c.corpus_id = v_id group by c.doc_no) c on c.doc_no = d.doc_no
        left join (select s.doc_no, min(s.uri) as uri
          from ragdb.document_sources s where s.corpus_id = v_id group by s.doc_no) s
            on s.doc_no = d.doc_no
      where d.corpus_id = v_id
    ), indexed as (
      select count(*) as chunks, coalesce(sum(x.lexeme_count), 0) as lexemes,
        count(*) filter (where not exists (select from ragdb.chunks c
          where c.corpus_id = v_id and c.chunk_no = x.chunk_no)) as stray
      from ragdb.chunk_lexemes x where x.corpus_id = v_id
    ), df as (
      select count(*) as wrong
      from (select l.term_id, l.df from ragdb.lexemes l where l.corpus_id = v_id and l.df <> 0) l
        full join (select ragdb_internal.term_id(w.lexeme) as term_id, count(*) as df
          from ragdb.chunk_lexemes x, unnest(x.lexemes) w where x.corpus_id = v_id group by 1) n
            on n.term_id = l.term_id
      where l.df is distinct from n.df
    ), analysed as (
      select count(*) as wrong
      from ragdb.chunks c
        join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
        join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
      where c.corpus_id = v_id and deep
        and (select array_agg((w.lexeme, w.positions)::text order by w.lexeme collate "C")
            from unnest(ragdb_internal.lexemes(ragdb_internal.searched_text(d.title, c.heading, c.text),
              v_corpus.text_config)) w)
          is distinct from
          (select array_agg((l.lexeme, w.positions)::text order by l.lexeme)
            from unnest(x.lexemes) w
              join ragdb.lexemes l on l.corpus_id = v_id and l.term_id = ragdb_internal.term_id(w.lexeme))
    )
    select r.what, r.expected::text, r.found::text
    from document, chunk, half, indexed, df, analysed, lateral (values
      ('documents', document.documents, v_corpus.documents::numeric),
      ('chunks', chunk.chunks, v_corpus.chunks),
      ('tokens', document.tokens, v_corpus.token_count),
      ('size_bytes', document.bytes, v_corpus.size_bytes),
      ('lexemes', indexed.lexemes, v_corpus.lexeme_count),
      ('languages with a wrong number of documents', 0,
        (select count(*) from jsonb_object_keys(ragdb_internal.recounted(v_corpus.languages,
          document.languages, '{}')))),
      ('chunks that are not indexed', 0, chunk.unindexed),
      ('index rows without a chunk', 0, indexed.stray),
      ('lexemes with a wrong number of chunks', 0, df.wrong),
      ('chunks that are indexed by another text', 0, analysed.wrong),
      ('documents whose chunks are not all there', 0, half.documents),
      ('documents not named after their first source', 0, half.sources),
      ('chunks whose offsets are not their text''s', 0, chunk.offsets),
      ('chunks whose content_hash is not their text''s', 0, chunk.hashes),
      ('chunks whose id is not their content''s', 0, chunk.ids)
    ) r (what, expected, found)
    where r.expected <> r.found;
end $$;
comment on function ragdb.check_corpus(text, boolean) is
  'Recounts and recomputes a corpus and returns what differs from what is stored: no row means '
  'that all is well. With deep, every chunk is analysed again, which takes as long as indexing it. '
  'Raises RG400, RG404.';

create or replace function ragdb.repair_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb_internal.lock_corpus(repair_corpus.corpus, 'admin')).corpus_id;
begin
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  update ragdb.corpora c
    set (documents, token_count, size_bytes, languages, chunks, lexeme_count, next_term_id) = (
      select count(*), coalesce(sum(d.tokens), 0), coalesce(sum(d.size_bytes), 0),
        ragdb_internal.document_languages(v_id, array_agg(d.doc_no)), 0, 0, 1
      from ragdb.documents d where d.corpus_id = v_id)
    where c.corpus_id = v_id;
  perform ragdb_internal.index_chunks(v_id, array(
    select c.chunk_no from ragdb.chunks c where c.corpus_id = v_id order by c.chunk_no));
end $$;
comment on function ragdb.repair_corpus(text) is
  'Rebuilds a corpus''s counters and lexical index from its documents and chunks. Raises RG400, '
  'RG401, RG404.';
