-- What a RAG mode does with a question: whether anything is looked up, what, and why not.

-- Lists the keys of a policy by which a question is answered: the JSON type and range of each, and
-- its default. One row a key. A policy is JSON because it goes from step to step, and between
-- programs.
create or replace function ragdb_internal.ask_policy_keys()
returns table (key text, type text, low integer, high integer, value jsonb)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('mode', 'string', null::integer, null::integer, '"auto"'::jsonb),
    ('k', 'number', 1, 1000, '8'),
    ('require_citations', 'boolean', null, null, 'false'),
    ('checks_citations', 'boolean', null, null, 'true'),
    ('max_context', 'number', 1, 10000000, 'null'),
    ('unit', 'string', null, null, '"token"'),
    ('gate', 'object', null, null, 'null'),
    ('accepts_evidence', 'boolean', null, null, 'true'),
    ('requires_evidence', 'boolean', null, null, 'false'),
    ('has_retriever', 'boolean', null, null, 'true'),
    ('corpus', 'string', null, null, 'null'),
    ('task', 'string', null, null, 'null'),
    ('version', 'string', null, null, 'null'),
    ('model', 'string', null, null, 'null'),
    ('client', 'string', null, null, 'null')) as p (key, type, low, high, value);
end;

-- Whether an object has the thresholds of the gate, or some of them, as numbers.
create or replace function ragdb_internal.are_thresholds(gate jsonb) returns boolean
language sql immutable parallel safe
return not exists (
  select from pg_catalog.jsonb_each(gate) t
  where t.key not in ('min_chunks', 'min_score', 'min_coverage')
    or pg_catalog.jsonb_typeof(t.value) not in ('null', 'number')
    or case when pg_catalog.jsonb_typeof(t.value) = 'number'
      then pg_catalog.abs((t.value #>> '{}')::numeric) > 1000000
        or t.key = 'min_chunks' and (t.value #>> '{}')::numeric % 1 <> 0 end);

-- Returns what is wrong with a policy; null for a sound one.
create or replace function ragdb_internal.policy_problem(policy jsonb) returns text
language sql immutable parallel safe
return (
  select case
      when k.key is null then 'policy has an unknown key ' || ragdb_internal.quote(g.key)
      when g.key = 'mode' then 'mode is ' || ragdb_internal.quote(g.value #>> '{}')
        || ', not one of off, auto, on, required'
      when k.low is not null then g.key || ' is ' || pg_catalog.left(g.value::text, 40)
        || ', not ' || k.low || ' to ' || k.high
      when g.key = 'unit' then 'unit is not token or char'
      when g.key = 'gate' then 'gate is not an object of min_chunks, min_score and min_coverage'
      else g.key || ' is not a value of type ' || k.type end
  from pg_catalog.jsonb_each(policy_problem.policy) g
    left join ragdb_internal.ask_policy_keys() k on k.key = g.key
  where k.key is null or g.value <> 'null' and case
    when pg_catalog.jsonb_typeof(g.value) <> k.type then true
    when g.key = 'mode' then g.value #>> '{}' not in ('off', 'auto', 'on', 'required')
    when g.key = 'unit' then g.value #>> '{}' not in ('token', 'char')
    when g.key = 'gate' then not ragdb_internal.are_thresholds(g.value)
    when k.low is not null then not (g.value #>> '{}')::numeric between k.low and k.high
      or (g.value #>> '{}')::numeric % 1 <> 0
    else false end
  order by g.key limit 1);

-- Returns a policy in full. Raises RG400.
create or replace function ragdb_internal.ask_policy(policy jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text;
begin
  v_problem := case when policy is null or jsonb_typeof(policy) <> 'object'
    then 'policy is not an object' else ragdb_internal.policy_problem(policy) end;
  if v_problem is not null then
    raise exception '%', v_problem
      using errcode = 'RG400', detail = 'a policy says how a question is answered',
        hint = case when v_problem like '%unknown key%' then 'its keys are ' || (
            select string_agg(k.key, ', ' order by k.key) from ragdb_internal.ask_policy_keys() k)
          else 'leave it out for its default' end;
  end if;
  return (
    select jsonb_object_agg(k.key, coalesce(nullif(policy -> k.key, 'null'), k.value))
    from ragdb_internal.ask_policy_keys() k);
end $$;

-- Returns the mode that a policy comes to where the caller gave evidence or none. What a contract
-- requires stands above what a call asks for, but the caller may bring evidence. Raises RG400.
create or replace function ragdb_internal.ask_mode(policy jsonb, has_evidence boolean) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mode constant text := policy ->> 'mode';
begin
  if has_evidence and policy -> 'accepts_evidence' = 'false' then
    raise exception 'the task contract does not accept evidence'
      using errcode = 'RG400', detail = 'its capabilities do not name supports_rag',
        hint = 'ask without evidence';
  elsif policy -> 'requires_evidence' = 'false' then
    return v_mode;
  elsif v_mode <> 'off' then
    return 'required';
  elsif not has_evidence then
    raise exception 'the task contract requires evidence, but there is none'
      using errcode = 'RG400', detail = 'the mode is off, and the caller gave none',
        hint = 'give evidence, or choose another mode';
  end if;
  return v_mode;
end $$;

-- Returns why nothing is looked up whatever the question is; null where the plan decides.
create or replace function ragdb_internal.ask_skipped(policy jsonb, mode text, has_evidence boolean)
  returns text
language sql immutable parallel safe
return case
  when ask_skipped.mode = 'off' then 'the mode is off'
  when policy -> 'accepts_evidence' = 'false' then case ask_skipped.mode
    when 'required' then 'rag required but task contract does not accept evidence'
    else 'the task contract does not accept evidence' end
  when policy -> 'has_retriever' = 'false' then case ask_skipped.mode
    when 'required' then 'rag required but no retriever configured'
    else 'no retriever is configured' end
  when ask_skipped.mode = 'auto' and has_evidence then 'the caller gave evidence'
end;

-- Returns the plan of a model, or where there is none, or one with a problem, that of
-- ragdb.rag_query_plan. A model's own words are in none of this. Raises RG400, RG413.
create or replace function ragdb_internal.agreed_plan(question text, plan jsonb, problem text)
  returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem constant text := coalesce(problem, case when plan is not null then nullif(
    array_to_string(ragdb.validate_query_plan(plan), '; '), '') end);
  v_rules jsonb;
begin
  if plan is not null and v_problem is null then
    return jsonb_build_object('by', 'model', 'needs_retrieval', plan -> 'needs_retrieval',
      'queries', coalesce(nullif(plan -> 'queries', 'null'), '[]'),
      'reason', case when plan -> 'needs_retrieval' = 'true' then 'the model''s plan'
        else 'the model''s plan needs none' end);
  end if;
  v_rules := ragdb.rag_query_plan(question) || '{"by": "rules"}';
  return v_rules || case when v_problem is null then '{}'
    else jsonb_build_object('problem', v_problem) end;
end $$;

-- Returns a run that could not be done as its mode demands.
create or replace function ragdb_internal.failed_run(run jsonb, failure text) returns jsonb
language sql immutable parallel safe
return run || pg_catalog.jsonb_build_object('status', 'failed', 'reason', failed_run.failure);

-- Returns a run that looks nothing up, with the reason. Raises RG404.
create or replace function ragdb_internal.skipped_run(run jsonb, reason text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- no search refuses a corpus that there is not
  if run #>> '{policy,corpus}' is not null then
    perform ragdb_internal.open_corpus(run #>> '{policy,corpus}', 'read', true);
  end if;
  run := jsonb_set(run, '{summary,retrieval_skipped}', to_jsonb(reason));
  return case when run #>> '{policy,mode}' = 'required'
    then ragdb_internal.failed_run(run, reason) else run end;
end $$;

-- Returns the lexemes of what the question of a run asks the meaning of, in the language of its
-- corpus, with that; none where it asks something else.
create or replace function ragdb_internal.run_meaning(run jsonb, out meant text[], out config text)
language sql stable parallel safe
begin atomic
  select ragdb_internal.meant_lexemes(run ->> 'question', c.config), c.config
  from (
    select coalesce((
        select c.text_config from ragdb.corpora c
        where c.name = run #>> '{policy,corpus}' and ragdb_internal.privilege(c) > 0
      ), 'english') as config offset 0) c;
end;

-- Returns a run with its plan, and with what is looked up, as how many chunks a query (depth), or
-- why nothing is. What says what something is stands far behind what speaks of it often, so more is
-- looked up for who asks that. Raises RG400, RG404, RG413.
create or replace function ragdb_internal.planned_run(run jsonb, plan jsonb, plan_problem text)
  returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_plan constant jsonb :=
    ragdb_internal.agreed_plan(run ->> 'question', plan, plan_problem);
  v_queries constant jsonb := v_plan -> 'queries';
  v_k constant integer := (run #>> '{policy,k}')::numeric::integer;
  v_said constant jsonb := v_plan || jsonb_build_object('queries', jsonb_array_length(v_queries));
begin
  run := jsonb_set(run, '{summary,plan}', v_said) || jsonb_build_object('plan', v_plan);
  if run #>> '{policy,mode}' = 'auto' and v_plan -> 'needs_retrieval' = 'false' then
    return ragdb_internal.skipped_run(run, v_plan ->> 'reason');
  end if;
  return run || jsonb_build_object('queries', case when v_queries = '[]'
    then jsonb_build_array(run -> 'question') else v_queries end,
    'depth', case (ragdb_internal.run_meaning(run)).meant when '{}' then v_k
      else greatest(v_k, least(5 * v_k, 50)) end);
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.ask_plan(
  question text, policy jsonb default '{}', has_evidence boolean default false,
  plan jsonb default null, plan_problem text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_policy jsonb := ragdb_internal.ask_policy(policy);
  v_skipped text;
  v_run jsonb;
begin
  perform ragdb_internal.check_question(question);
  v_policy := v_policy || jsonb_build_object(
    'mode', ragdb_internal.ask_mode(v_policy, coalesce(has_evidence, false)));
  v_run := jsonb_build_object('question', question, 'policy', v_policy,
    'summary', jsonb_strip_nulls(jsonb_build_object('rag_mode', v_policy -> 'mode',
      'task', v_policy -> 'task', 'version', v_policy -> 'version')));
  v_skipped := ragdb_internal.ask_skipped(v_policy, v_policy ->> 'mode',
    coalesce(has_evidence, false));
  return case when v_skipped is null
    then ragdb_internal.planned_run(v_run, plan, plan_problem)
    else ragdb_internal.skipped_run(v_run, v_skipped) end;
end $$;
comment on function ragdb.ask_plan is
  'Begins to answer a question: returns a run, which ragdb.ask_weigh and ragdb.ask_verify go on '
  'with. policy has mode (off, auto, on, required), k (1 to 1000), max_context (1 to 10000000, in '
  'unit token or char), gate (thresholds; null weighs nothing), require_citations and more; plan '
  'is that of a model, or plan_problem what is wrong with it. The run has queries to look up and '
  'depth, how many chunks each (k; five times as many, 50 at most, for "What is X?"), or none and '
  'the reason in summary, or status failed and the reason. Raises RG400, RG404, RG413.';
