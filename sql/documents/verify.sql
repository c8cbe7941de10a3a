-- Whether a corpus is what its documents and chunks say, and its repair. The checks are as those of
-- the lexical index (verify_index.sql); ragdb.check_corpus leaves out what agrees.

-- Counts what a corpus says that it has, and holds the numbers that it gives next to those given.
create or replace function ragdb_internal.counter_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select r.*
  from ragdb_internal.count_corpus((corpus).corpus_id) d, lateral (values
    ('documents', d.documents::numeric, (corpus).documents::numeric),
    ('chunks', (select count(*) from ragdb.chunks c where c.corpus_id = (corpus).corpus_id),
      (corpus).chunks),
    ('tokens', d.tokens, (corpus).token_count),
    ('size_bytes', d.size_bytes, (corpus).size_bytes),
    ('lexemes', (select coalesce(sum(x.lexeme_count), 0) from ragdb.chunk_lexemes x
      where x.corpus_id = (corpus).corpus_id), (corpus).lexeme_count),
    ('next_doc_no', greatest((corpus).next_doc_no, 1 + (select max(o.doc_no)
      from ragdb.documents o where o.corpus_id = (corpus).corpus_id)), (corpus).next_doc_no),
    ('next_chunk_no', greatest((corpus).next_chunk_no, 1 + (select max(c.chunk_no)
      from ragdb.chunks c where c.corpus_id = (corpus).corpus_id)), (corpus).next_chunk_no),
    ('next_term_id', greatest((corpus).next_term_id, 1 + (select max(l.term_id)
      from ragdb.lexemes l where l.corpus_id = (corpus).corpus_id)), (corpus).next_term_id),
    ('languages with a wrong number of documents', 0,
      (select count(*) from jsonb_object_keys(
        ragdb_internal.recounted((corpus).languages, d.languages, '{}'))))
  ) r ("check", expected, found);
end;

-- Compares documents with their chunks and with their sources.
create or replace function ragdb_internal.document_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select 'documents whose chunks are not all there', 0::numeric, count(*)::numeric
  from ragdb.documents d
    left join (
      select c.doc_no, count(*) as chunks, sum(c.token_count) as tokens, max(c.ordinal) as last
      from ragdb.chunks c where c.corpus_id = (corpus).corpus_id group by c.doc_no) c
      on c.doc_no = d.doc_no
  where d.corpus_id = (corpus).corpus_id
    and (d.chunks <> coalesce(c.chunks, 0) or d.tokens <> coalesce(c.tokens, 0)
      or c.chunks <> c.last + 1)
  union all
  select 'documents not named after their first source', 0, count(*)
  from ragdb.documents d
    left join (
      select s.doc_no, count(*) as sources, min(s.uri) as uri
      from ragdb.document_sources s where s.corpus_id = (corpus).corpus_id group by s.doc_no) s
      on s.doc_no = d.doc_no
  where d.corpus_id = (corpus).corpus_id and (s.uri is distinct from d.source
    or d.name <> ragdb_internal.document_name(d.chunking, d.external_id, d.source)
    or s.sources > 1 and d.name like 'source %');
end;

