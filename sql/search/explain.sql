-- Why a chunk has its score, and what a query probably meant.

-- Returns the terms of a query for each of some chunks: what each weighs, how often and with what
-- impact (0 to k1 + 1) the chunk has it, and what it gives to the BM25: nothing where something
-- better stands there for the same word.
create or replace function ragdb_internal.terms_in_chunks(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, chunk_nos integer[], syntax text,
  typos boolean)
returns table (chunk_no integer, lexeme text, stands_for text, df integer,
  query_frequency integer, idf float8, weight float8, tf integer, impact float8,
  contribution float8)
language sql stable parallel safe
begin atomic
  with terms as materialized (
    select t.*
    from (select ragdb_internal.ranking_text(ragdb_internal.read_query(
        terms_in_chunks.query, terms_in_chunks.syntax)) as text offset 0) q
      cross join lateral (
        select ragdb_internal.lexemes(q.text, (corpus).text_config) as words offset 0) l
      cross join lateral ragdb_internal.query_terms(
        terms_in_chunks.corpus, terms_in_chunks.statistics, l.words,
        ragdb_internal.stand_ins(ragdb_internal.whole_of(terms_in_chunks.corpus), q.text, l.words,
          case when terms_in_chunks.typos then ragdb_internal.lacking(
            ragdb_internal.whole_of(terms_in_chunks.corpus), l.words) end)) t
  ), words as materialized (
    select c.chunk_no, ragdb_internal.lexemes(ragdb_internal.searched_text(
      ragdb_internal.title(c.corpus_id, c.doc_no), c.heading, c.text),
      (corpus).text_config) as words
    from ragdb.chunks c
    where c.corpus_id = (corpus).corpus_id and c.chunk_no = any (terms_in_chunks.chunk_nos)
  ), held as (
    select x.chunk_no, t.*, coalesce(p.tf, 0) as tf,
      coalesce(ragdb_internal.impact(p.tf, ragdb_internal.length_norm(
        x.lexeme_count, (corpus).k1, (corpus).b, (corpus).pivot), (corpus).k1), 0) as impact
    from ragdb.chunk_lexemes x
      join words w on w.chunk_no = x.chunk_no
      cross join terms t
      left join lateral (
        select pg_catalog.cardinality(u.positions) as tf from pg_catalog.unnest(w.words) u
        where u.lexeme = t.lexeme) p on true
    where x.corpus_id = (corpus).corpus_id and x.chunk_no = any (terms_in_chunks.chunk_nos)
  ), alternatives as (
    select h.*, sum(h.weight * h.impact) over (partition by h.chunk_no, h.stands_for, h.means
      order by h.lexeme rows between unbounded preceding and unbounded following) as bm25
    from held h)
  select a.chunk_no, a.lexeme, a.stands_for, a.common_df, a.frequency, a.idf, a.weight, a.tf,
    a.impact, case when a.means = pg_catalog.first_value(a.means) over (
        partition by a.chunk_no, coalesce(a.stands_for, a.lexeme)
        order by a.bm25 desc, a.stands_for nulls first, a.means)
      then a.weight * a.impact else 0 end
  from alternatives a;
end;

create or replace function ragdb.explain_search(
  corpus text, query text, chunk_id text, statistics text default null,
  syntax text default 'plain', typos boolean default true)
