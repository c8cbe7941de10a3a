-- Questions: what to look up for one, whether evidence is enough for it, and an answer in the
-- evidence's own words.

create or replace function ragdb._check_question(question text) returns void
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
comment on function ragdb._check_question(text) is
  'Refuses a question that is null, empty or longer than 10000 characters. Raises RG400, RG413.';

-- Definer: what it calls is private.
create or replace function ragdb.rag_query_plan(question text) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_plain text;
  v_reason text;
  v_queries text[];
begin
  perform ragdb._check_question(question);
  v_plain := btrim(regexp_replace(lower(question), '[[:space:][:punct:]]+', ' ', 'g'));
  v_reason := case
    when v_plain = '' then 'it has no words'
    when v_plain ~ '^(hi|hello|hey|thanks|thank you|good '
                   '(morning|afternoon|evening)|bye|goodbye|ok|okay|yes|no)( '
                   '(there|all|everyone|very much|so much))?$'
      then 'it is a greeting'
    when lower(question)
      ~ '^[[:space:]]*(what is|calculate)?[[:space:]]*[-+*/^().,=?0-9[:space:]]+$'
      and question ~ '[0-9]' then 'it is arithmetic'
    when ragdb._lexemes(question, 'english') = '' then 'it has no word to search for'
  end;
  if v_reason is not null then
    return jsonb_build_object('needs_retrieval', false, 'queries', '[]'::jsonb, 'reason', v_reason);
  end if;
  -- the question itself, its parts, what it quotes, the names in it; each once, in this order
  v_queries := array(
    select q.query from (
      select btrim(p.query) as query, min(p.kind) as kind, min(p.n) as n
      from (
        select 1 as kind, 1::bigint as n,
          regexp_replace(btrim(question), '[[:space:]]+', ' ', 'g') as query
        union all
        select 2, s.n, regexp_replace(s.part, '[[:space:]]+', ' ', 'g')
        from regexp_split_to_table(question,
          '(?<=[?.;!])[[:space:]]+|,?[[:space:]]+and[[:space:]]+(?=(?:what|who|whom|whose|when|'
          'where|which|why|how)[[:space:]])')
          with ordinality s (part, n)
        union all
        select 3, m.n, m.phrase[1]
        from regexp_matches(question,
          '["\u201c\u201e\u00ab]([^"\u201c\u201d\u00ab\u00bb]{2,200})["\u201d\u201c\u00bb]', 'g')
          with ordinality m (phrase, n)
        union all
        -- runs of capitals that do not begin a sentence
        select 4, m.n, m.entity[1]
        from regexp_matches(question,
          '[[:lower:][:digit:],)][[:space:]]+([[:upper:]][[:alnum:]-]*(?:[[:space:]]+(?:(?:of|the|'
          'de|von|van)[[:space:]]+)?[[:upper:]][[:alnum:]-]*)*)', 'g')
          with ordinality m (entity, n)) p
      where p.query ~ '[[:alnum:]]'
      group by btrim(p.query)) q
    order by q.kind, q.n limit 16);
  return jsonb_build_object('needs_retrieval', true, 'queries', to_jsonb(v_queries),
    'reason', 'it asks for something: ' || cardinality(v_queries) || ' to look up');
end $$;
comment on function ragdb.rag_query_plan(text) is
  'Plans the retrieval for a question without a model: needs_retrieval (false for greetings, '
  'arithmetic and what has no word to search for), queries (the question, its parts, what it '
  'quotes, the names in it; 16 at most) and the reason. Raises RG400, RG413.';

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
          then 'queries: one is no text'
        when exists (select from jsonb_array_elements_text(coalesce(plan -> 'queries', '[]')) q
          (query)
          where q.query !~ '\S' or length(q.query) > 10000)
            then 'queries: one is empty or longer than 10000 characters'
        when jsonb_array_length(coalesce(plan -> 'queries', '[]')) > 16 then 'queries: more than 16'
        when plan -> 'needs_retrieval' = 'true' and coalesce(plan -> 'queries', '[]') = '[]'
          then 'queries: none' end),
      (3, case when plan ? 'reason' and jsonb_typeof(plan -> 'reason') <> 'string'
        then 'reason: no text' end)
    ) p (n, problem)
    where p.problem is not null order by p.n);
