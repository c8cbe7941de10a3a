-- What evidence is, and what of it a citation can be held to: its form, the trace it comes from,
-- what that trace saw of a chunk, the numbers and identifiers of a text.

-- Refuses what is not an output, or not the evidence of a pack. Raises RG460.
create or replace function ragdb_internal.check_output(output jsonb, evidence jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if output is null or jsonb_typeof(output) <> 'object' then
    raise exception 'output is %',
      coalesce('of type ' || jsonb_typeof(output) || ' and not an object', 'null')
      using errcode = 'RG460',
        detail = 'it is an object with answer and citations, or insufficient_evidence',
            hint = 'parse what the model returned as JSON first';
  end if;
  perform ragdb_internal.check_evidence(evidence);
end $$;

-- Returns the evidence in the input of a task, or what it is given.
create or replace function ragdb_internal.evidence_of(input jsonb) returns jsonb
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(evidence_of.input -> 'evidence') = 'object'
  then evidence_of.input -> 'evidence'
  else evidence_of.input end;

-- Returns the trace that a pack or a chunk of one names; null for none. A pack of several
-- retrievals has the trace at each chunk. Raises RG460.
create or replace function ragdb_internal.trace_of(named jsonb) returns uuid
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if named ->> 'trace_id' !~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$' then
    raise exception 'trace_id is %', ragdb_internal.quote(named ->> 'trace_id')
      using errcode = 'RG460', detail = 'the trace of evidence is named by its UUID',
            hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  return (named ->> 'trace_id')::uuid;
end $$;

-- Returns the traces that evidence and its chunks name.
create or replace function ragdb_internal.traces_named_by(evidence jsonb) returns uuid[]
language sql immutable parallel safe
return array(
  select n.id from (
    select ragdb_internal.trace_of(traces_named_by.evidence)
    union select ragdb_internal.trace_of(c)
      from pg_catalog.jsonb_array_elements(traces_named_by.evidence -> 'chunks') c) n (id)
  where n.id is not null order by n.id);

-- Returns the identifiers of a text: words of letters with digits or underscores.
create or replace function ragdb_internal.terms_of(letters text) returns text[]
language sql immutable parallel safe
return array(
  select distinct m.term[1]
  from (select ragdb_internal.letter_of_word(terms_of.letters) as letter offset 0) l
    cross join pg_catalog.regexp_matches(terms_of.letters, pg_catalog.replace(
      '(?:[0-9]|L)+(?:[_./:-](?:[0-9]|L)+)*', 'L', l.letter), 'g') m (term)
  where m.term[1] ~ '[0-9]' and m.term[1] ~ l.letter or m.term[1] ~ '_'
  order by 1);

-- Whether what evidence says of a chunk is the text of the chunk, or its beginning. A pack has the
-- text of a chunk as it is or as evidence, whole or its beginning; decomposed, what was cut is a
-- beginning also where a mark was cut off. The backslash before what imitates a pack depends on
-- where the line was cut.
create or replace function ragdb_internal.begins(said text, text text) returns boolean
language sql immutable parallel safe
return pg_catalog.starts_with(text, said) or pg_catalog.starts_with(
  normalize(pg_catalog.replace(ragdb_internal.evidence_text(text), '\', ''), nfd),
  normalize(pg_catalog.replace(ragdb_internal.evidence_text(said), '\', ''), nfd));

-- What a trace saw of a cited chunk: whether it retrieved it (null: there is no trace), whether it
-- has changed or gone since, whether it says what the evidence has it say, and whether the slice of
-- the trace admits it.
create type ragdb_internal.seen_chunk as (
  is_retrieved boolean, is_changed boolean, is_said boolean, is_admissible boolean);

-- Returns what a trace saw of a chunk that is cited with what evidence says of it. What a trace saw
-- of a chunk that is cited, and what it is now. Whoever may change a trace has not the key to sign
-- it.
create or replace function ragdb_internal.cited_hit(
  trace ragdb.retrieval_traces, chunk_id text, said text) returns ragdb_internal.seen_chunk
language sql stable parallel safe
begin atomic
  select h.chunk_id is not null,
    h.content_hash is distinct from ragdb_internal.content_hash(c.text),
    coalesce(ragdb_internal.begins(cited_hit.said, c.text), false),
    (cited_hit.trace).is_admissible and exists (select from ragdb.slices s
      where s.corpus_id = (cited_hit.trace).corpus_id and s.slice_id = (cited_hit.trace).slice_id
        and cited_hit.chunk_id = any (s.chunk_ids))
  from (select) u
    left join ragdb.retrieval_hits h on h.corpus_id = (cited_hit.trace).corpus_id
      and h.trace_id = (cited_hit.trace).id and h.created_at = (cited_hit.trace).created_at
      and h.chunk_id = cited_hit.chunk_id
    left join lateral ragdb_internal.chunk_of(
      (cited_hit.trace).corpus_id, cited_hit.chunk_id) c on true;
end;

-- Returns the name of the corpus that evidence is of; null where it names none.
create or replace function ragdb_internal.corpus_named_by(evidence jsonb) returns text
language sql immutable parallel safe
return coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id');

-- Definer: what it calls is private.
create or replace function ragdb.evidence_provenance(evidence jsonb)
returns table (corpus text, trace_ids uuid[])
language plpgsql immutable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence_provenance.evidence);
begin
  perform ragdb_internal.check_evidence(v_evidence);
  return query select ragdb_internal.corpus_named_by(v_evidence),
    ragdb_internal.traces_named_by(v_evidence);
end $$;
comment on function ragdb.evidence_provenance is
  'Returns the corpus (null: none) and the traces that a pack, or the input of a task, says it is '
  'of, which its citations are checked by. Whether they are there is not looked at. Raises RG460.';

-- Returns whether a chunk says what evidence of no trace has it say; nothing where the corpus that
-- the evidence names has no such chunk, or the caller may not read it.
create or replace function ragdb_internal.untraced_hit(evidence jsonb, chunk_id text, said text)
returns ragdb_internal.seen_chunk
language sql stable parallel safe
begin atomic
  select null::boolean, null::boolean, ragdb_internal.begins(untraced_hit.said, h.text),
    null::boolean
  from ragdb.corpora c
    cross join lateral ragdb_internal.chunk_of(c.corpus_id, untraced_hit.chunk_id) h
  where c.name = ragdb_internal.corpus_named_by(evidence) and ragdb_internal.privilege(c) > 0;
end;

-- A chunk of evidence with its letters, as quotes are compared.
create type ragdb_internal.lettered_chunk as (chunk_id text, letters text);

-- Returns the chunks of evidence with their letters.
create or replace function ragdb_internal.lettered_chunks(evidence jsonb)
  returns ragdb_internal.lettered_chunk[]
language sql immutable parallel safe
return array(
  select row(c.chunk ->> 'chunk_id', (ragdb_internal.quotable(c.chunk ->> 'text')).letters
    )::ragdb_internal.lettered_chunk
  from pg_catalog.jsonb_array_elements(evidence -> 'chunks') with ordinality c (chunk, n)
  order by c.n);

-- Returns the chunk that a quote, two words of it or more in each, goes over into from or to the
-- cited one; null for none. A quote that begins in one chunk and ends in another is in neither.
create or replace function ragdb_internal.crosses(
  quote text, chunk_id text, chunks ragdb_internal.lettered_chunk[])
  returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[] := string_to_array(btrim((ragdb_internal.quotable(quote)).letters), ' ');
  v_own text;
  v_other record;
  v_head text;
  v_tail text;
begin
  select c.letters into v_own from unnest(chunks) c where c.chunk_id = crosses.chunk_id;
  for v_other in
    select c.chunk_id, c.letters from unnest(chunks) c where c.chunk_id <> crosses.chunk_id
  loop
    for v_cut in 2 .. cardinality(v_words) - 2 loop
      v_head := array_to_string(v_words[:v_cut], ' ');
      v_tail := array_to_string(v_words[v_cut + 1 :], ' ');
      exit when strpos(v_own, v_head) = 0 and strpos(v_other.letters, v_head) = 0;
      if strpos(v_own, v_head) > 0 and strpos(v_other.letters, v_tail) > 0
          or strpos(v_other.letters, v_head) > 0 and strpos(v_own, v_tail) > 0 then
        return v_other.chunk_id;
      end if;
    end loop;
  end loop;
  return null;
end $$;

-- Returns a number or an identifier of letters that none of several others has; null when all are
-- there.
create or replace function ragdb_internal.unsupported(said text, texts text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  if said !~ '[0-9_]' then
    return null;
  end if;
  return (
    select s.term from (
      select n.numeral as term, 1 as kind, n.n
      from unnest(ragdb_internal.numerals(said)) with ordinality n (numeral, n)
      where not exists (select from unnest(texts) t (text)
        where n.numeral = any (ragdb_internal.numerals(t.text)))
      union all
      select i.term, 2, i.n
      from unnest(ragdb_internal.terms_of(said)) with ordinality i (term, n)
      -- 1,500/km2 has the identifier 500/km2, which stands within its number
      where not exists (select from unnest(texts) t (text)
        where case when ragdb_internal.apart_at(t.text, i.term) > 0 then true
          else i.term = any (ragdb_internal.terms_of(t.text)) end)) s
    order by s.kind, s.n limit 1);
end $$;
