-- What to look up for a question, without a model: queries that are parts of it, and the reason
-- where there is nothing to look up.

-- Returns why there is nothing to look up for a question; null for most.
create or replace function ragdb_internal.no_retrieval_reason(question text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_plain constant text :=
    btrim(regexp_replace(lower(question collate "C"), '[[:space:][:punct:]]+', ' ', 'g'));
begin
  return case
    when v_plain = '' then 'it has no words'
    when v_plain ~ '^(hi|hello|hey|thanks|thank you|good '
        '(morning|afternoon|evening)|bye|goodbye|ok|okay|yes|no)( '
        '(there|all|everyone|very much|so much))?$'
      then 'it is a greeting'
    -- not 404, 2024-01-05 or 1998-2004, which a corpus may speak of
    when lower(question collate "C")
        ~ '^[[:space:]]*(what is|calculate)?[[:space:]]*[-+*/^().,=?0-9[:space:]]+$'
      and question ~ ('[0-9)][[:space:]]*[+*^][[:space:]]*[(0-9]'
        '|[0-9)][[:space:]]+[-/][[:space:]]+[(0-9]') then 'it is arithmetic'
    when ragdb_internal.lexemes(question, 'english') = '' then 'it has no word to search for'
  end;
end $$;

-- Returns what to look up for what is asked, 16 queries at most. The question itself, its parts,
-- what it quotes, the names in it, with a version behind them, as in Python 3.9; each once, in this
-- order.
create or replace function ragdb_internal.planned_queries(question text) returns text[]
language sql immutable parallel safe
return array(
  select q.query from (
    select pg_catalog.btrim(p.query) as query, pg_catalog.min(p.kind) as kind,
      pg_catalog.min(p.n) as n
    from (
      select 1 as kind, 1::bigint as n,
        pg_catalog.regexp_replace(pg_catalog.btrim(question), '[[:space:]]+', ' ', 'g') as query
      union all
      select 2, s.n, pg_catalog.regexp_replace(s.part, '[[:space:]]+', ' ', 'g')
      from pg_catalog.regexp_split_to_table(question,
        '(?<=[?.;!\u061f\u0964])[[:space:]]+|(?<=[\uff1f\u3002\uff01\uff1b])'
        '|,?[[:space:]]+and[[:space:]]+(?=(?:what|who|whom|whose|when|where|which|why|how)'
        '[[:space:]])') with ordinality s (part, n)
      union all
      select 3, m.n, m.phrase[1]
      from pg_catalog.regexp_matches(
        case when pg_catalog.translate(question, '"“„«「『', '') <> question then question end,
        '["\u201c\u201e\u00ab\u300c\u300e]([^"\u201c\u201d\u00ab\u00bb\u300c-\u300f]{2,200})'
        '["\u201d\u201c\u00bb\u300d\u300f]', 'g')
        with ordinality m (phrase, n)
      union all
      select 4, m.n, m.name[1]
      from pg_catalog.regexp_matches(question,
        ragdb_internal.name_in_question('|\s+[0-9]+[.][0-9.]*[0-9]'), 'g')
        with ordinality m (name, n)) p
    where p.query ~ ('[' || ragdb_internal.question_letters() || ']')
      -- the "I" of "how do I" begins with a capital
      and (p.kind < 4 or ragdb_internal.lexemes(p.query, 'english') <> '')
    group by pg_catalog.btrim(p.query)) q
  order by q.kind, q.n limit 16);

-- Definer: what it calls is private.
create or replace function ragdb.rag_query_plan(question text) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_reason text;
  v_queries text[];
begin
  perform ragdb_internal.check_question(question);
  v_reason := ragdb_internal.no_retrieval_reason(question);
  if v_reason is not null then
    return jsonb_build_object('needs_retrieval', false, 'queries', '[]'::jsonb, 'reason', v_reason);
  end if;
  v_queries := ragdb_internal.planned_queries(ragdb_internal.asked_for(question));
  return jsonb_build_object('needs_retrieval', true, 'queries', to_jsonb(v_queries),
    'reason', 'it asks for something: ' || cardinality(v_queries) || ' to look up');
end $$;
comment on function ragdb.rag_query_plan is
  'Plans the retrieval for a question without a model: needs_retrieval (false for greetings, '
  'arithmetic and what has no word to search for), queries (the question without courtesy such as '
  '"can you tell me about", its parts, what it quotes, the names in it; 16 at most) and the '
  'reason. Raises RG400, RG413.';

-- A model may plan instead; what it says is looked at before anything is looked up.
create or replace function ragdb.validate_query_plan(plan jsonb) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if plan is null or jsonb_typeof(plan) <> 'object' then
    return array['plan: no object'];
  end if;
  return array(
    select p.problem from (values
      (1, case when jsonb_typeof(plan -> 'needs_retrieval') is distinct from 'boolean'
        then 'needs_retrieval: no boolean' end),
      (2, case when jsonb_typeof(coalesce(plan -> 'queries', '[]')) <> 'array'
        then 'queries: no array'
        when jsonb_path_exists(plan, 'strict $.queries[*] ? (@.type() != "string")', silent => true)
          then 'queries: one is not a text'
        when exists (
            select from jsonb_array_elements_text(coalesce(plan -> 'queries', '[]')) q (query)
            where q.query !~ E'\\S' or length(q.query) > 10000)
          then 'queries: one is empty or longer than 10000 characters'
        when jsonb_array_length(coalesce(plan -> 'queries', '[]')) > 16 then 'queries: more than 16'
        when plan -> 'needs_retrieval' = 'true' and coalesce(plan -> 'queries', '[]') = '[]'
          then 'queries: none' end),
      (3, case when plan ? 'reason' and jsonb_typeof(plan -> 'reason') <> 'string'
        then 'reason: no text' end)
    ) p (n, problem)
    where p.problem is not null order by p.n);
end $$;
comment on function ragdb.validate_query_plan is
  'Returns what is wrong with a plan that a model made in place of ragdb.rag_query_plan: '
  'needs_retrieval is a boolean, queries are 1 to 16 texts of at most 10000 characters where it is '
  'true, reason is a text; nothing for a sound one.';
