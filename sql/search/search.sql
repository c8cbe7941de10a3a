-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once
-- per corpus. Joins go by key (lateral, offset 0): the planner, which cannot know how few rows
-- rank, is left no other way.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null,
    min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_name text;
  v_corpus ragdb.corpora;
  v_ids integer[] := '{}';
  v_corpora ragdb.corpora[] := '{}';
  v_statistics ragdb.corpora;
  v_embedding constant real[] := ragdb_internal.single(query_embedding);
  v_mode text;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one word',
        hint = 'pass the question as query';
  end if;
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return',
        hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  if min_lexical is null or min_semantic is null
    or not (min_lexical between 0 and 1 and min_semantic between 0 and 1) then
    raise exception 'min_lexical is % and min_semantic %', coalesce(min_lexical::text, 'null'),
      coalesce(min_semantic::text, 'null')
      using errcode = 'RG400', detail = 'scores of a leg lie in [0, 1]',
        hint = 'pass floors from 0 to 1';
  end if;
  if fusion is null or fusion not in ('convex', 'rrf') or lexical_weight is null
    or not lexical_weight between 0 and 1 then
    raise exception 'fusion is % and lexical_weight %', ragdb_internal.quote(fusion),
      coalesce(lexical_weight::text, 'null')
      using errcode = 'RG400', detail = 'the legs of a hybrid search are joined by convex or rrf',
            hint = 'pass convex or rrf, and the share of the lexical leg from 0 to 1';
  end if;
  if not ragdb_internal.is_list(chunk_ids) then
    raise exception 'chunk_ids has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'a list of chunks names each of them',
        hint = 'pass a plain list without nulls';
  end if;
  if corpora is null or cardinality(corpora) = 0 then
    raise exception 'corpora is %', case when corpora is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one corpus',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  foreach v_name in array corpora loop
    v_corpus := ragdb_internal.open_corpus(v_name, 'read');
    if v_corpus.corpus_id <> all (v_ids) then
      v_corpora := v_corpora || v_corpus;
      v_ids := v_ids || v_corpus.corpus_id;
    end if;
  end loop;
  if statistics is not null then
    v_statistics := ragdb_internal.open_corpus(statistics, 'read');
  end if;
  if filter is not null then
    -- here, so that what is wrong with it is not told with the statements that it would have gone
    -- through
    perform ragdb_internal.filter_conditions(filter);
  end if;
  v_mode := ragdb_internal.search_mode(v_corpora, mode, query, v_embedding);
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral ragdb_internal.rank(c,
          case when v_statistics is null then c else v_statistics end, search.query,
          search.k, v_mode, search.filter, search.chunk_ids, v_embedding, search.fusion,
          search.lexical_weight) r
      where r.score >= search.min_score and coalesce(r.lexical_score, 0) >= search.min_lexical
        and coalesce(r.semantic_score, 0) >= search.min_semantic
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
      t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.lexical_score, t.semantic_score,
      case when v_mode = 'lexical' then t.rank else t.lexical_rank end, t.semantic_rank, t.bm25,
        t.coverage,
      encode(t.content_hash, 'hex'), d.metadata, v_mode, t.is_exact
    from (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset,
        h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r
        cross join lateral (select c.* from ragdb.chunks c
          where c.corpus_id = r.corpus_id and c.chunk_no = r.chunk_no offset 0) h
      where r.score >= coalesce((select s.score from ranked s order by s.score desc
        limit 1 offset search.k - 1), 0)
      order by rank limit search.k) t
      cross join lateral (select o.* from ragdb.documents o
        where o.corpus_id = t.corpus_id and o.doc_no = t.doc_no offset 0) d
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in '
  '[0, 1], with the arguments of the search of one. Raises RG400, RG401, RG404, RG410, RG415, '
  'RG418.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode,
    search.min_score,
    search.filter, search.chunk_ids, search.statistics, search.query_embedding, search.fusion,
      search.lexical_weight,
    search.min_lexical, search.min_semantic);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none below '
  'min_score), then chunk_id. mode is lexical, semantic, hybrid or reference, and when left out '
  'hybrid where the corpus has embeddings and the query one, given (query_embedding) or kept, else '
  'lexical. A hybrid search joins its legs by fusion (convex or rrf) with lexical_weight (0 to 1); '
  'min_lexical and min_semantic are floors for the legs, one that did not run counting 0. Raises '
  'RG400, RG401, RG404, RG410, RG415, RG418.';
