-- Whether a corpus is what its documents and chunks say, and its repair. Each of the checks below
-- recounts or recomputes a part and returns what there should be beside what there is;
-- ragdb.check_corpus leaves out what agrees.

create type ragdb_internal.corpus_check as ("check" text, expected numeric, found numeric);
comment on type ragdb_internal.corpus_check is 'What there should be, and what there is.';

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
    ('languages with a wrong number of documents', 0,
      (select count(*) from jsonb_object_keys(
        ragdb_internal.recounted((corpus).languages, d.languages, '{}'))))
  ) r ("check", expected, found);
end;
comment on function ragdb_internal.counter_checks(ragdb.corpora) is
  'Counts what a corpus says that it has.';

-- Where a search would overlook a chunk: a posting that neither a list nor a block has, nor chunks
-- that are looked at in any case.
create or replace function ragdb_internal.block_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  with blocks as materialized (
    select b.term_id, 64 * b.block_no + e.entries[i]::integer - 1 as group_no,
      e.entries[i + 1] / b.weight as impact
    from ragdb.term_blocks b
      cross join lateral (select ragdb_internal.entries(b.scores) as entries offset 0) e
      cross join generate_series(1, cardinality(e.entries), 2) i
    where b.corpus_id = (corpus).corpus_id
  )
  select 'words of chunks that blocks lack', 0::numeric, count(*)::numeric
  from ragdb_internal.stored_postings((corpus).corpus_id) p
    join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.term_id = p.term_id
    left join ragdb.block_states s on s.corpus_id = (corpus).corpus_id
    left join blocks b on b.term_id = p.term_id and b.group_no = (p.chunk_no - 1) / 4
  where l.in_blocks and p.chunk_no <= s.last_chunk_no and p.chunk_no <> all (s.stale_chunks)
    and p.chunk_no <> all (l.chunk_nos) and (b.impact >= 0.999999 * p.impact) is not true;
end;
comment on function ragdb_internal.block_checks(ragdb.corpora) is
  'Compares the blocks of a corpus with the rows of its lexical index.';

create or replace function ragdb_internal.index_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select 'chunks that are not indexed', 0::numeric, count(*)::numeric
  from ragdb.chunks c
  where c.corpus_id = (corpus).corpus_id
    and not exists (select from ragdb.chunk_lexemes x
      where x.corpus_id = (corpus).corpus_id and x.chunk_no = c.chunk_no)
  union all
  select 'index rows without a chunk', 0, count(*)
  from ragdb.chunk_lexemes x
  where x.corpus_id = (corpus).corpus_id
    and not exists (select from ragdb.chunks c
      where c.corpus_id = (corpus).corpus_id and c.chunk_no = x.chunk_no)
  union all
  select w."check", 0, w.found
  from (
    select count(*) filter (where coalesce(l.df, 0) <> coalesce(n.df, 0)) as counts,
      count(*) filter (where l.chunk_nos is distinct from n.chunk_nos) as lists
    from (
      select l.term_id, l.df, case when not l.in_blocks
        then array(select c from unnest(l.chunk_nos) c order by 1) end as chunk_nos, l.in_blocks
      from ragdb.lexemes l
      where l.corpus_id = (corpus).corpus_id and (l.df <> 0 or l.chunk_nos <> '{}')) l
      full join (
        select p.term_id, count(*) as df, array_agg(p.chunk_no order by p.chunk_no) as chunk_nos
        from ragdb_internal.stored_postings((corpus).corpus_id) p group by p.term_id) n
        on n.term_id = l.term_id
    where l.df is distinct from n.df or not l.in_blocks and l.chunk_nos <> n.chunk_nos) c
    cross join lateral (values
      ('lexemes with a wrong number of chunks', c.counts::numeric),
      ('lexemes with a wrong list of chunks', c.lists)) w ("check", found);
end;
comment on function ragdb_internal.index_checks(ragdb.corpora) is
  'Compares the rows of the lexical index with the chunks, and its lexemes with its rows.';

