-- Search: exact BM25 over the lexical index, the reference ranking, and what a hit looks like.

do $$ begin
  if pg_catalog.to_regtype('ragdb.hit') is null then
    create type ragdb.hit as (
      rank integer, corpus text, chunk_id text, doc_cid text, source text, title text, heading text[],
      page integer, start_offset integer, end_offset integer, text text, citation jsonb,
      score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb);
  end if;
end $$;
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with the raw BM25 beside them.';

-- "quoted phrase", +word and -word, as web search engines have them; everything else only ranks. A sign counts
-- before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.
create or replace function ragdb._query_clauses(query text)
returns table (kind text, is_phrase boolean, text text)
language sql immutable parallel safe
begin atomic
  select case m.part[1] when '-' then 'not' when '+' then 'must' else case when m.part[2] is null then 'rank' else 'must' end end,
    m.part[2] is not null, coalesce(m.part[2], m.part[3])
  from pg_catalog.regexp_matches(_query_clauses.query, '(?:(?<![^\s])([+-])(?=[^\u0001-\u0040[-\u0060{-\u007f]|"))?(?:"([^"]*)"|([^\s"]+|"))', 'g') m (part);
end;
comment on function ragdb._query_clauses(text) is
  'Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").';

-- What a clause demands of a chunk, as the text of a tsquery over tokens; null when the corpus lacks one of its lexemes.
create or replace function ragdb._clause_condition(corpus_id integer, words tsvector, is_phrase boolean)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_position record;
  v_last integer;
  v_condition text;
begin
  -- lexemes of one position are forms of one word: any of them will do
  for v_position in
    select p.position, '(' || string_agg(ragdb._token(l.corpus_id, l.term_id), '|' order by l.term_id) || ')' as tokens
    from unnest(_clause_condition.words) w cross join unnest(w.positions) p (position)
      left join ragdb.lexemes l on l.corpus_id = _clause_condition.corpus_id and l.lexeme = w.lexeme and l.df > 0
    group by p.position order by p.position
  loop
    if v_position.tokens is null then
      return null;
    end if;
    v_condition := concat(v_condition, case when v_last is null then ''
      when is_phrase then '<' || v_position.position - v_last || '>' else '&' end, v_position.tokens);
    v_last := v_position.position;
  end loop;
  return '(' || v_condition || ')';
end $$;
comment on function ragdb._clause_condition(integer, tsvector, boolean) is
  'Returns a tsquery, as text, that is true of chunks with all words of a clause (in order for a phrase); null when there can be none.';

create or replace function ragdb._candidates(condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates.weights)
  from ragdb.chunk_lexemes x
  where x.lexemes @@ _candidates.condition
  order by 2 desc
  limit _candidates.k;
end;
comment on function ragdb._candidates(tsquery, sparsevec, integer) is
  'Returns the k best chunks under a condition by their scores in float4, which only pre-rank.';

