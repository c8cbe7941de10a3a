-- ragdb.search, over several corpora, over one, and over one as it was.
--
-- as_of is a version and not a time, because a version is exact: two writes of one moment are two
-- versions, and of two corpora each has its own.

-- Returns the hits of a checked search of one corpus as it was at a version, and says in notices
-- what its query came to. Raises RG400, RG410, RG415, RG418, RG437.
create or replace function ragdb_internal.search_as_of(
  corpora ragdb.corpora[], as_of bigint, statistics ragdb.corpora,
  request ragdb_internal.search_request)
returns setof ragdb.hit
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record := ragdb_internal.search_then(corpora, as_of, statistics, request);
begin
  if (request.options).syntax = 'web' or v_found.hits = '{}' then
    perform ragdb_internal.say_of_query(
      corpora, as_of, statistics, v_found.request, v_found.hits = '{}');
  end if;
  return query select h.* from unnest(v_found.hits) h;
end $$;

-- ragdb.search is a definer: the tables of a corpus are granted to nobody. The caller's right is
-- checked there, once for each corpus.
create or replace function ragdb.search(
  corpora text[] default null, query text default null, k integer default 10,
  mode text default null,
  min_score float8 default 0, filter jsonb default null, chunk_ids text[] default null,
  statistics text default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default null, min_lexical float8 default 0,
  min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true, as_of bigint default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_request ragdb_internal.search_request := row(query, k, mode, min_score, filter, chunk_ids,
    ragdb_internal.single(query_embedding), fusion, lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, context, section, typos)
      ::ragdb_internal.search_options, null)::ragdb_internal.search_request;
  v_corpora ragdb.corpora[];
  v_statistics ragdb.corpora;
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_request(v_request);
  v_corpora := ragdb_internal.open_corpora(corpora);
  if statistics is not null then
    v_statistics := ragdb_internal.open_corpus(statistics, 'read', true);
  end if;
  if as_of is not null then
    return query
      select h.* from ragdb_internal.search_as_of(v_corpora, as_of, v_statistics, v_request) h;
    return;
  end if;
  if filter is not null then
    -- here, so that an error in it does not quote the statements that it would have gone through
    perform ragdb_internal.filter_conditions(filter);
  end if;
  v_request := ragdb_internal.with_mode(v_corpora, v_request);
  v_ranked := case when ragdb_internal.picks(v_request.options)
    then ragdb_internal.rank_picked(v_corpora, v_statistics, v_request)
    else ragdb_internal.rank_corpora(v_corpora, v_statistics, v_request) end;
  if syntax = 'web' or v_ranked = '{}' then
    perform ragdb_internal.say_of_query(
      v_corpora, null, v_statistics, v_request, v_ranked = '{}');
  end if;
  if cardinality(v_ranked) >= 1000 + k then
    v_ranked := ragdb_internal.first_of_ties(v_corpora, v_ranked, k);
  end if;
  return query
    select h.* from ragdb_internal.hits(
      v_corpora, v_ranked, v_request.k, v_request.mode, v_request.options) h
    order by h.rank;
end $$;
comment on function ragdb.search(
  text[], text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8,
  text, integer, boolean, float8, integer, boolean, boolean, bigint)
  is
  'Returns the k (1 to 1000) best chunks of several corpora (null: all that the caller may read) '
  'for a query, in one order of scores in [0, 1], with the arguments of the search of one; as_of '
  'takes one corpus. Raises RG400, RG401, RG404, RG410, RG415, RG418, RG437.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, chunk_ids text[] default null,
  statistics text default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default null, min_lexical float8 default 0,
  min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true, as_of bigint default null)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select * from ragdb.search(
    case when search.corpus is not null then array[search.corpus] end, search.query, search.k,
    search.mode, search.min_score, search.filter, search.chunk_ids,
    search.statistics, search.query_embedding, search.fusion, search.lexical_weight,
    search.min_lexical, search.min_semantic, search.syntax, search.per_document, search.collapse,
    search.diversity, search.context, search.section, search.typos, search.as_of);
end;
comment on function ragdb.search(
  text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8,
  text, integer, boolean, float8, integer, boolean, boolean, bigint) is
  'Returns the k (1 to 1000) best chunks of a corpus (null: all that the caller may read) for a '
  'query, by score (0 to 1, none below '
  'min_score), then chunk_id. mode is lexical, semantic, hybrid or reference, and when left out '
  'hybrid where the corpus has embeddings and the query one, given (query_embedding) or kept, else '
  'lexical. In syntax plain every word of the query only ranks; in web a "phrase" and a +word are '
  'demanded and a -word is excluded, and a notice says so where that leaves nothing, or where a '
  'phrase has fewer than two words that count. A hybrid search joins its legs by fusion (convex or '
  'rrf) with lexical_weight (0 to 1, null: what suits the embedder); min_lexical and min_semantic '
  'are floors for the legs, one that did not run counting 0. as_of is a version of a corpus that '
  'keeps its history (ragdb.version_at gives that of a time): the hits, their order and their '
  'scores are those of the corpus as it was then, and every chunk of it is looked at. Raises '
  'RG400, RG401, RG404, RG410, RG415, RG418, RG437.';
