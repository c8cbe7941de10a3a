-- An answer in the evidence's own words: the sentences that have most of what is asked.

-- A term of a question and what it weighs: more, the fewer sentences have it.
create type ragdb_internal.asked_term as (lexeme text, weight float8);

-- Returns the terms of a question with what each weighs among these sentences; of what it only
-- tells, those that one of them has.
create or replace function ragdb_internal.asked_terms(lexemes text[], told text[],
  sentences ragdb_internal.evidence_sentence[]) returns ragdb_internal.asked_term[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(a.lexeme, ragdb_internal.cautious_idf(cardinality(sentences), d.df)
      )::ragdb_internal.asked_term
    from unnest(asked_terms.lexemes) a (lexeme)
      cross join lateral (
        select count(*)::integer as df from unnest(sentences) s
        where a.lexeme = any (s.lexemes) or a.lexeme = any (s.headed)) d
    where d.df > 0 or a.lexeme <> all (asked_terms.told));
end $$;

-- Returns what those of some terms weigh that are among these lexemes, and half of it for those
-- that are in the headings alone.
create or replace function ragdb_internal.weight_of(
  terms ragdb_internal.asked_term[], lexemes text[], headed text[])
returns float8
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.sum(case when t.lexeme = any (weight_of.lexemes) then t.weight
    when t.lexeme = any (weight_of.headed) then t.weight / 2 end
    order by t.lexeme collate "C"), 0)
  from pg_catalog.unnest(weight_of.terms) t);

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
-- weight and by the score of its chunk, and the share of the terms (0 to 1, by weight) that they
-- have together; null for none. A sentence counts for the terms that no better one has brought yet,
-- so sentences are picked one by one. It counts half for those of its headings alone, which may be
-- followed by empty words, and as much as its chunk scores: what a search found first answers more
-- often (python -m bench.evidence.run). Where those picked are enough, one that brings less than
-- half of what the first brought, and does not stand next to one of them, is about something else.
create or replace function ragdb_internal.picked_sentences(
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[],
  max_sentences integer, min_support float8,
  out picked ragdb_internal.evidence_sentence[], out support float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_total constant float8 := (
    select sum(t.weight order by t.lexeme collate "C") from unnest(terms) t);
  v_left ragdb_internal.asked_term[] := terms;
  v_brought text[] := '{}';
  v_best ragdb_internal.evidence_sentence;
  v_gain float8;
  v_least float8 := 0;
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
        and (w.gain >= v_least or support < min_support
          or exists (select from unnest(picked) p
            where (p.source_id, p.chunk_id) = (s.source_id, s.chunk_id)
              and greatest(p.start_offset, s.start_offset)
                - least(p.end_offset, s.end_offset) < 3))
      order by w.gain * s.score desc, w.gain desc, s.n limit 1;
    exit when not found or v_gain = 0;
    v_least := coalesce(nullif(v_least, 0), v_gain / 2);
    picked := picked || v_best;
    v_brought := v_brought || v_best.lexemes || v_best.headed;
    support := ragdb_internal.weight_of(terms, v_brought, '{}') / v_total;
    v_left := array(select t from unnest(terms) t where t.lexeme <> all (v_brought));
  end loop;
end $$;

-- Refuses what a question is read as that is no object of shares by lexeme. Raises RG400.
create or replace function ragdb_internal.check_read_as(read_as jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(read_as) <> 'object' or jsonb_path_exists(
      read_as, 'strict $.* ? (@.type() != "object" || exists (@.* ? (@.type() != "number")))')
  then
    raise exception 'read_as is %', ragdb_internal.quote(read_as::text)
      using errcode = 'RG400', detail = 'it has an object of numbers for each lexeme asked for',
        hint = 'pass read_as of what ragdb.rag_enough_context_gate() returns, or leave it out';
  end if;
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.answer_from_evidence(
  question text, evidence jsonb, max_sentences integer default 2, min_support float8 default 0.5,
  read_as jsonb default null)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_config text;
  v_asked text;
  v_sentences ragdb_internal.evidence_sentence[];
  v_answer record;
begin
  perform ragdb_internal.check_question(question), ragdb_internal.check_evidence(v_evidence),
    ragdb_internal.check_read_as(read_as);
  if max_sentences is null or max_sentences not between 1 and 20 or min_support is null
    or not min_support between 0 and 1 then
    raise exception 'max_sentences or min_support is null or out of range'
      using errcode = 'RG400', detail = 'max_sentences is 1 to 20, min_support 0 to 1',
        hint = 'leave them out for 2 and 0.5';
  end if;
  v_config := ragdb_internal.evidence_config(v_evidence);
  v_asked := ragdb_internal.without_asking(question, v_config);
  v_sentences := ragdb_internal.read_sentences(v_evidence, v_config, question, v_asked, read_as);
  v_answer := ragdb_internal.picked_sentences(
    ragdb_internal.asked_terms(tsvector_to_array(ragdb_internal.lexemes(v_asked, v_config)),
      ragdb_internal.told_lexemes(question, v_asked, v_config), v_sentences),
    v_sentences, max_sentences, min_support);
  if coalesce(v_answer.support, 0) < min_support or v_answer.picked = '{}' then
    return jsonb_build_object('answer', '', 'citations', '[]'::jsonb,
      'insufficient_evidence', true, 'support', coalesce(v_answer.support, 0));
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
  'to 1), and insufficient_evidence true where at most max_sentences (1 to 20) support it less '
  'than min_support (0 to 1). read_as is what ragdb.rag_enough_context_gate says that words of the '
  'question are read as; without it what differs in accents alone. Raises RG400, RG413, RG460.';
