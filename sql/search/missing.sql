-- Why a search does not return a chunk: its steps in their order, each asked whether the chunk
-- falls out there. ragdb.why_not asks the same of a retrieval that was recorded.

-- Where a chunk falls out of a search, as ragdb.explain_missing returns it.
create type ragdb_internal.missing as (
  step text, reason text, rank integer, score float8, lexical_score float8, semantic_score float8,
  last_score float8);

-- Returns the conditions of a filter that a chunk does not satisfy; null where it satisfies each.
create or replace function ragdb_internal.refusing_conditions(
  corpus_id integer, filter jsonb, chunk_id text)
returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(
      ragdb_internal.quote(pg_catalog.jsonb_build_object(e.key, e.value)::text), ', '
      order by e.key collate "C")
    from pg_catalog.jsonb_each(refusing_conditions.filter) e
    where ragdb_internal.filtered_chunks(refusing_conditions.corpus_id,
      pg_catalog.jsonb_build_object(e.key, e.value), array[refusing_conditions.chunk_id]) = '{}');

-- Says which floors of a search a ranked chunk does not reach; null where it reaches all.
create or replace function ragdb_internal.floors_missed(
  request ragdb_internal.search_request, ranked ragdb_internal.ranked)
returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(pg_catalog.format('its %s is %s, and at least %s is asked for',
      f.name, pg_catalog.round(coalesce(f.score, 0)::numeric, 4), f.floor), '; ')
    from (values ('score', (ranked).score, (request).min_score),
      ('lexical score', (ranked).lexical_score, (request).min_lexical),
      ('semantic score', (ranked).semantic_score, (request).min_semantic)) f (name, score, floor)
    where coalesce(f.score, 0) < f.floor);