end $$;
comment on function ragdb.validate_query_plan(jsonb) is
  'Returns what is wrong with a plan that a model made in place of ragdb.rag_query_plan: '
  'needs_retrieval is a boolean, queries are 1 to 16 texts of at most 10000 characters where it is '
  'true, reason is a text; nothing for a sound one.';

-- Definer: what it calls is private.
create or replace function ragdb.rag_enough_context_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default 0,
    min_coverage float8 default 0.6)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(pack);
  v_config text;
  v_asked text[];
  v_found text[];
  v_best float8;
  v_chunks integer;
  v_coverage float8;
begin
  perform ragdb._check_question(query);
  perform ragdb._check_evidence(v_evidence);
  if min_chunks is null or min_chunks not between 0 and 1000 or min_score is null
    or not min_score between 0 and 1
      or min_coverage is null or not min_coverage between 0 and 1 then
    raise exception 'a threshold of the gate is null or out of range'
      using errcode = 'RG400',
        detail = 'min_chunks is 0 to 1000, min_score and min_coverage are 0 to 1',
            hint = 'leave a threshold out for its default';
  end if;
  v_config := ragdb._evidence_config(v_evidence);
  v_chunks := jsonb_array_length(v_evidence -> 'chunks');
  select max(case when jsonb_typeof(c.chunk -> 'score') = 'number'
    then ragdb._double(greatest(-1e300, least(1e300, (c.chunk ->> 'score')::numeric))) end),
      coalesce(array_agg(distinct l.lexeme) filter (where l.lexeme is not null), '{}')
    into v_best, v_found
    from jsonb_array_elements(v_evidence -> 'chunks') c (chunk)
      left join lateral unnest(tsvector_to_array(ragdb._lexemes(c.chunk ->> 'text', v_config))) l
        (lexeme) on true;
  v_asked := tsvector_to_array(ragdb._lexemes(query, v_config));
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

create or replace function ragdb._evidence_config(evidence jsonb) returns text
language sql immutable parallel safe
return coalesce(
  (select c.config from ragdb._text_configs() c
    where c.config = _evidence_config.evidence ->> 'text_config'), 'english');
comment on function ragdb._evidence_config(jsonb) is
  'Returns the text configuration of a pack; english where it names none.';

-- The same ends of sentences as the chunker's: a mark, closing quotes and brackets, white space. A
-- line of its own (a heading, an item) is a sentence too.
create or replace function ragdb._sentences(text text)
returns table (start_offset integer, end_offset integer, sentence text)
language sql immutable parallel safe
begin atomic
  select (s.stop - pg_catalog.length(s.part) + s.lead)::integer,
    (s.stop - pg_catalog.length(s.part) + s.lead + pg_catalog.length(s.sentence))::integer,
      s.sentence
  from (
    select p.part, pg_catalog.sum(pg_catalog.length(p.part)) over (order by p.n) as stop,
      pg_catalog.length(p.part) - pg_catalog.length(pg_catalog.ltrim(p.part, E' \t\r\n')) as lead,
      pg_catalog.btrim(p.part, E' \t\r\n') as sentence, p.n
    from (
      select m.part[1] as part, m.n
      from pg_catalog.regexp_matches(_sentences.text,
        '((?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?![\s"''\u2019\u201d)\]])|[.!?]["''\u2019\u201d)\]]'
        '+(?!\s)|\n(?!\s*\n))*(?:[.!?\u3002\uff01\uff1f]["''\u2019\u201d)\]]*\s*|\n\s*\n\s*|$)'
        ')', 'g')
        with ordinality m (part, n)
      where m.part[1] <> '') p) s
  where s.sentence <> ''
  order by s.n;
end;
comment on function ragdb._sentences(text) is
  'Returns the sentences of a text and their ranges in it, from 0.';

-- Definer: what it calls is private.
create or replace function ragdb.answer_from_evidence(
  question text, evidence jsonb, max_sentences integer default 2, min_support float8 default 0.5)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_config text;
  v_asked text[];
  v_total float8;
  v_support float8;
  v_left text[];
  v_picked integer[] := '{}';
  v_sentence record;
  v_answer text := '';
  v_citations jsonb[] := '{}';
