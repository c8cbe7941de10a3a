-- A retrieval given as JSON, {"query", "chunks"}: whether it can be evaluated, and how much of the
-- chunks fits a context.

-- Whether a value has the form {"id", "text", "source", "citation"} of a retrieved chunk.
create or replace function ragdb_internal.is_retrieved_chunk(chunk jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(chunk) = 'object'
  and pg_catalog.jsonb_typeof(chunk -> 'id') is not distinct from 'string'
  and pg_catalog.jsonb_typeof(chunk -> 'text') is not distinct from 'string'
  and pg_catalog.jsonb_typeof(chunk -> 'source') is not distinct from 'string'
  and ragdb_internal.is_citation(coalesce(chunk -> 'citation', '{}'));

-- Returns what is wrong with the first wrong one of some retrieved chunks; null when none is.
create or replace function ragdb_internal.chunks_problem(chunks jsonb) returns text
language sql immutable parallel safe
return (
  select p.problem
  from (
    select c.n, case
      when not ragdb_internal.is_retrieved_chunk(c.chunk)
        then pg_catalog.format('retriever chunk at index %s is not a RetrievedChunk', c.n - 1)
      when case pg_catalog.jsonb_typeof(c.chunk -> 'score')
          when 'number' then not (c.chunk ->> 'score')::numeric between 0 and 1 else true end
        then pg_catalog.format('retriever chunk at index %s score must be between 0 and 1', c.n - 1)
      when pg_catalog.row_number() over (partition by c.chunk ->> 'id' order by c.n) > 1
        then pg_catalog.format('retriever chunk at index %s duplicates chunk id ''%s''', c.n - 1,
          c.chunk ->> 'id')
      end as problem
    from pg_catalog.jsonb_array_elements(chunks) with ordinality c (chunk, n)) p
  where p.problem is not null order by p.n limit 1);

-- Returns what is wrong with a retrieval given as JSON; null for one that can be evaluated.
create or replace function ragdb_internal.retrieval_problem(case_name text, retrieval jsonb)
  returns text
language sql immutable parallel safe
return 'RAG eval case ''' || coalesce(case_name, '') || ''' retriever failed: '
  || coalesce(retrieval ->> 'error', case
    when pg_catalog.jsonb_typeof(retrieval) is distinct from 'object'
      or pg_catalog.jsonb_typeof(retrieval -> 'query') is distinct from 'string'
      or pg_catalog.jsonb_typeof(retrieval -> 'chunks') is distinct from 'array'
      then 'retriever returned no query and chunks'
    else ragdb_internal.chunks_problem(retrieval -> 'chunks') end) || '.';

-- Returns the texts, numbered from 1, that a context of so many code points (null: any number)
-- takes in, each as much as fits. The one rule of maxContext: whole texts in their order while they
-- fit, the next one cut, none after it.
create or replace function ragdb_internal.within_context(texts text[], max_context integer)
  returns table (n bigint, text text, is_cut boolean)
language sql immutable parallel safe
begin atomic
  select t.n, pg_catalog.left(t.text, coalesce(max_context, 2147483647) - t.before::integer),
    coalesce(t.before + pg_catalog.length(t.text) > max_context, false)
  from (
    select u.n, u.text, coalesce(pg_catalog.sum(pg_catalog.length(u.text)) over
      (order by u.n rows between unbounded preceding and 1 preceding), 0) as before
    from pg_catalog.unnest(texts) with ordinality u (text, n)) t
  where t.before < coalesce(max_context, 2147483647);
end;
