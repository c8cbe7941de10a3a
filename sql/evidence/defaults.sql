-- Defaults in manuals: what "Default: 8000." is the default of stands in the sentences before it.

-- Returns the place from which on a text speaks of what a sentence of it says the default of: the
-- first sentence before it in its paragraph or item, at most so far, that has terms which it lacks;
-- null for none.
create or replace function ragdb_internal.default_start(text text,
  said ragdb_internal.evidence_sentence, terms ragdb_internal.asked_term[],
  before ragdb_internal.evidence_sentence[])
returns integer
language sql immutable parallel safe
return (
  select pg_catalog.min(b.start_offset)
  from pg_catalog.unnest(before) b
  where b.end_offset <= (said).start_offset and (said).end_offset - b.start_offset < 600
    and exists (select from pg_catalog.unnest(terms) t
      where t.lexeme = any (b.lexemes) and t.lexeme <> all ((said).lexemes))
    and pg_catalog.substr(default_start.text, b.start_offset + 1,
      (said).start_offset - b.start_offset) !~ '\n[ \t]*(?:\n|[-*+#|] |[0-9]{1,3}[.)] )');

-- Returns a sentence of a text that says a default together with what those before it say of what
-- it is: "Default: 8000." says it of the port that its item is about.
create or replace function ragdb_internal.default_sentence(text text,
  said ragdb_internal.evidence_sentence, terms ragdb_internal.asked_term[],
  before ragdb_internal.evidence_sentence[])
returns ragdb_internal.evidence_sentence
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_start constant integer := ragdb_internal.default_start(text, said, terms, before);
begin
  if v_start is not null then
    said.sentence := substr(text, v_start + 1, said.end_offset - v_start);
    said.lexemes := said.lexemes || array(
      select l from unnest(before) b cross join unnest(b.lexemes) l
      where b.start_offset >= v_start);
    said.start_offset := v_start;
  end if;
  return said;
end $$;

-- Returns sentences, those that say a default by one of some lexemes taken together with what says
-- before them of what it is, which stands at most twenty sentences before: to look through all
-- takes long.
create or replace function ragdb_internal.default_sentences(evidence jsonb,
  terms ragdb_internal.asked_term[], sentences ragdb_internal.evidence_sentence[], said text[])
returns ragdb_internal.evidence_sentence[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when c.chunk is null then w.said else ragdb_internal.default_sentence(
      c.chunk ->> 'text', w.said, terms, w.before) end
    from (
        select s as said, array_agg(s) over (partition by s.chunk_id, s.source_id order by s.n
          rows between 20 preceding and 1 preceding) as before
        from unnest(sentences) s) w
      left join jsonb_array_elements(evidence -> 'chunks') c (chunk)
        on (w.said).lexemes && default_sentences.said
          and c.chunk ->> 'chunk_id' = (w.said).chunk_id
          and c.chunk ->> 'source_id' is not distinct from (w.said).source_id
    order by (w.said).n);
end $$;
