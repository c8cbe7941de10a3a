-- The sentences of evidence that may answer a question, and what they say in its words.

-- A sentence of a chunk of evidence, numbered from 1, with the score of the chunk (1 where the
-- evidence gives none), its range in the chunk, its terms and those of its headings.
create type ragdb_internal.evidence_sentence as (
  n integer, source_id text, chunk_id text, page jsonb, score float8, start_offset integer,
  end_offset integer, sentence text, lexemes text[], headed text[]);

-- Returns the score of a chunk of evidence, 0 to 1; 1 where it has none, as in the input of a task.
create or replace function ragdb_internal.evidence_score(chunk jsonb) returns float8
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(chunk -> 'score') = 'number'
    and (chunk ->> 'score')::numeric between 0 and 1
  then ragdb_internal.double((chunk ->> 'score')::numeric) else 1 end;

-- Returns the sentences of a chunk of evidence as ragdb_internal.telling_sentences does, with what
-- the chunk scores, or the question that it answers. A reply is found by the words of the question
-- that it answers, as what follows one in a text. The text is made once (offset 0), not for each
-- sentence.
create or replace function ragdb_internal.chunk_sentences(chunk jsonb)
returns table (
  start_offset integer, end_offset integer, sentence text, words text, heading text, score float8)
language sql immutable parallel safe
begin atomic
  select s.start_offset - a.shift, s.end_offset - a.shift, s.sentence, s.words, s.heading,
    greatest(ragdb_internal.evidence_score(chunk),
      case when a.shift > 0 then ragdb_internal.evidence_score(chunk -> 'answers') end)
  from (
    select pg_catalog.length(b.before) as shift, b.before || (chunk ->> 'text') as text
    from (select coalesce((chunk #>> '{answers,text}') || E'\n\n', '') as before) b
    offset 0) a
    cross join lateral ragdb_internal.telling_sentences(a.text) s
  where s.start_offset >= a.shift;
end;

-- Returns the sentences of evidence, in its order, that are long enough to be quoted and do not
-- quote the question, with what they say in its words (read_as). No sentence takes the text of its
-- chunk along into the sort.
create or replace function ragdb_internal.evidence_sentences(
  evidence jsonb, config text, question text, read_as jsonb)
  returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row((row_number() over (order by s.n, s.start_offset))::integer,
      s.source_id, s.chunk_id, s.page, s.score, s.start_offset, s.end_offset, s.sentence,
      w.lexemes, s.over || w.headed)::ragdb_internal.evidence_sentence
    from (
        select c.n, c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id,
          c.chunk -> 'page' as page, c.over, t.*
        from (
            select e.n, e.chunk, case when a.above <> '' then ragdb_internal.also_says(
                tsvector_to_array(ragdb_internal.lexemes(a.above, config)), read_as) end as over
            from jsonb_array_elements(evidence -> 'chunks') with ordinality e (chunk, n)
              cross join lateral (
                select ragdb_internal.over_chunk(e.chunk) as above offset 0) a
            offset 0) c
          cross join lateral ragdb_internal.chunk_sentences(c.chunk) t
        where not ragdb_internal.quotes_question(t.sentence, question)
        offset 0) s
      cross join lateral (
        select tsvector_to_array(ragdb_internal.lexemes(s.words, config)) as lexemes,
          case when s.heading is not null
            then tsvector_to_array(ragdb_internal.lexemes(s.heading, config)) end as headed
        offset 0) l
      cross join lateral (
        select ragdb_internal.also_says(l.lexemes, read_as) as lexemes,
          ragdb_internal.also_says(l.headed, read_as) as headed
        offset 0) w);
end $$;

-- Returns the sentences of evidence as ragdb_internal.evidence_sentences does, and what the words
-- of a question are read as: with read_as null what differs from what is asked in accents alone.
create or replace function ragdb_internal.read_sentences(evidence jsonb, config text,
  question text, asked text, inout read_as jsonb,
  out sentences ragdb_internal.evidence_sentence[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_told constant boolean := read_as is not null;
begin
  sentences := ragdb_internal.evidence_sentences(
    evidence, config, question, coalesce(read_as, '{}'));
  if v_is_told then
    return;
  end if;
  read_as := ragdb_internal.read_as(null, asked, config, array(
      select distinct l from unnest(sentences) s cross join unnest(s.lexemes || s.headed) l),
    evidence);
  if read_as <> '{}' then
    sentences := ragdb_internal.evidence_sentences(evidence, config, question, read_as);
  end if;
end $$;
