-- What a search may ask for, and the checks of its arguments. They are made here, so that every
-- door refuses the same with the same words.

-- What a search asks of each of its corpora, in the order of the arguments of ragdb.search; is_fit
-- says that the database made or kept the embedding, which then needs no check.
create type ragdb_internal.search_request as (
  query text, k integer, mode text, min_score float8, filter jsonb, chunk_ids text[],
  query_embedding real[], fusion text, lexical_weight float8, min_lexical float8,
  min_semantic float8, options ragdb_internal.search_options, is_fit boolean);

-- Returns the query of a search as the lexical index reads it.
create or replace function ragdb_internal.asked_words(request ragdb_internal.search_request)
returns text
language sql immutable parallel safe
return ragdb_internal.read_query((request).query, ((request).options).syntax);

-- Says which number of hits ragdb_internal.check_k() refuses. What is fine costs an expression: the
-- checks are parts of the statements that make them. Raises RG400.
create or replace function ragdb_internal.refuse_k(k integer) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'k is %', coalesce(k::text, 'null')
    using errcode = 'RG400', detail = 'k is the number of hits to return',
          hint = 'pass k from 1 to 1000';
end $$;

-- Refuses a number of hits that is not from 1 to 1000. Raises RG400.
create or replace function ragdb_internal.check_k(k integer) returns void
language sql immutable parallel safe
return case when (k between 1 and 1000) is not true then ragdb_internal.refuse_k(k) end;

-- Says which least score ragdb_internal.check_min_score() refuses. Raises RG400.
create or replace function ragdb_internal.refuse_min_score(min_score float8) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'min_score is %', coalesce(min_score::text, 'null')
    using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
end $$;

-- Refuses a least score outside 0 to 1. Raises RG400.
create or replace function ragdb_internal.check_min_score(min_score float8) returns void
language sql immutable parallel safe
return case when (min_score between 0 and 1) is not true
  then ragdb_internal.refuse_min_score(min_score) end;

-- Refuses a search whose arguments are null, out of range or unknown words; the mode and the filter
-- are checked where they are used. Raises RG400.
create or replace function ragdb_internal.check_request(request ragdb_internal.search_request)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_query(request.query), ragdb_internal.check_k(request.k),
    ragdb_internal.check_min_score(request.min_score),
    ragdb_internal.check_syntax((request.options).syntax),
    ragdb_internal.check_options(request.options);
  if request.min_lexical is null or request.min_semantic is null
    or not (request.min_lexical between 0 and 1 and request.min_semantic between 0 and 1)
  then
    raise exception 'min_lexical is % and min_semantic %',
        coalesce(request.min_lexical::text, 'null'), coalesce(request.min_semantic::text, 'null')
      using errcode = 'RG400', detail = 'scores of a leg lie in [0, 1]',
            hint = 'pass floors from 0 to 1';
  end if;
  if request.fusion is null or request.fusion not in ('convex', 'rrf')
    or not coalesce(request.lexical_weight, 0) between 0 and 1
  then
    raise exception 'fusion is % and lexical_weight %', ragdb_internal.quote(request.fusion),
        coalesce(request.lexical_weight::text, 'null')
      using errcode = 'RG400', detail = 'the legs of a hybrid search are joined by convex or rrf',
            hint = 'pass convex or rrf, and the share of the lexical leg from 0 to 1';
  end if;
  if not ragdb_internal.is_list(request.chunk_ids) then
    perform ragdb_internal.refuse_chunk_ids();
  end if;
end $$;

-- Returns the names of all corpora with documents that the caller may read, but for those that have
-- moved; the manual only where there is nothing else.
create or replace function ragdb_internal.readable_corpora() returns text[]
language sql stable parallel safe
return (
  select coalesce(
    pg_catalog.array_agg(c.name order by c.name) filter (where c.name <> 'system'),
    pg_catalog.array_agg(c.name), '{}')
  from ragdb_internal.corpora_to_read() c
  where c.parts = 0 and c.moving is distinct from 'moved');

-- Returns the name of the only corpus that the caller may read, where none is named. Raises RG400.
create or replace function ragdb_internal.only_corpus() returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names constant text[] := array(
    select distinct (ragdb_internal.whole_of(c)).name from ragdb.corpora c
    where c.name = any (ragdb_internal.readable_corpora()) order by 1);
begin
  if v_names = '{}' then
    raise exception 'there is no corpus to search'
      using errcode = 'RG400', detail = 'no corpus can be read',
        hint = 'ragdb.create_corpus() makes one';
  elsif cardinality(v_names) > 1 then
    raise exception 'there are % corpora, and this takes one', cardinality(v_names)
      using errcode = 'RG400', detail = 'none is named, and several may be read',
        hint = 'name one of ' || array_to_string(v_names[:8], ', ')
          || coalesce(' and ' || nullif(greatest(cardinality(v_names) - 8, 0), 0) || ' more', '');
  end if;
  return v_names[1];
end $$;

-- Returns the rows of some corpora that the caller may read, each once, and of one that has parts
-- those; null stands for all of them. Raises RG400, RG401, RG404.
create or replace function ragdb_internal.open_corpora(corpora text[]) returns ragdb.corpora[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  v_opened ragdb.corpora;
  v_corpus ragdb.corpora;
  v_ids integer[] := '{}';
  v_corpora ragdb.corpora[] := '{}';
begin
  if corpora is null then
    corpora := ragdb_internal.readable_corpora();
  end if;
  if cardinality(corpora) = 0 then
    raise exception 'there is no corpus to search'
      using errcode = 'RG400', detail = 'corpora is empty, or null and none can be read',
            hint = 'ragdb.list_corpora() lists the names; null stands for all of them';
  end if;
  foreach v_name in array corpora loop
    v_opened := ragdb_internal.open_corpus(v_name, 'read', true);
    foreach v_corpus in array ragdb_internal.parts_or_itself(v_opened) loop
      if v_corpus.corpus_id <> all (v_ids) then
        v_ids := v_ids || v_corpus.corpus_id;
        v_corpora := v_corpora || v_corpus;
      end if;
    end loop;
  end loop;
  return v_corpora;
end $$;

-- Returns those of some corpora that have chunks; all where none has. An empty one finds nothing,
-- whatever embeds it, so it has no say in how the others are searched.
create or replace function ragdb_internal.with_chunks(corpora ragdb.corpora[])
returns ragdb.corpora[]
language sql immutable parallel safe
return coalesce((
  select pg_catalog.array_agg(c) filter (where (c).chunks > 0)
  from pg_catalog.unnest(corpora) c), corpora);