returns table (lexeme text, df integer, query_frequency integer, idf float8, tf integer,
  impact float8, contribution float8, share float8, stands_for text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_with_chunk(corpus, chunk_id);
  v_statistics ragdb.corpora := ragdb_internal.whole_of(v_corpus);
  v_chunk_no integer;
begin
  perform ragdb_internal.check_query(query), ragdb_internal.check_syntax(syntax);
  if statistics is not null then
    v_statistics := ragdb_internal.open_corpus(statistics, 'read', true);
  end if;
  v_chunk_no := (ragdb_internal.chunk(array[v_corpus], chunk_id)).chunk_no;
  return query
    select c.lexeme, c.df, c.query_frequency, c.idf, c.tf, c.impact, c.contribution,
      c.contribution / nullif(sum(c.contribution) over (order by c.lexeme
        rows between unbounded preceding and unbounded following), 0), c.stands_for
    from ragdb_internal.terms_in_chunks(
      v_corpus, v_statistics, query, array[v_chunk_no], syntax, typos) c
    order by 7 desc, 1;
end $$;
comment on function ragdb.explain_search is
  'Returns a row for each term of a query: chunks that have it, idf, its frequency in a chunk, its '
  'impact (0 to k1 + 1), contribution to the BM25 and share of it (0 to 1). stands_for is the '
  'lexeme of the query that it stands for, as a synonym, as a number with its unit or as what was '
  'probably meant, at a discount; of a word and all that stands for it only the best contributes. '
  'Raises RG400, RG401, RG404, RG406.';

-- Returns a query with the words that a corpus lacks, but those known elsewhere, replaced by those
-- that were probably meant, as the corpus or the parts of it that are opened write them; null where
-- there are none, or for too few of them.
create or replace function ragdb_internal.meant_query(
  corpus ragdb.corpora, query text, syntax text, known text[], opened ragdb.corpora[])
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_edge constant text := '[a-z0-9' || ragdb_internal.wordly() || ']';
  v_text constant text := ragdb_internal.ranking_text(ragdb_internal.read_query(query, syntax));
  -- once: as an argument it would be worked out for each word
  v_lacking constant text[] := ragdb_internal.lacking(
    corpus, ragdb_internal.lexemes(v_text, corpus.text_config));
  v_meant record;
  v_query text := query;
  v_mended integer := 0;
begin
  for v_meant in
    select m.word,
      coalesce(ragdb_internal.written_as(opened, corpus, m.word, m.lexeme), m.word) as meant
    from (
      select distinct w.word, w.lexeme
      from ragdb_internal.meant_words(corpus, v_text, v_lacking) w offset 0) m
    where m.word <> all (known)
  loop
    v_query := regexp_replace(v_query,
      '(?<!' || v_edge || ')' || v_meant.word || '(?!' || v_edge || ')', v_meant.meant, 'gi');
    v_mended := v_mended + 1;
  end loop;
  return case when v_mended > 0 and not ragdb_internal.is_strange(corpus, v_text, known, v_mended)
    then nullif(v_query, query) end;
end $$;

create or replace function ragdb.did_you_mean(
  corpora text[] default null, query text default null, syntax text default 'plain')
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_corpora(corpora);
  v_known text[] := '{}';
  v_corpus ragdb.corpora;
  v_meant text;
begin
  perform ragdb_internal.check_query(query), ragdb_internal.check_syntax(syntax);
  if cardinality(v_corpora) > 1 then
    v_known := array(
      select w.word from unnest(v_corpora) c
        cross join ragdb_internal.known_words(ragdb_internal.whole_of(c),
          ragdb_internal.ranking_text(ragdb_internal.read_query(query, syntax))) w);
  end if;
  foreach v_corpus in array v_corpora loop
    v_meant := coalesce(v_meant, ragdb_internal.meant_query(
      ragdb_internal.whole_of(v_corpus), query, syntax, v_known, v_corpora));
  end loop;
  return v_meant;
end $$;
comment on function ragdb.did_you_mean(text[], text, text) is
  'Returns what the first of several corpora (null: all that the caller may read) says that a '
  'query probably meant by words that all of them lack; null where none does. Raises RG400, RG404.';

create or replace function ragdb.did_you_mean(
  corpus text, query text, syntax text default 'plain')
returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_with_parts(corpus);
begin
  perform ragdb_internal.check_query(query), ragdb_internal.check_syntax(syntax);
  return ragdb_internal.meant_query(
    ragdb_internal.whole_of(v_corpora[1]), query, syntax, '{}', v_corpora);
end $$;
comment on function ragdb.did_you_mean(text, text, text) is
  'Returns a query with the words that a corpus lacks replaced by those that were probably meant, '
  'as its chunks write them: what differs in accents alone, else what is one edit away, or another '
  'ending of it; null where there are none, and where half of the query or more is lacking and '
  'that is so for less than half of it. Raises RG400, RG404.';
