-- Whether chunks say what an atom claims. A claim is a sentence of its text. It counts as said
-- where a chunk has its words in their order; a conclusion in other words is a proposal.

-- Returns a sentence without the marks around it, which a chunk need not have at that place.
create or replace function ragdb_internal.claim_of(sentence text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(claim_of.sentence,
  '^[ \t\r\n"\u201c]+|[ \t\r\n.!?\u3002\uff01\uff1f"\u201d]+$', '', 'g');

-- Returns some chunks as evidence that citations can be checked against.
create or replace function ragdb_internal.claim_evidence(corpus_id integer, chunk_ids text[])
returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object('chunks', coalesce(pg_catalog.jsonb_agg(
      pg_catalog.jsonb_build_object(
        'source_id', c.source, 'chunk_id', c.chunk_id, 'text', c.text)
      order by c.chunk_id), '[]'))
    from ragdb.chunks c
    where c.corpus_id = claim_evidence.corpus_id
      and c.chunk_id = any (claim_evidence.chunk_ids));

-- Returns the number of the first text that says a claim, else of the first that may be misread,
-- else 1; and what quotes are compared with of the texts, which is made once for all claims.
create or replace function ragdb_internal.text_of_claim(
  claim text, texts text[], inout letters text[], out text_no integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claim text;
begin
  for i in 1 .. cardinality(texts) loop
    if ragdb_internal.apart_at(texts[i], claim) > 0 then
      text_no := i;
      return;
    end if;
    v_claim := coalesce(v_claim, rtrim((ragdb_internal.quotable(claim)).letters));
    letters[i] := coalesce(letters[i], (ragdb_internal.quotable(texts[i])).letters);
    if ragdb_internal.apart_at(letters[i], v_claim) > 0 then
      text_no := i;
      return;
    end if;
  end loop;
  for i in 1 .. cardinality(texts) loop
    if (ragdb_internal.misread_run(letters[i], v_claim)).first is not null then
      text_no := i;
      return;
    end if;
  end loop;
  text_no := 1;
end $$;

-- Returns a text as an answer whose every sentence quotes a chunk of the evidence. Each sentence is
-- cited to the chunk that says it, or to the first where none does: then the check says what is
-- missing.
create or replace function ragdb_internal.claimed(text text, evidence jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_texts constant text[] := array(
    select c.chunk ->> 'text' from jsonb_array_elements(evidence -> 'chunks')
      with ordinality c (chunk, n) order by c.n);
  v_letters text[];
  v_text_no integer;
  v_sentence record;
  v_citations jsonb := '[]';
begin
  for v_sentence in
    select s.start_offset, s.end_offset, ragdb_internal.claim_of(s.sentence) as claim
      from ragdb_internal.sentences(text) s where v_texts <> '{}' order by s.start_offset
  loop
    select f.letters, f.text_no into v_letters, v_text_no
      from ragdb_internal.text_of_claim(v_sentence.claim, v_texts, v_letters) f;
    v_citations := v_citations || jsonb_build_object(
      'source_id', evidence #> array['chunks', (v_text_no - 1)::text, 'source_id'],
      'chunk_id', evidence #> array['chunks', (v_text_no - 1)::text, 'chunk_id'],
      'quote', v_sentence.claim, 'answer_start', v_sentence.start_offset,
      'answer_end', v_sentence.end_offset);
  end loop;
  return jsonb_build_object('answer', text, 'citations', v_citations);
end $$;

-- Returns what ragdb.check_citations says of each claim of a text, counted from 0, as quotes of
-- some chunks of a trace.
create or replace function ragdb_internal.claim_checks(
  trace ragdb.retrieval_traces, chunk_ids text[], text text)
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := ragdb_internal.claim_evidence(trace.corpus_id, chunk_ids);
begin
  return (
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'claim', c.citation, 'code', c.code, 'message', c.message, 'chunk_id', c.chunk_id,
        'method', c.method, 'start', c.start_offset, 'end', c.end_offset))
        order by c.citation)
      from ragdb.check_citations(ragdb_internal.claimed(text, v_evidence), v_evidence, trace.id,
        require_citations => true, require_admissible => true, min_coverage => 1) c
      where not coalesce(c.is_advisory, false));
end $$;

-- Returns the refusal for the first claim that no chunk says word for word (case, white space and
-- typography aside); null when all are said. The words of the claim are the caller's and are not
-- kept: an incident outlives what it is about.
create or replace function ragdb_internal.unsupported_claim(checks jsonb)
returns ragdb_internal.refusal
language sql immutable parallel safe
return (
  select row('CLAIM_UNSUPPORTED',
      coalesce('claim ' || ((c.item ->> 'claim')::integer + 1) || ': ', '')
        || coalesce(c.item ->> 'code' || ': ' || (c.item ->> 'message'),
          'QUOTE_NOT_FOUND: the chunk says it in other letters'),
      'unsupported_claim', 'high')::ragdb_internal.refusal
    from pg_catalog.jsonb_array_elements(unsupported_claim.checks) with ordinality c (item, n)
    where c.item ->> 'code' is not null or c.item ->> 'method' = 'approximate'
    order by c.n limit 1);
