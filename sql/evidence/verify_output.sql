-- What a task returned for a run: whether it is an answer, whether its citations hold, on record
-- where the evidence is.

-- Refuses what is not a run of a question, or has failed. Raises RG400.
create or replace function ragdb_internal.check_run(run jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if run is null or jsonb_typeof(run) <> 'object'
    or jsonb_typeof(run -> 'question') is distinct from 'string'
    or jsonb_typeof(run -> 'summary') is distinct from 'object'
    or jsonb_typeof(coalesce(run -> 'queries', '[]')) <> 'array'
    or run ->> 'status' = 'failed' then
    raise exception 'run is not one that can go on'
      using errcode = 'RG400',
        detail = 'it is what the step before returned, and has not failed',
        hint = 'pass what ragdb.ask_plan() or ragdb.ask_weigh() returned';
  end if;
  perform ragdb_internal.ask_policy(run -> 'policy');
end $$;

-- Returns the first trace of a run whose pack is empty; null for another. A pack without chunks
-- names no trace.
create or replace function ragdb_internal.empty_trace(run jsonb) returns uuid
language sql immutable parallel safe
return case when run #> '{pack,chunks}' = '[]'
  then (run #>> '{summary,trace_ids,0}')::uuid end;

-- Returns the verdict of a verifier that found these codes.
create or replace function ragdb_internal.verdict_of(verifier text, codes text[]) returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('verifier_id', verifier)
  || case when codes = '{}' then '{"status": "pass"}'::jsonb
    else pg_catalog.jsonb_build_object('status', 'fail', 'codes', codes) end;

-- Returns the words of a question that are among some terms, as a list; null for none. The gate's
-- terms are stems, and a reader knows the words that were asked. A version, such as 4.2, and a
-- number, such as 12,000, are one word.
create or replace function ragdb_internal.missing_words(question text, terms text[], config text)
returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(a.word, ', ' order by a.n)
  from (
    select w.word, pg_catalog.min(w.n) as n
    from (
        select q.asked, ragdb_internal.parted_thousands() || '|[0-9]+(?:\.[0-9]+)+' as number
        from (select pg_catalog.lower(ragdb_internal.plain(missing_words.question) collate "C")
          as asked) q) q
      cross join lateral pg_catalog.unnest(ragdb_internal.all_words(
          pg_catalog.regexp_replace(q.asked, q.number, ' ', 'g')) || array(
        select v.number[1] from pg_catalog.regexp_matches(q.asked, q.number, 'g') v (number)))
        with ordinality w (word, n)
    where pg_catalog.tsvector_to_array(ragdb_internal.lexemes(w.word, missing_words.config))
      || ragdb_internal.plain_number(w.word) && missing_words.terms
    group by w.word) a);

-- Returns in words what of its question the evidence of a run lacks, and of what else the question
-- names no text says it; null for nothing.
create or replace function ragdb_internal.lack_of(run jsonb) returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(l.what || ragdb_internal.missing_words(run ->> 'question',
    array(select pg_catalog.jsonb_array_elements_text(l.terms)),
    ragdb_internal.evidence_config(run -> 'pack')), '' order by l.n)
  from (select ragdb_internal.list_or_none(run #> '{gate,missing_terms}') as missing offset 0) m
    cross join lateral (values (1, '; it lacks ', m.missing),
      (2, '; no passage says it of ', ragdb_internal.list_or_none(run #> '{output,unnamed}')
        - array(select pg_catalog.jsonb_array_elements_text(m.missing)))) l (n, what, terms));

-- Returns in words why the gate of a run said no. The scores are rounded away from each other: two
-- that are near would read as one.
create or replace function ragdb_internal.gate_reason(run jsonb) returns text
language sql stable parallel safe
return 'insufficient evidence: ' || case when run #>> '{gate,terms}' = '0'
  then 'the question has no word to look up'
  else 'the corpus does not say'
    || coalesce('; ' || ragdb_internal.other_language(run ->> 'question',
      run #>> '{pack,text_config}'), '')
    || case when coalesce((run #>> '{gate,best_score}')::float8, 0)
        < (run #>> '{gate,min_score}')::float8 then '; best score ' || pg_catalog.to_char(
          pg_catalog.trunc(coalesce((run #>> '{gate,best_score}')::numeric, 0), 2), 'FM0.00')
        || ', not ' || pg_catalog.to_char(
          pg_catalog.ceil((run #>> '{gate,min_score}')::numeric * 100) / 100, 'FM0.00')
      else '' end
    || coalesce(ragdb_internal.lack_of(run), '') end;

-- Returns in words why a run of this status has no answer; null for one that has.
create or replace function ragdb_internal.run_reason(run jsonb, status text) returns text
language sql stable parallel safe
return case run_reason.status
  when 'answered' then null
  when 'unverified' then (
    select pg_catalog.string_agg(p.problem, '; ' order by p.n)
    from pg_catalog.jsonb_array_elements_text(run -> 'problems') with ordinality p (problem, n))
  else case when run #> '{gate,enough}' = 'false' then ragdb_internal.gate_reason(run)
    else coalesce(run #>> '{summary,retrieval_skipped}',
      'the corpus does not say' || coalesce(ragdb_internal.lack_of(run), '')) end
end;

-- Returns a run with its output, what is wrong with it, and the status that these come to.
create or replace function ragdb_internal.ended_run(run jsonb, output jsonb, problems text[],
  attempts integer, verification jsonb) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_status constant text := case when problems <> '{}' then 'unverified'
    when output -> 'insufficient_evidence' = 'true' then 'insufficient' else 'answered' end;
begin
  run := jsonb_set(run, '{summary}', (run -> 'summary') || jsonb_build_object(
      'attempts', attempts, 'verification', verification, 'verified', problems = '{}'))
    || jsonb_build_object('output', output, 'problems', problems, 'status', v_status);
  return run || jsonb_build_object('reason', ragdb_internal.run_reason(run, v_status));
end $$;

-- What an answer took: milliseconds, and tokens of a model.
create type ragdb_internal.cost as (elapsed_ms float8, input_tokens integer, output_tokens integer);

-- Checks the citations of an output of a run, on record where its evidence is. Raises what
-- ragdb.record_answer raises.
create or replace function ragdb_internal.run_citations(run jsonb, output jsonb, attempt integer,
  cost ragdb_internal.cost)
returns ragdb_internal.answer_on_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := coalesce(run -> 'pack', '{"chunks": []}');
  v_required constant boolean := (run #>> '{policy,require_citations}')::boolean;
begin
  if run -> 'is_recorded' = 'true' then
    return ragdb_internal.write_answer(output, v_evidence, ragdb_internal.empty_trace(run),
      v_required, false, 0, 8, 'codepoint', run #>> '{policy,task}', run #>> '{policy,model}',
      attempt, run #>> '{policy,client}', cost.elapsed_ms, cost.input_tokens, cost.output_tokens);
  end if;
  return row(null, array(
    select row(c.*, null)::ragdb_internal.citation_check
    from ragdb.check_citations(output, v_evidence, require_citations => v_required) c)
  )::ragdb_internal.answer_on_record;
end $$;

-- Returns what is wrong with the citations of an output, in the words that a task is told.
-- Sentences of form come first, because they name what a task must write in another way.
create or replace function ragdb_internal.told_problems(run jsonb, output jsonb,
  checks ragdb_internal.citation_check[]) returns text[]
language sql immutable parallel safe
return coalesce(
  nullif(ragdb.validate_citations(output, coalesce(run -> 'pack', '{"chunks": []}'),
    (run #>> '{policy,require_citations}')::boolean), '{}'),
  array(
    select coalesce('citation[' || c.citation || ']: ', '') || c.code || ': ' || c.message
    from pg_catalog.unnest(checks) with ordinality c
    where c.code is not null and not c.is_advisory order by c.ordinality));

-- Returns the verdict of the verifier rag.citations.
create or replace function ragdb_internal.citation_verdict(
  checks ragdb_internal.citation_check[], problems text[]) returns jsonb
language sql immutable parallel safe
return ragdb_internal.verdict_of('rag.citations', coalesce(
  nullif(array(
    select c.code from pg_catalog.unnest(checks) with ordinality c
    where c.code is not null and not c.is_advisory
    group by c.code order by pg_catalog.min(c.ordinality)), '{}'),
  case when problems = '{}' then '{}'::text[] else array['CITATIONS_MALFORMED'] end));

-- Whether an output is neither an answer nor says that the evidence is insufficient. The keys are
-- ours, and those of Anthropic and Cohere.
create or replace function ragdb_internal.is_bare(output jsonb) returns boolean
language sql immutable parallel safe
return output -> 'insufficient_evidence' is distinct from 'true' and not exists (
  select from pg_catalog.jsonb_each(output) o
  where o.key in ('answer', 'content', 'message', 'text')
    and o.value not in ('null', '""', '[]', '{}', 'false', '0'));

-- Returns a run with an output and what its verifiers say. Raises what ragdb.record_answer raises.
create or replace function ragdb_internal.verified_run(run jsonb, output jsonb,
  schema_problems text[], attempt integer, cost ragdb_internal.cost)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problems text[] := case when schema_problems is null and ragdb_internal.is_bare(output)
    then array['output: neither answer nor insufficient_evidence'] else '{}' end;
  v_verdicts jsonb := jsonb_build_array(ragdb_internal.verdict_of('json.object', v_problems));
  v_record ragdb_internal.answer_on_record;
  v_told text[];
begin
  if schema_problems is not null then
    v_verdicts := v_verdicts || ragdb_internal.verdict_of('contract.schema', schema_problems);
    v_problems := v_problems || schema_problems;
  end if;
  if 'true' in (run #>> '{policy,checks_citations}', run #>> '{policy,require_citations}') then
    v_record := ragdb_internal.run_citations(run, output, attempt, cost);
    v_told := ragdb_internal.told_problems(run, output, v_record.checks);
    v_verdicts := v_verdicts
      || ragdb_internal.citation_verdict(v_record.checks, v_told);
    v_problems := v_problems || v_told;
  end if;
  if v_record.answer_id is not null then
    run := jsonb_set(run, '{summary,answer_id}', to_jsonb(v_record.answer_id));
  end if;
  return ragdb_internal.ended_run(run, output, v_problems, attempt, v_verdicts);
end $$;

-- Returns a run whose gate said no with the output of that, on record where its evidence is. Where
-- the gate says no, no task is asked: this is what is said in its place.
create or replace function ragdb_internal.unanswered_run(run jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_output constant jsonb := '{"answer": "", "citations": [], "insufficient_evidence": true}';
begin
  if run -> 'is_recorded' = 'true' then
    run := jsonb_set(run, '{summary,answer_id}', to_jsonb(
      (ragdb_internal.run_citations(run, v_output, 1, null)).answer_id));
  end if;
  return ragdb_internal.ended_run(run, v_output, '{}', 0, '[]');
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.ask_verify(
  run jsonb, output jsonb default null, problem text default null,
  schema_problems text[] default null, attempt integer default 1, elapsed_ms float8 default null,
  input_tokens integer default null, output_tokens integer default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  perform ragdb_internal.check_run(run);
  if problem is not null then
    return ragdb_internal.ended_run(run, '{}', array[problem], attempt,
      jsonb_build_array(ragdb_internal.verdict_of('json.object', array[problem])));
  end if;
  perform ragdb_internal.check_output(output, coalesce(run -> 'pack', '{"chunks": []}'));
  return ragdb_internal.verified_run(run, output, schema_problems, attempt,
    row(elapsed_ms, input_tokens, output_tokens)::ragdb_internal.cost);
end $$;
comment on function ragdb.ask_verify is
  'Ends a run of ragdb.ask_weigh: verifies an output that a task made for it, on record where its '
  'evidence is. problem says why there is no output, schema_problems (null: no schema) what a '
  'schema finds wrong with it; attempt (1 to 1000) counts the tries, elapsed_ms (milliseconds), '
  'input_tokens and output_tokens say what it took. The run has output, problems (sentences, none '
  'for an answer that holds), status, reason and summary. Raises RG400, RG460 and what '
  'ragdb.record_answer raises.';
