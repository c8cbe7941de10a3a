-- The same ends of sentences as the chunker's: a mark, closing quotes and brackets, white space. A
-- line of its own (a heading, an item) is a sentence too.
create or replace function ragdb_internal.sentences(text text)
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
      from pg_catalog.regexp_matches(sentences.text,
        '((?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?![\s"''\u2019\u201d)\]])|[.!?]["''\u2019\u201d)\]]'
        '+(?!\s)|\n(?!\s*\n))*(?:[.!?\u3002\uff01\uff1f]["''\u2019\u201d)\]]*\s*|\n\s*\n\s*|$)'
        ')', 'g')
        with ordinality m (part, n)
      where m.part[1] <> '') p) s
  where s.sentence <> ''
  order by s.n;
end;
comment on function ragdb_internal.sentences(text) is
  'Returns the sentences of a text and their ranges in it, from 0.';

-- Definer: what it calls is private.
create or replace function ragdb.answer_from_evidence(
  question text, evidence jsonb, max_sentences integer default 2, min_support float8 default 0.5)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb_internal.evidence_of(evidence);
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
  perform ragdb_internal.check_question(question);
  perform ragdb_internal.check_evidence(v_evidence);
  if max_sentences is null or max_sentences not between 1 and 20 or min_support is null
    or not min_support between 0 and 1 then
    raise exception 'max_sentences or min_support is null or out of range'
      using errcode = 'RG400', detail = 'max_sentences is 1 to 20, min_support 0 to 1',
        hint = 'leave them out for 2 and 0.5';
  end if;
  v_config := ragdb_internal.evidence_config(v_evidence);
  v_asked := tsvector_to_array(ragdb_internal.lexemes(question, v_config));
  v_left := v_asked;
  for v_round in 1 .. max_sentences loop
    -- a sentence counts for the terms that no better one has brought yet, each by how rare it is
    -- among the sentences
    with sentence as materialized (
      select c.n as chunk, c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id,
        c.chunk -> 'page' as page,
        s.start_offset, s.end_offset, s.sentence,
          tsvector_to_array(ragdb_internal.lexemes(s.sentence, v_config)) as lexemes,
        row_number() over (order by c.n, s.start_offset)::integer as n
      from jsonb_array_elements(v_evidence -> 'chunks') with ordinality c (chunk, n),
        ragdb_internal.sentences(c.chunk ->> 'text') s
      -- a shorter one is too short a quote
      where length(s.sentence) >= 64
        or length(replace((ragdb_internal.quotable(s.sentence)).letters, ' ', '')) >= 8
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
