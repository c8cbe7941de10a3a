create or replace function ragdb.explain_search(corpus text, query text, chunk_id text,
  statistics text default null)
returns table (lexeme text, df integer, query_frequency integer, idf float8, tf integer,
  impact float8, contribution float8, share float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read');
  v_statistics ragdb.corpora := v_corpus;
  v_no integer;
  v_text text := query;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to explain without a word',
        hint = 'pass the question as query';
  end if;
  if statistics is not null then
    v_statistics := ragdb_internal.open_corpus(statistics, 'read');
  end if;
  select c.chunk_no into v_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = explain_search.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb_internal.quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb_internal.quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb_internal.has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text
      from ragdb_internal.query_clauses(query) c;
  end if;
  return query
    with terms as (
      select w.lexeme collate "C" as lexeme, l.term_id, coalesce(s.df, 0) as df,
        cardinality(w.positions) as frequency,
        ln(1 + (v_statistics.chunks - coalesce(s.df, 0) + 0.5::float8)
          / (coalesce(s.df, 0) + 0.5::float8)) as idf
      from unnest(ragdb_internal.lexemes(v_text, v_corpus.text_config)) w
        left join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = w.lexeme
        left join ragdb.lexemes s on s.corpus_id = v_statistics.corpus_id and s.lexeme = w.lexeme
    ), weighed as (
      select t.*, coalesce(p.tf, 0) as tf,
        coalesce((v_corpus.k1 + 1) * p.tf / (p.tf + v_corpus.k1
          * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_corpus.pivot)), 0) as impact
      from terms t
        join ragdb.chunk_lexemes x on x.corpus_id = v_corpus.corpus_id and x.chunk_no = v_no
        left join lateral (
          select cardinality(u.positions) as tf from unnest(x.lexemes) u
          where u.lexeme = ragdb_internal.token(v_corpus.corpus_id, t.term_id)) p on true
    )
    select w.lexeme, w.df, w.frequency, w.idf, w.tf, w.impact, w.frequency * w.idf * w.impact,
      w.frequency * w.idf * w.impact
        / nullif(sum(w.frequency * w.idf * w.impact) over (order by w.lexeme
        rows between unbounded preceding and unbounded following), 0)
    from weighed w order by 7 desc, 1;
end $$;
comment on function ragdb.explain_search(text, text, text, text) is
  'Returns a row for each term of a query: chunks that have it, idf, its frequency in a chunk, its '
  'impact (0 to k1 + 1), contribution to the BM25 and share of it (0 to 1). Raises RG400, RG401, '
  'RG404, RG406.';