-- The score that counts: float8, terms in the order of their lexemes, whatever their numbers are. An impact is
-- a float4 made of a small whole number, the term's frequency, and gives it back exactly.
create or replace function ragdb._bm25(corpus ragdb.corpora, chunk_nos integer[], term_ids integer[], weights float8[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no,
    coalesce(sum(t.weight * ((corpus).k1 + 1) * f.tf / (f.tf + n.norm) order by t.ordinal) filter (where f.tf > 0), 0),
    coalesce(sum(t.weight order by t.ordinal) filter (where f.tf > 0), 0)
  from ragdb.chunk_lexemes x
    cross join lateral (select (corpus).k1 * (1 - (corpus).b + (corpus).b * x.lexeme_count / (corpus).pivot) as norm
      offset 0) n
    cross join (
      select u.weight, u.ordinal, ragdb._sparse(u.term_id || ':1') as unit
      from rows from (unnest(_bm25.term_ids), unnest(_bm25.weights)) with ordinality u (term_id, weight, ordinal)
      offset 0) t
    cross join lateral (select ragdb._inner_product(x.impacts, t.unit) as impact offset 0) i
    cross join lateral (select case when i.impact > 0 then
        greatest(1, round(i.impact * n.norm / nullif((corpus).k1 + 1 - i.impact, 0))) else 0 end as tf offset 0) f
  where x.corpus_id = (corpus).corpus_id and x.chunk_no = any (_bm25.chunk_nos)
  group by x.chunk_no;
end;
comment on function ragdb._bm25(ragdb.corpora, integer[], integer[], float8[]) is
  'Returns the exact BM25 of chunks and the weight of the terms they have; weights are idf times query frequency, in the order of the sum.';

create or replace function ragdb._rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer,
  filter jsonb, chunk_ids text[])
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_text text := query;
  v_must text := '';
  v_clause record;
  v_condition text;
  v_ids integer[];
  v_weights float8[];
  v_tokens text[];
  v_asked float8;
  v_vector ragdb.chunk_lexemes.impacts%type;
  v_limit integer := 2 * k + 32;
  v_found integer[];
  v_scores float8[];
begin
  if query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]' then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text from ragdb._query_clauses(query) c;
    for v_clause in
      select c.kind, c.is_phrase, ragdb._lexemes(c.text, corpus.text_config) as words
      from ragdb._query_clauses(query) c where c.kind <> 'rank'
    loop
      continue when v_clause.words = '';
      v_condition := ragdb._clause_condition(corpus.corpus_id, v_clause.words, v_clause.is_phrase);
      if v_clause.kind = 'must' then
        if v_condition is null then
          return;
        end if;
        v_must := v_must || '&' || v_condition;
      elsif v_condition is not null then
        v_must := v_must || '&!' || v_condition;
      end if;
    end loop;
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight order by t.lexeme) filter (where t.df > 0),
    array_agg(ragdb._token(corpus.corpus_id, t.term_id) order by t.df, t.lexeme) filter (where t.df > 0),
    sum(t.weight order by t.lexeme),
    ragdb._sparse(string_agg(t.term_id || ':' || t.weight::real, ',') filter (where t.df > 0))
  into v_ids, v_weights, v_tokens, v_asked, v_vector
  from (
    select w.lexeme collate "C" as lexeme, l.term_id, coalesce(l.df, 0) as df,
      cardinality(w.positions)
        * ln(1 + (statistics.chunks - coalesce(s.df, 0) + 0.5::float8) / (coalesce(s.df, 0) + 0.5::float8)) as weight
    from unnest(ragdb._lexemes(v_text, corpus.text_config)) w
      left join ragdb.lexemes l on l.corpus_id = corpus.corpus_id and l.lexeme = w.lexeme
      left join ragdb.lexemes s on s.corpus_id = statistics.corpus_id and s.lexeme = w.lexeme
  ) t;
  if v_ids is null then
    return;
  end if;
  -- ties at the k-th place, and what float4 cannot tell from them, are all candidates
  loop
    select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
    into v_found, v_scores
    from ragdb._candidates(('(' || array_to_string(v_tokens[:32], '|') || ')' || v_must)::tsquery, v_vector, v_limit) c;
    exit when coalesce(cardinality(v_found), 0) < v_limit
      or v_scores[v_limit] < v_scores[k] * (1 - 1e-5::float8);
    v_limit := 8 * v_limit;
  end loop;
  return query
    select b.chunk_no, b.bm25 / (v_asked * (corpus.k1 + 1)), b.bm25, b.matched / v_asked
    from ragdb._bm25(corpus, v_found, v_ids, v_weights) b;
end $$;
comment on function ragdb._rank_lexical(ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[]) is
  'Returns at least the k best chunks of a corpus by BM25 over the most the query could reach, in no order, with the raw BM25 and the share of the query''s idf that the chunk has.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once per corpus.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null)
returns setof ragdb.hit
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_name text;
  v_corpora ragdb.corpora[] := '{}';
  v_statistics ragdb.corpora;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one word', hint = 'pass the question as query';
  end if;
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return', hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  if mode in ('semantic', 'hybrid') then
    raise exception 'mode % is not available', ragdb._quote(mode)
      using errcode = 'RG415', detail = 'the corpus has no embeddings', hint = 'pass mode => ''lexical''';
  elsif mode not in ('lexical', 'reference') then
    raise exception 'mode % is unknown', ragdb._quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
            hint = 'leave mode out for the default';
  end if;
  if corpora is null or cardinality(corpora) = 0 then
    raise exception 'corpora is %', case when corpora is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one corpus',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  for v_name in select distinct n.name from unnest(corpora) n (name) loop
    v_corpora := v_corpora || ragdb._open_corpus(v_name, 'read');
  end loop;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral ragdb._rank_lexical(c, case when v_statistics is null then c else v_statistics end,
          search.query, search.k, search.filter, search.chunk_ids) r
      where r.score >= min_score
    ), top as materialized (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset, h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r join ragdb.chunks h on h.corpus_id = r.corpus_id and h.chunk_no = r.chunk_no
      order by rank limit search.k
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page, t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.score, null::float8, t.rank, null::integer, t.bm25, t.coverage,
      encode(t.content_hash, 'hex'), d.metadata
    from top t join ragdb.documents d on d.corpus_id = t.corpus_id and d.doc_no = t.doc_no
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode, search.min_score,
    search.filter, search.chunk_ids, search.statistics);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text) is
  'Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none below min_score), then chunk_id. Raises RG400, RG401, RG404, RG410, RG415.';
