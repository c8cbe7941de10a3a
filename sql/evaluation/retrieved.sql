-- What evaluations work on in memory: cases as they were retrieved, their hits, assertions,
-- labelled items and results; and what of the hits a rag may use.

-- A retrieved chunk of a case.
create type ragdb_internal.eval_hit as (
  case_no integer, rank integer, chunk_id text, source text, text text, citation jsonb,
  score float8, content_hash text, token_count integer, doc_cid text, start_offset integer,
  end_offset integer);

-- A case as it was retrieved: its fact id, its trace, what went wrong, and the outcome of an answer
-- contract of the same query.
create type ragdb_internal.eval_case as (
  case_no integer, fact_id text, query text, elapsed_ms float8, trace_id uuid, error_code text,
  error text, answer jsonb);

-- An assertion of a case; kinds that begin with expected. are its own fields.
create type ragdb_internal.eval_assertion as (
  case_no integer, assert_no integer, kind text, property text, value text, number float8,
  count bigint, required boolean, negate boolean, quantifier text, expected jsonb);

-- What stands at a rank for labels: a document or a labelled span, once, with its grade; null when
-- nobody judged it.
create type ragdb_internal.eval_item as (
  case_no integer, rank integer, item text, grade integer);

-- The outcome of an assertion: its code, what it expected and what was there.
create type ragdb_internal.eval_assert_result as (
  case_no integer, assert_no integer, kind text, required boolean, passed boolean, code text,
  message text, expected jsonb, actual jsonb);

-- Returns retrieved chunks as JSON, cut to a rag's maxContext in code points.
create or replace function ragdb_internal.rag_context(query text, hits ragdb_internal.eval_hit[],
  max_context integer)
returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('query', query, 'chunks', coalesce((
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', h.chunk_id, 'source', h.source,
    'score', h.score, 'citation', coalesce(h.citation, '{}'), 'text', t.text) order by h.n)
  from (
    select u.*, pg_catalog.row_number() over (order by u.rank) as n
    from pg_catalog.unnest(hits) u) h
    join ragdb_internal.within_context(
      array(select u.text from pg_catalog.unnest(hits) u order by u.rank), max_context) t
      on t.n = h.n), '[]'));
