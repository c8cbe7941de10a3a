-- Whether evidence is enough for a question: a verdict without a model, by thresholds that the
-- caller chooses.

create or replace function ragdb_internal.check_question(question text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if question is null or question !~ '\S' then
    raise exception 'question is %', case when question is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to answer without a word',
        hint = 'pass the question as text';
  elsif length(question) > 10000 then
    raise exception 'question has % characters', length(question)
      using errcode = 'RG413', detail = 'a question is a few sentences',
        hint = 'give at most 10000 characters';
  end if;
end $$;
comment on function ragdb_internal.check_question(text) is
  'Refuses a question that is null, empty or longer than 10000 characters. Raises RG400, RG413.';

-- Definer: what it calls is private.
create or replace function ragdb.rag_enough_context_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default 0,
  min_coverage float8 default 0.6)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb_internal.evidence_of(pack);
  v_config text;
  v_asked text[];
  v_found text[];
  v_best float8;
  v_chunks integer;
  v_coverage float8;
begin
  perform ragdb_internal.check_question(query);
  perform ragdb_internal.check_evidence(v_evidence);
  if min_chunks is null or min_chunks not between 0 and 1000 or min_score is null
    or not min_score between 0 and 1 or min_coverage is null
    or not min_coverage between 0 and 1 then
    raise exception 'a threshold of the gate is null or out of range'
      using errcode = 'RG400',
        detail = 'min_chunks is 0 to 1000, min_score and min_coverage are 0 to 1',
        hint = 'leave a threshold out for its default';
  end if;
  v_config := ragdb_internal.evidence_config(v_evidence);
  v_chunks := jsonb_array_length(v_evidence -> 'chunks');
  select max(case when jsonb_typeof(c.chunk -> 'score') = 'number'
    then ragdb_internal.double(greatest(-1e300, least(1e300, (c.chunk ->> 'score')::numeric))) end),
      coalesce(array_agg(distinct l.lexeme) filter (where l.lexeme is not null), '{}')
    into v_best, v_found
    from jsonb_array_elements(v_evidence -> 'chunks') c (chunk)
      left join lateral unnest(tsvector_to_array(
        ragdb_internal.lexemes(c.chunk ->> 'text', v_config))) l (lexeme) on true;
  v_asked := tsvector_to_array(ragdb_internal.lexemes(query, v_config));
  select coalesce(count(*) filter (where a.lexeme = any (v_found))::float8 / nullif(count(*), 0), 0)
    into v_coverage
    from unnest(v_asked) a (lexeme);
  return jsonb_build_object(
    'enough', v_chunks >= min_chunks and coalesce(v_best, 0) >= min_score
      and v_coverage >= min_coverage,
    'chunks', v_chunks, 'best_score', v_best, 'terms', cardinality(v_asked), 'coverage', v_coverage,
    'missing_terms', to_jsonb(array(select a.lexeme from unnest(v_asked) a (lexeme)
      where a.lexeme <> all (v_found) order by a.lexeme collate "C")),
    'min_chunks', min_chunks, 'min_score', min_score, 'min_coverage', min_coverage);
end $$;
comment on function ragdb.rag_enough_context_gate(text, jsonb, integer, float8, float8) is
  'Decides whether a pack is enough for a query: at least min_chunks (0 to 1000), a best score of '
  'min_score (0 to 1) or more, and min_coverage (0 to 1) of the query''s terms somewhere in it; '
  'returns enough with all it was decided by. Raises RG400, RG413, RG460.';

create or replace function ragdb_internal.evidence_config(evidence jsonb) returns text
language sql immutable parallel safe
return coalesce(
  (select c.config from ragdb_internal.text_configs() c
    where c.config = evidence_config.evidence ->> 'text_config'), 'english');
comment on function ragdb_internal.evidence_config(jsonb) is
  'Returns the text configuration of a pack; english where it names none.';