begin
  perform ragdb._check_question(question);
  perform ragdb._check_evidence(v_evidence);
  if max_sentences is null or max_sentences not between 1 and 20 or min_support is null
    or not min_support between 0 and 1 then
    raise exception 'max_sentences or min_support is null or out of range'
      using errcode = 'RG400', detail = 'max_sentences is 1 to 20, min_support 0 to 1',
        hint = 'leave them out for 2 and 0.5';
  end if;
  v_config := ragdb._evidence_config(v_evidence);
  v_asked := tsvector_to_array(ragdb._lexemes(question, v_config));
  v_left := v_asked;
  for v_round in 1 .. max_sentences loop
    -- a sentence counts for the terms that no better one has brought yet, each by how rare it is
    -- among the sentences
    with sentence as materialized (
      select c.n as chunk, c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id,
        c.chunk -> 'page' as page,
        s.start_offset, s.end_offset, s.sentence,
          tsvector_to_array(ragdb._lexemes(s.sentence, v_config)) as lexemes,
        row_number() over (order by c.n, s.start_offset)::integer as n
      from jsonb_array_elements(v_evidence -> 'chunks') with ordinality c (chunk, n),
        ragdb._sentences(c.chunk ->> 'text') s
      -- a shorter one is too short a quote
      where length(s.sentence) >= 64
        or length(replace((ragdb._quotable(s.sentence)).letters, ' ', '')) >= 8
    ), term as (
      select a.lexeme, ln(1 + (t.sentences - d.df + 0.5) / (d.df + 0.5))::float8 as weight
      from unnest(v_asked) a (lexeme)
        cross join (select count(*)::float8 as sentences from sentence) t
        cross join lateral (select count(*)::float8 as df from sentence s
          where a.lexeme = any (s.lexemes)) d
    )
    select s.*, g.gain, w.total, w.kept into v_sentence
    from sentence s
      cross join lateral (
        select coalesce(sum(t.weight order by t.lexeme collate "C"), 0) as gain from term t
        where t.lexeme = any (s.lexemes) and t.lexeme = any (v_left)) g
      cross join (select sum(t.weight order by t.lexeme collate "C") as total,
        coalesce(sum(t.weight order by t.lexeme collate "C")
          filter (where t.lexeme <> all (v_left)), 0) as kept from term t) w
    where s.n <> all (v_picked)
    order by g.gain desc, s.n limit 1;
    exit when not found or v_sentence.gain = 0;
    if v_round = 1 then
      v_total := v_sentence.total;
    end if;
    v_picked := v_picked || v_sentence.n;
    v_left := array(select l.lexeme from unnest(v_left) l (lexeme)
      where l.lexeme <> all (v_sentence.lexemes));
    v_support := (v_sentence.kept + v_sentence.gain) / v_total;
    v_answer := v_answer || case when v_answer = '' then '' else ' ' end;
    v_citations := v_citations || (jsonb_build_object(
      'source_id', v_sentence.source_id, 'chunk_id', v_sentence.chunk_id, 'quote',
        v_sentence.sentence,
      'start', v_sentence.start_offset, 'end', v_sentence.end_offset,
      'answer_start', length(v_answer), 'answer_end',
        length(v_answer) + length(v_sentence.sentence))
      || case when v_sentence.page is null then '{}'
        else jsonb_build_object('page', v_sentence.page) end);
    v_answer := v_answer || v_sentence.sentence;
  end loop;
  if coalesce(v_support, 0) < min_support or v_answer = '' then
    return jsonb_build_object('answer', '', 'citations', '[]'::jsonb, 'insufficient_evidence', true,
      'support', coalesce(v_support, 0));
  end if;
  return jsonb_build_object('answer', v_answer, 'citations', to_jsonb(v_citations),
    'insufficient_evidence', false,
    'support', v_support);
end $$;
comment on function ragdb.answer_from_evidence(text, jsonb, integer, float8) is
  'Answers a question by the sentences of its evidence (a pack, or the input made of one) that '
  'have most of its terms, rare ones counting more: answer, citations with quote, start and end in '
  'the chunk and answer_start and answer_end, support (0 to 1), and insufficient_evidence true '
  'where at most max_sentences (1 to 20) support it less than min_support (0 to 1). Raises RG400, '
  'RG413, RG460.';