-- Says why a search that picks leaves a chunk out among the better ones (per_document or collapse);
-- nulls where it does not.
create or replace function ragdb_internal.left_by_pick(
  better ragdb_internal.contender[], own ragdb_internal.contender,
  options ragdb_internal.search_options, out step text, out reason text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_document constant bigint := (
    select count(*) from unnest(better) b where b.document = own.document);
  v_repeated text;
begin
  if v_document >= options.per_document then
    step := 'per_document';
    reason := format('%s better chunks are of the same document, and %s of each may be hits',
      v_document, options.per_document);
  elsif options.collapse then
    select c.chunk_id into v_repeated
      from unnest(better) with ordinality b
        join ragdb.chunks c on c.corpus_id = (b.ranked).corpus_id
          and c.chunk_no = (b.ranked).chunk_no
      where b.content_hash = own.content_hash
        or (b.ranked).corpus_id = (own.ranked).corpus_id and own.impacts is null
          and ragdb_internal.is_near((b.ranked).corpus_id, (own.ranked).chunk_no,
            array[(b.ranked).chunk_no])
        or b.whole_id is not distinct from own.whole_id
          and ragdb_internal.has_same_words(b.impacts, own.impacts)
      order by b.ordinality limit 1;
    if v_repeated is not null then
      step := 'collapse';
      reason := format('it nearly repeats chunk %s, which ranks before it',
        ragdb_internal.quote(v_repeated));
    end if;
  end if;
end $$;

-- Adds to where a chunk stands among the contenders why it is not among so many hits.
create or replace function ragdb_internal.missed_place(
  request ragdb_internal.search_request, contenders ragdb_internal.contender[],
  missing ragdb_internal.missing, hits integer)
returns ragdb_internal.missing
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  select l.step, l.reason into missing.step, missing.reason
    from ragdb_internal.left_by_pick(
      contenders[:missing.rank - 1], contenders[missing.rank], request.options) l
    where missing.rank is not null;
  if missing.step is null and missing.rank is null then
    missing.step := 'limit';
    missing.reason := format('it is not among the first %s, and %s are returned',
      cardinality(contenders), hits);
  elsif missing.step is null and (request.options).diversity > 0 then
    missing.step := 'diversity';
    missing.reason := format('it ranks %s, and others were picked because they are less like one '
      'another', missing.rank);
  elsif missing.step is null and missing.rank <= request.k then
    missing.step := 'depth';
    missing.reason := format('it would rank %s, but neither its words nor its meaning alone rank '
      'it among the candidates of a search for %s', missing.rank, request.k);
  elsif missing.step is null then
    missing.step := 'limit';
    missing.reason := format('it ranks %s, and %s are returned', missing.rank, hits);
  end if;
  return missing;
end $$;

-- Says why a chunk is not in the ranking of a search at all (ranking, filter or min_score), by how
-- it scores alone; nulls where it is.
create or replace function ragdb_internal.left_unranked(
  corpus_id integer, request ragdb_internal.search_request, chunk_id text,
  alone ragdb_internal.ranked, out step text, out reason text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_refused constant text := ragdb_internal.refusing_conditions(
    left_unranked.corpus_id, request.filter, left_unranked.chunk_id);
begin
  if alone.chunk_no is null and not (request.mode = 'hybrid' and request.fusion = 'rrf') then
    step := 'ranking';
    reason := case when request.mode = 'semantic'
      then 'it has no embedding, or lacks a required word'
      else 'it has none of the query''s words, or lacks a required one' end;
  elsif v_refused is not null then
    step := 'filter';
    reason := 'it does not satisfy ' || v_refused;
  else
    reason := ragdb_internal.floors_missed(request, alone);
    step := case when reason is not null then 'min_score' end;
  end if;
end $$;

-- Returns the hits of a search of one corpus, or of its parts, in their order.
create or replace function ragdb_internal.first_hits(
  corpora ragdb.corpora[], statistics ragdb.corpora, request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language sql stable parallel restricted
return case when ragdb_internal.picks((request).options)
  then ragdb_internal.rank_picked(corpora, statistics, request)
  else array(select c.ranked from ragdb_internal.contenders(corpora,
    ragdb_internal.rank_corpora(corpora, statistics, request), (request).k) c) end;

-- Returns at which place of a list a chunk is, from 1; null where it is not there.
create or replace function ragdb_internal.place_of(
  chunk ragdb.chunks, ranked ragdb_internal.ranked[])
returns integer
language sql immutable parallel safe
return (
  select r.ordinality::integer from pg_catalog.unnest(ranked) with ordinality r
  where r.corpus_id = (chunk).corpus_id and r.chunk_no = (chunk).chunk_no);

-- Returns where a chunk falls out of a search of one corpus, or of its parts.
create or replace function ragdb_internal.find_missing(
  corpora ragdb.corpora[], statistics ragdb.corpora, request ragdb_internal.search_request,
  chunk ragdb.chunks)
returns ragdb_internal.missing
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_deep ragdb_internal.search_request := request;
  v_hits constant ragdb_internal.ranked[] :=
    ragdb_internal.first_hits(corpora, statistics, request);
  v_own ragdb_internal.ranked;
  v_contenders ragdb_internal.contender[];
  v_found ragdb_internal.missing;
begin
  v_found.rank := ragdb_internal.place_of(chunk, v_hits);
  if v_found.rank is not null then
    v_own := v_hits[v_found.rank];
    v_found.step := 'hit';
    v_found.reason := 'it is returned at rank ' || v_found.rank;
  else
    select r.* into v_own
      from unnest(ragdb_internal.ranked_among(
        corpora, statistics, request, array[chunk.chunk_id])) r
      where r.corpus_id = chunk.corpus_id and r.chunk_no = chunk.chunk_no;
    select u.step, u.reason into v_found.step, v_found.reason
      from ragdb_internal.left_unranked(chunk.corpus_id, request, chunk.chunk_id, v_own) u;
  end if;
  v_found.score := v_own.score;
  v_found.lexical_score := v_own.lexical_score;
  v_found.semantic_score := v_own.semantic_score;
  v_found.last_score := (select min(h.score) from unnest(v_hits) h);
  if v_found.step is null then
    v_deep.k := 1000;
    v_contenders := ragdb_internal.to_pick(corpora,
      ragdb_internal.rank_corpora(corpora, statistics, v_deep), v_deep);
    v_found.rank := ragdb_internal.place_of(chunk, ragdb_internal.ranked_of(v_contenders));
    v_found := ragdb_internal.missed_place(
      request, v_contenders, v_found, cardinality(v_hits));
  end if;
  return v_found;
end $$;

create or replace function ragdb.explain_missing(
  corpus text, query text, chunk_id text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0,
  min_semantic float8 default 0, syntax text default 'plain', per_document integer default null,
  collapse boolean default false, diversity float8 default 0, typos boolean default true)
returns table (step text, reason text, rank integer, score float8, lexical_score float8,
  semantic_score float8, last_score float8)
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_request ragdb_internal.search_request := row(explain_missing.query, k, explain_missing.mode,
    min_score, filter, null, ragdb_internal.single(explain_missing.query_embedding), fusion,
    explain_missing.lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, 0, false, typos)
      ::ragdb_internal.search_options, null);
  v_corpora ragdb.corpora[];
  v_statistics ragdb.corpora;
  v_chunk ragdb.chunks;
begin
  perform ragdb_internal.check_request(v_request);
  v_corpora := ragdb_internal.open_with_parts(explain_missing.corpus);
  v_statistics := case when explain_missing.statistics is null
    then ragdb_internal.whole_of(v_corpora[1])
    else ragdb_internal.open_corpus(explain_missing.statistics, 'read', true) end;
  if filter is not null then
    perform ragdb_internal.filter_conditions(filter);
  end if;
  v_chunk := ragdb_internal.chunk(v_corpora, explain_missing.chunk_id);
  return query select m.* from ragdb_internal.find_missing(v_corpora, v_statistics,
    ragdb_internal.with_mode(v_corpora, v_request), v_chunk) m;
end $$;
comment on function ragdb.explain_missing is
  'Says at which step a search with these arguments leaves a chunk out: ranking, filter, '
  'min_score, per_document, collapse, diversity, depth or limit; or that it is a hit. rank is its '
  'place before any picking (null past the first 1000), score its score (0 to 1), last_score the '
  'least score of a hit. Raises RG400, RG401, RG404, RG406, RG410, RG415, RG418.';
