-- An answer in the evidence's own words: the sentences that have most of what is asked.

-- Returns the citation of a sentence that stands in an answer from there on.
create or replace function ragdb_internal.sentence_citation(
  sentence ragdb_internal.evidence_sentence, answer_start integer) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object(
    'source_id', (sentence).source_id, 'chunk_id', (sentence).chunk_id,
    'page', (sentence).page, 'quote', (sentence).sentence,
    'start', (sentence).start_offset, 'end', (sentence).end_offset,
    'answer_start', sentence_citation.answer_start,
    'answer_end', sentence_citation.answer_start + pg_catalog.length((sentence).sentence));

-- Returns at most so many sentences, each the one that has most of the terms that are left, by
-- weight and by the score of its chunk, and how much they support an answer, 0 to 1; null for none.
-- A sentence counts for the terms that no better one has brought yet, so sentences are picked one
-- by one. It counts half for those of its headings alone, which may be followed by empty words, and
-- as much as its chunk scores: what a search found first answers more often (python -m
-- bench.evidence.run). One that brings less than half of what the first brought, and does not stand
-- next to one of them, is about something else. Support is the share of the terms, by weight, that
-- the first has: terms that others bring are seldom said of the same thing. Of a long question a
-- smaller share supports as much, of one that weighs 16, some five terms, the share itself
-- (bench/results.md, "What supports an answer").
create or replace function ragdb_internal.picked_sentences(
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[],
  max_sentences integer,
  out picked ragdb_internal.evidence_sentence[], out support float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_total constant float8 := (
    select sum(t.weight order by t.lexeme collate "C") from unnest(terms) t);
  v_left ragdb_internal.asked_term[] := terms;
  v_best ragdb_internal.evidence_sentence;
  v_gain float8;
  v_first float8 := 0;
begin
  picked := '{}';
  for v_round in 1 .. max_sentences loop
    select s.*, w.gain into v_best.n, v_best.source_id, v_best.chunk_id, v_best.page,
        v_best.score, v_best.start_offset, v_best.end_offset, v_best.sentence, v_best.lexemes,
        v_best.headed, v_gain
      from unnest(sentences) s
        cross join lateral (
          select ragdb_internal.weight_of(v_left, s.lexemes, s.headed) as gain offset 0) w
      where not exists (select from unnest(picked) p
        where (p.source_id, p.chunk_id) = (s.source_id, s.chunk_id)
          and p.start_offset < s.end_offset and s.start_offset < p.end_offset)
        and (w.gain >= v_first / 2 or exists (select from unnest(picked) p
            where (p.source_id, p.chunk_id) = (s.source_id, s.chunk_id)
              and greatest(p.start_offset, s.start_offset)
                - least(p.end_offset, s.end_offset) < 3
              -- a heading that is quoted parts it from what is above
              and (s.start_offset > p.start_offset or not starts_with(p.sentence, '#'))))
      order by w.gain * s.score desc, w.gain desc, s.n limit 1;
    exit when not found or v_gain = 0;
    v_first := case v_round when 1 then v_gain else v_first end;
    picked := picked || v_best;
    v_left := array(
      select t from unnest(v_left) t where t.lexeme <> all (v_best.lexemes || v_best.headed));
  end loop;
  support := (v_first / v_total) ^ least(1.3, 2 / v_total ^ 0.25);
end $$;

-- Returns the sentences of evidence that answer a question, as picked_sentences does, but for those
-- that are about another thing than the question is and come first; who asks who made something is
-- told nothing that does not name it and whose source does not. Where ten are, none is left: a long
-- text about other things costs no more.
create or replace function ragdb_internal.picked_about(question text, config text, evidence jsonb,
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[],
  max_sentences integer,
  out picked ragdb_internal.evidence_sentence[], out support float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name constant text := ragdb_internal.asked_subject(question, config);
  v_subject constant text[] := case when v_name is null then '{}'
    else ragdb_internal.lexemes_of_name(v_name, config) end;
  v_made constant boolean := ragdb_internal.asked_for(question) ~* '^who ';
  v_meant constant text[] := ragdb_internal.meant_lexemes(question, config);
  v_object constant text[] := ragdb_internal.asked_object(question, config);
  v_left ragdb_internal.evidence_sentence[] := sentences;
begin
  for v_round in 1 .. 10 loop
    select p.picked, p.support into picked, support
      from ragdb_internal.picked_sentences(terms, v_left, max_sentences) p;
    if picked = '{}' or not ragdb_internal.is_of_other_number(picked[1].sentence, question)
      and not ragdb_internal.says_of_another(picked[1].sentence, v_meant, config)
      and not ragdb_internal.is_untold_of(picked[1], question, terms, sentences)
      and (v_object = '{}' or picked[1].lexemes || picked[1].headed && v_object)
      and (v_subject = '{}'
        or not (v_made
          and ragdb_internal.begins_with_longer(picked[1].sentence, v_name, question))
        and (ragdb_internal.is_named(picked[1], v_name, v_subject, sentences)
          or (not v_made or ragdb_internal.is_named_by_source(picked[1], v_subject, config))
            and not ragdb_internal.is_about_another(picked[1], question, evidence)))
    then
      return;
    end if;
    v_left := array(select s from unnest(v_left) s where s.n <> picked[1].n order by s.n);
  end loop;
  picked := '{}';
  support := 0;
end $$;

-- Refuses a verdict of the gate whose read_as is no object of shares by lexeme, or whose names are
-- no lexemes. Raises RG400.
create or replace function ragdb_internal.check_verdict(gate jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(gate) <> 'object' or jsonb_typeof(gate -> 'read_as') <> 'object'
    or jsonb_typeof(gate -> 'names') <> 'array' or jsonb_path_exists(gate,
      'strict $.read_as.* ? (@.type() != "object" || exists (@.* ? (@.type() != "number")))',
      silent => true)
    or jsonb_path_exists(gate, 'strict $.names[*] ? (@.type() != "string")', silent => true)
  then
    raise exception 'gate is %', ragdb_internal.quote(gate::text)
      using errcode = 'RG400', detail = 'read_as has an object of numbers for each lexeme asked '
          'for, and names is a list of lexemes',
        hint = 'pass what ragdb.rag_enough_context_gate() returns, or leave it out';
  end if;
end $$;

-- Returns the sentences of evidence that answer a question, as picked_sentences does, by the
-- verdict of a gate (null: none). Where none does, what the question names and those sentences do
-- not that have enough of its other terms.
create or replace function ragdb_internal.extracted_answer(question text, evidence jsonb,
  max_sentences integer, min_support float8, gate jsonb,
  out picked ragdb_internal.evidence_sentence[], out support float8, out unnamed text[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_config constant text := ragdb_internal.evidence_config(evidence);
  v_kinds constant text[] := ragdb_internal.asked_kinds(question, v_config);
  v_asked constant text := ragdb_internal.without_asking(question, v_config);
  v_asking constant text := ragdb_internal.asking_sentences(question, v_config);
  v_read constant record := ragdb_internal.read_sentences(
    evidence, v_config, question, v_asked, gate -> 'read_as');
  v_terms constant ragdb_internal.asked_term[] := ragdb_internal.asked_terms(
    ragdb_internal.kind_lexemes(v_asked, v_kinds, v_config),
    ragdb_internal.told_lexemes(v_asking, v_asked, v_config), v_read.sentences);
  v_names constant ragdb_internal.asked_term[] := ragdb_internal.without_versions(
    ragdb_internal.named_terms(
      case when gate ? 'names' then array(select jsonb_array_elements_text(gate -> 'names'))
        else ragdb_internal.names_asked(coalesce(v_asking, v_asked), evidence, v_config) end,
      ragdb_internal.named_folders(coalesce(v_asking, v_asked), evidence, v_config),
      v_terms, v_read.sentences),
    question, v_read.sentences);
begin
  select p.picked, p.support into picked, support
    from ragdb_internal.picked_about(question, v_config, evidence, v_terms,
      ragdb_internal.listed_sentences(evidence,
      ragdb_internal.telling_of_thing(
        ragdb_internal.defining_sentences(ragdb_internal.kind_sentences(evidence,
          ragdb_internal.naming_sentences(evidence, v_config,
            v_read.read_as, v_names, v_asked, v_read.sentences), v_kinds, question, v_terms),
          question, v_config), question, v_config), question, v_config), max_sentences) p;
  if coalesce(support, 0) >= min_support then
    support := support * ragdb_internal.picked_kinds(picked, v_kinds, question)::integer;
  elsif v_names <> '{}' then
    unnamed := array(
      select n.lexeme
      from ragdb_internal.picked_sentences(
          v_terms, v_read.sentences, max_sentences) p
        cross join unnest(v_names) n
      where p.support >= min_support
        and n.lexeme <> all (p.picked[1].lexemes || p.picked[1].headed
          || tsvector_to_array(ragdb_internal.lexemes(
            ragdb_internal.source_words(p.picked[1].source_id), v_config))));
  end if;
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.answer_from_evidence(
  question text, evidence jsonb, max_sentences integer default 2, min_support float8 default 0.4,
  gate jsonb default null)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_answer record;
begin
  perform ragdb_internal.check_question(question), ragdb_internal.check_evidence(v_evidence),
    ragdb_internal.check_verdict(gate);
  if max_sentences is null or max_sentences not between 1 and 20 or min_support is null
    or not min_support between 0 and 1 then
    raise exception 'max_sentences or min_support is null or out of range'
      using errcode = 'RG400', detail = 'max_sentences is 1 to 20, min_support 0 to 1',
        hint = 'leave them out for 2 and 0.4';
  end if;
  v_answer := ragdb_internal.extracted_answer(
    question, v_evidence, max_sentences, min_support, gate);
  if coalesce(v_answer.support, 0) < min_support or v_answer.picked = '{}' then
    return jsonb_build_object('answer', '', 'citations', '[]'::jsonb,
      'insufficient_evidence', true, 'support', coalesce(v_answer.support, 0),
      'unnamed', to_jsonb(coalesce(v_answer.unnamed, '{}')));
  end if;
  return (
    select jsonb_build_object('answer', string_agg(p.sentence, ' ' order by p.ord),
      'citations', jsonb_agg(ragdb_internal.sentence_citation(p.picked, p.answer_start)
        order by p.ord),
      'insufficient_evidence', false, 'support', v_answer.support)
    from (
      select u.sentence, row(u.n, u.source_id, u.chunk_id, u.page, u.score, u.start_offset,
          u.end_offset, u.sentence, u.lexemes, u.headed)::ragdb_internal.evidence_sentence
          as picked, u.ordinality as ord, (coalesce(sum(length(u.sentence) + 1) over (
          order by u.ordinality rows between unbounded preceding and 1 preceding), 0))::integer
          as answer_start
      from unnest(v_answer.picked) with ordinality u) p);
end $$;
comment on function ragdb.answer_from_evidence is
  'Answers a question by the sentences of its evidence (a pack, or the input made of one) that '
  'have most of its terms, rare ones and chunks of a higher score counting more: answer, '
  'citations with quote, start and end in the chunk and answer_start and answer_end, support (0 '
  'to 1, by the share of the terms that the first of at most max_sentences, 1 to 20, has), and '
  'insufficient_evidence true where that is less than min_support (0 to 1). A document that does '
  'not name what the question names, by names and numbers, does not answer it; unnamed lists those '
  'that stand in the way. gate is the verdict of ragdb.rag_enough_context_gate, which says as what '
  'words of the question are read (read_as) and what has to be named (names); without it what '
  'differs in accents alone is the same, and all names count in the sentences that ask. Raises '
  'RG400, RG413, RG460.';