create or replace function ragdb_internal.analysis_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select 'chunks that are indexed by another text', 0::numeric, count(*)::numeric
  from ragdb.chunks c
    join ragdb.documents d on d.corpus_id = (corpus).corpus_id and d.doc_no = c.doc_no
    join ragdb.chunk_lexemes x on x.corpus_id = (corpus).corpus_id and x.chunk_no = c.chunk_no
    cross join lateral (select ragdb_internal.lexemes(ragdb_internal.searched_text(
      d.title, c.heading, c.text), (corpus).text_config) as words offset 0) a
  where c.corpus_id = (corpus).corpus_id
    and (x.word_order is distinct from (
        select o.word_order from ragdb_internal.word_order(a.words) o) or (
      select array_agg((w.lexeme, ragdb_internal.impact(
          cardinality(w.positions), ragdb_internal.length_norm(x.lexeme_count, (corpus).k1,
          (corpus).b, (corpus).pivot), (corpus).k1)::real)::text order by w.lexeme collate "C")
      from unnest(a.words) w)
    is distinct from (
      select array_agg((l.lexeme, e.entries[i + 1]::real)::text order by l.lexeme)
      from (select ragdb_internal.entries(x.impacts) as entries offset 0) e
        cross join generate_series(1, cardinality(e.entries), 2) i
        join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id
          and l.term_id = e.entries[i]::integer));
end;
comment on function ragdb_internal.analysis_checks(ragdb.corpora) is
  'Analyses every chunk again and compares its lexemes with those of its row in the index.';

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
comment on function ragdb_internal.document_checks(ragdb.corpora) is
  'Compares documents with their chunks and with their sources.';

create or replace function ragdb_internal.chunk_checks(corpus ragdb.corpora)
returns setof ragdb_internal.corpus_check
language sql stable parallel safe
begin atomic
  select r.* from (
    select
      count(*) filter (where c.end_offset - c.start_offset <> length(c.text)) as offsets,
      count(*) filter (where c.content_hash <> ragdb_internal.content_hash(c.text)) as hashes,
      count(*) filter (where c.chunk_id <> ragdb_internal.chunk_name(
        c.own_id, c.external_id, c.chunks, c.ordinal,
        ragdb_internal.source_slug(c.source_name, c.source),
        ragdb_internal.source_bytes(n.name, c.source_name, c.source),
        c.content_hash, c.nth)) as ids
    from (
      select c.chunk_id, c.ordinal, c.start_offset, c.end_offset, c.text, c.content_hash,
        case when ragdb_internal.has_turns(d.chunking) then c.chunk_id end as own_id,
        d.external_id, d.chunks, d.source_name, d.source,
        row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1 as nth
      from ragdb.chunks c
        join ragdb.documents d on d.corpus_id = (corpus).corpus_id and d.doc_no = c.doc_no
      where c.corpus_id = (corpus).corpus_id) c
      cross join (select (ragdb_internal.whole_of(corpus)).name offset 0) n
  ) wrong, lateral (values
    ('chunks whose offsets are not their text''s', 0::numeric, wrong.offsets::numeric),
    ('chunks whose content_hash is not their text''s', 0, wrong.hashes),
    ('chunks whose id is not their content''s', 0, wrong.ids)
  ) r ("check", expected, found);
end;
comment on function ragdb_internal.chunk_checks(ragdb.corpora) is
  'Compares offsets, hashes and ids of chunks with their texts.';

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
        union all select * from ragdb_internal.index_checks(p)
        union all select a.* from ragdb_internal.analysis_checks(p) a where deep
        union all select b.* from ragdb_internal.block_checks(p) b where deep
        union all select * from ragdb_internal.document_checks(p)
        union all select * from ragdb_internal.chunk_checks(p)) c
    where c.expected <> c.found;
end $$;
comment on function ragdb.check_corpus(text, boolean) is
  'Recounts and recomputes a corpus, or each of its parts, and returns what differs from what is '
  'stored: no row means that all is well. With deep, every chunk is analysed again, which takes '
  'as long as indexing it. Raises RG400, RG404.';

create or replace function ragdb.repair_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := (ragdb_internal.lock_corpus(repair_corpus.corpus, 'admin')).corpus_id;
begin
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  delete from ragdb.block_states s where s.corpus_id = v_id;
  update ragdb.corpora c
    set (documents, token_count, size_bytes, languages, chunks, lexeme_count, next_term_id) = (
      select n.documents, n.tokens, n.size_bytes, n.languages, 0, 0, 1
      from ragdb_internal.count_corpus(v_id) n)
    where c.corpus_id = v_id;
  perform ragdb_internal.index_in_turns(v_id, array(
    select c.chunk_no from ragdb.chunks c where c.corpus_id = v_id order by c.chunk_no));
end $$;
comment on function ragdb.repair_corpus(text) is
  'Rebuilds a corpus''s counters and lexical index from its documents and chunks. Raises RG400, '
  'RG401, RG404.';