-- Compares offsets, hashes and ids of chunks with their texts.
create or replace function ragdb_internal.chunk_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select r.* from (
    select
      count(*) filter (where c.end_offset - c.start_offset <> length(c.text)) as offsets,
      count(*) filter (where c.content_hash <> ragdb_internal.content_hash(c.text)) as hashes,
      count(*) filter (where c.chunk_id <> ragdb_internal.chunk_name(
        c.own_id, c.external_id, c.chunks, c.ordinal, c.slug, c.bytes, c.content_hash, c.nth)
        ) as ids
    from (
      select c.chunk_id, c.ordinal, c.start_offset, c.end_offset, c.text, c.content_hash,
        case when d.has_turns then c.chunk_id end as own_id, d.external_id, d.chunks, d.slug,
        d.bytes,
        row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1 as nth
      from ragdb.chunks c
        join (
          select o.doc_no, o.external_id, o.chunks,
            ragdb_internal.has_turns(o.chunking) as has_turns,
            ragdb_internal.source_slug(o.source_name, o.source) as slug,
            ragdb_internal.source_bytes(n.name, o.source_name, o.source) as bytes
          from ragdb.documents o
            cross join (select (ragdb_internal.whole_of(corpus)).name offset 0) n
          where o.corpus_id = (corpus).corpus_id offset 0) d on d.doc_no = c.doc_no
      where c.corpus_id = (corpus).corpus_id) c
  ) wrong, lateral (values
    ('chunks whose offsets are not their text''s', 0::numeric, wrong.offsets::numeric),
    ('chunks whose content_hash is not their text''s', 0, wrong.hashes),
    ('chunks whose id is not their content''s', 0, wrong.ids)
  ) r ("check", expected, found);
end;

create or replace function ragdb.check_corpus(corpus text, deep boolean default true)
returns table ("check" text, expected text, found text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if deep is null then
    raise exception 'deep is null'
      using errcode = 'RG400', detail = 'it says whether chunks are analysed again',
        hint = 'the default is true';
  end if;
  return query
    select case when p.name = check_corpus.corpus then '' else p.name || ': ' end || c."check",
      c.expected::text, c.found::text
    from unnest(ragdb_internal.open_with_parts(check_corpus.corpus)) p
      cross join lateral (
        select * from ragdb_internal.counter_checks(p)
        union all select i.* from ragdb_internal.index_checks(p) i where not deep
        union all select d.* from ragdb_internal.deep_checks(p) d where deep
        union all select * from ragdb_internal.document_checks(p)
        union all select * from ragdb_internal.chunk_checks(p)) c
    where c.expected <> c.found
    union all
    select w."check", w.expected::text, w.found::text
    from ragdb.corpora o cross join lateral ragdb_internal.whole_checks(o) w
    where o.name = check_corpus.corpus and o.parts > 0 and w.expected <> w.found;
end $$;
comment on function ragdb.check_corpus is
  'Recounts and recomputes a corpus, or each of its parts and what is counted of them, and returns '
  'what differs from what is stored: no row means that all is well. With deep, every chunk is '
  'analysed again, which takes as long as indexing it. Raises RG400, RG404.';

create or replace function ragdb.repair_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.lock_corpus(repair_corpus.corpus, 'admin', true);
  v_id constant integer := v_corpus.corpus_id;
begin
  perform ragdb_internal.stem_synonyms(v_corpus), ragdb_internal.stem_statements(v_corpus);
  if v_corpus.parts > 0 then
    perform ragdb_internal.recount_parts(v_corpus);
    return;
  end if;
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  delete from ragdb.block_states s where s.corpus_id = v_id;
  update ragdb.corpora c
    set analysed_by = ragdb_internal.server_major(),
      (documents, token_count, size_bytes, languages, chunks, lexeme_count, next_term_id,
        next_doc_no, next_chunk_no) = (
      select n.documents, n.tokens, n.size_bytes, n.languages, 0, 0, 1,
        greatest(c.next_doc_no, 1 + (
          select max(d.doc_no) from ragdb.documents d where d.corpus_id = v_id)),
        greatest(c.next_chunk_no, 1 + (
          select max(h.chunk_no) from ragdb.chunks h where h.corpus_id = v_id))
      from ragdb_internal.count_corpus(v_id) n)
    where c.corpus_id = v_id;
  perform ragdb_internal.index_in_turns(v_id, array(
    select c.chunk_no from ragdb.chunks c where c.corpus_id = v_id order by c.chunk_no));
end $$;
comment on function ragdb.repair_corpus is
  'Rebuilds a corpus''s counters, lexical index and the lexemes of its synonyms, atoms and '
  'proposals from its documents, its chunks and their texts; of one with parts, what it counts of '
  'them. Raises RG400, RG401, RG404, RG413.';
