-- Whether citations are well formed: what a program asks before it trusts an output's shape.
-- Whether they hold is what ragdb.check_citations asks.

-- Returns the unknown ids of citations that are objects, and chunks under another source; list is
-- the citations of the output. The problem of a source comes before that of a chunk.
create or replace function ragdb_internal.citation_problems(output jsonb, evidence jsonb,
  list jsonb)
returns table (n integer, step integer, problem text)
language sql immutable parallel safe
begin atomic
  select c.n, p.step, p.problem
  from ragdb_internal.cited(output, evidence) c
    left join lateral (
      select k.chunk ->> 'source_id' as source_id
      from pg_catalog.jsonb_array_elements(evidence -> 'chunks') k (chunk)
      where k.chunk ->> 'chunk_id' = c.chunk_id limit 1) k on true
    cross join lateral (
      select c.source_id is null or exists (
        select from pg_catalog.jsonb_array_elements(evidence -> 'chunks') o (chunk)
        where o.chunk ->> 'source_id' = c.source_id) as is_known) s
    cross join lateral (values
      (1, case when not s.is_known then 'unknown source_id ''' || c.source_id || '''' end),
      (2, case when c.chunk_id is null then 'no chunk_id'
        when k.source_id is null then 'unknown chunk_id ''' || c.chunk_id || ''''
        when s.is_known and c.source_id <> k.source_id
          then 'chunk_id ''' || c.chunk_id || ''' is not of source_id ''' || c.source_id || ''''
        end)) p (step, problem)
  where not c.is_marker and p.problem is not null
    and coalesce(pg_catalog.jsonb_typeof(citation_problems.list -> c.n), 'object') = 'object';
end;

-- Definer: what it calls is private.
create or replace function ragdb.validate_citations(output jsonb, evidence jsonb,
  require_citations boolean default false)
returns text[]
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_list jsonb;
begin
  perform ragdb_internal.check_output(output, v_evidence);
  if require_citations is null then
    raise exception 'require_citations is null'
      using errcode = 'RG400', detail = 'an answer without citations is valid or not',
        hint = 'pass true or false';
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return '{}';
  end if;
  v_list := coalesce(nullif(output -> 'citations', 'null'),
    nullif(output #> '{message,citations}', 'null'), '[]');
  if jsonb_typeof(v_list) <> 'array' then
    return array['citations: no array'];
  end if;
  if require_citations and v_list = '[]'
    and not exists (select from ragdb_internal.cited(output, v_evidence)) then
    return array['missing citations'];
  end if;
  return array(
    select 'citation[' || e.n || ']: ' || e.problem from (
      select l.n - 1 as n, 0 as step, 'no object' as problem
      from jsonb_array_elements(v_list) with ordinality l (citation, n)
      where jsonb_typeof(l.citation) <> 'object'
      union all
      select p.n, p.step, p.problem
      from ragdb_internal.citation_problems(output, v_evidence, v_list) p) e
    order by e.n, e.step);
end $$;
comment on function ragdb.validate_citations is
  'Returns what is wrong with the citations of an output, of our form (source_id, chunk_id), '
  'Anthropic''s or Cohere''s: unknown ids, a chunk under another source, and missing citations '
  'where they are required; nothing for insufficient_evidence: true. Raises RG400, RG460.';
