-- Whether evidence is enough for a question: a verdict without a model, by thresholds that the
-- caller chooses or the corpus has measured (search/calibrate.sql).

-- Refuses a question that is null, empty or longer than 10000 characters. Raises RG400, RG413.
create or replace function ragdb_internal.check_question(question text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if question is null or question !~ E'\\S' then
    raise exception 'question is %', case when question is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to answer without a word',
        hint = 'pass the question as text';
  elsif length(question) > 10000 then
    raise exception 'question has % characters', length(question)
      using errcode = 'RG413', detail = 'a question is a few sentences',
        hint = 'give at most 10000 characters';
  end if;
end $$;

-- Returns the text configuration of a pack; english where it names none.
create or replace function ragdb_internal.evidence_config(evidence jsonb) returns text
language sql immutable parallel safe
return coalesce(
  (select c.config from ragdb_internal.text_configs() c
    where c.config = evidence_config.evidence ->> 'text_config'), 'english');

-- Returns the traces that evidence is of and that the caller may read: those of the question
-- itself, and where none is, all. A trace that the caller may not read is as good as none: it is
-- named by whoever made the pack.
create or replace function ragdb_internal.gate_traces(question text, evidence jsonb)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_hashes constant text[] := array(
    select encode(sha256(ragdb_internal.utf8(q)), 'hex')
    from unnest(array[question, ragdb_internal.asked_for(question)]) a (asked)
      cross join lateral unnest(array[a.asked,
        regexp_replace(btrim(a.asked), '[[:space:]]+', ' ', 'g')]) q);
  v_ids constant uuid[] := ragdb_internal.traces_named_by(evidence);
begin
  return query
    with named as (
      select t.trace, coalesce((t.trace).query_hash = any (v_hashes), false) as is_question
      from unnest(v_ids) n (id)
        cross join lateral ragdb_internal.trace_at(n.id, ragdb_internal.uuid_time(n.id)) t
      where (t.trace).error_code is null and ragdb_internal.may_open_trace(t.trace, false)
    )
    select (n.trace).* from named n
    where n.is_question or not exists (select from named o where o.is_question);
end $$;

-- What evidence is weighed against: its corpus, the mode that found it, its best score, and the
-- floor of the corpus for that mode; each null where it is not known.
create type ragdb_internal.gate_basis as (
  corpus ragdb.corpora, rank_mode text, best_score float8, floor float8);

-- Returns the best score of some chunks; null where none has one.
create or replace function ragdb_internal.best_of(chunks jsonb) returns float8
language sql immutable parallel safe
return (
  select pg_catalog.max(ragdb_internal.double(
    greatest(-1e300, least(1e300, (c.chunk ->> 'score')::numeric))))
  from pg_catalog.jsonb_array_elements(chunks) c (chunk)
  where pg_catalog.jsonb_typeof(c.chunk -> 'score') = 'number');

-- Returns what evidence is weighed against for a question, by the traces that it names; where the
-- caller may read none, by the mode and score of the search that it says found it (searched), or by
-- the scores of its chunks. A score of a part of a question says nothing of the question, so its
-- own search counts.
create or replace function ragdb_internal.gate_basis(
  question text, evidence jsonb, out basis ragdb_internal.gate_basis)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_traces constant ragdb.retrieval_traces[] := array(
    select t from ragdb_internal.gate_traces(question, evidence) t);
  v_trace constant ragdb.retrieval_traces := v_traces[1];
begin
  basis.corpus := (
    select c from ragdb.corpora c
    where case when v_trace.id is null
        then c.name = coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id')
        else c.corpus_id = v_trace.corpus_id end
      and ragdb_internal.privilege(c) > 0
    order by c.corpus_id limit 1);
  select max(h.score) into basis.best_score
    from unnest(v_traces) t
      join ragdb.retrieval_hits h on h.corpus_id = t.corpus_id and h.trace_id = t.id
        and h.created_at = t.created_at
    where h.chunk_id in (
      select c ->> 'chunk_id' from jsonb_array_elements(evidence -> 'chunks') c);
  if not exists (select from unnest(v_traces) t
    where (t.corpus_id, t.rank_mode, t.embedding_model, t.statistics, t.ranking -> 'lexical_weight',
        t.ranking -> 'fusion')
      is distinct from (v_trace.corpus_id, v_trace.rank_mode, v_trace.embedding_model, null,
        v_trace.ranking -> 'lexical_weight', v_trace.ranking -> 'fusion'))
  then
    basis.rank_mode := v_trace.rank_mode;
    basis.floor := ragdb_internal.floor_of(v_trace);
  end if;
  if v_traces = '{}' then
    basis.rank_mode := evidence #>> '{searched,mode}';
    basis.floor := ragdb_internal.floor_in(basis.corpus, basis.rank_mode);
    basis.best_score := ragdb_internal.best_of(jsonb_path_query_array(evidence, '$.searched'));
  end if;
  basis.best_score := coalesce(
    basis.best_score, ragdb_internal.best_of(evidence -> 'chunks'));
end $$;

-- Returns the terms of what is asked with their idf in a corpus; 1 each without a corpus. A term
-- weighs its idf: a word that few chunks have says more than one that most have, and one that none
-- has says the most.
create or replace function ragdb_internal.weighed_terms(
  corpus ragdb.corpora, asked text, text_config text)
returns table (lexeme text, weight float8)
language sql stable parallel safe
begin atomic
  select t.lexeme, case when (w.whole).corpus_id is null then 1
    else ragdb_internal.cautious_idf((w.whole).chunks, t.df) end
  from (select ragdb_internal.whole_of(weighed_terms.corpus) as whole offset 0) w
    cross join lateral ragdb_internal.term_facts(weighed_terms.corpus, w.whole,
      ragdb_internal.lexemes(weighed_terms.asked, weighed_terms.text_config)) t;
end;

-- Returns how often a term counts in what a question asks for, where some lexemes are found: once,
-- but what names a thing by letters and digits, such as X200, or a version or a clause, such as
-- 4.2.1, four times if it is not among them. What a text says of another thing is no answer.
create or replace function ragdb_internal.missed(lexeme text, found_lexemes text[])
returns integer
language sql immutable parallel safe
return case
  when missed.lexeme ~ '^(?:[[:alpha:]]{1,4}[0-9]|[0-9]+(?:\.[0-9]+)+$)'
    and missed.lexeme <> all (missed.found_lexemes) then 4 else 1 end;

-- Returns the lexemes of the chunks of evidence and of what stands over them, each once.
create or replace function ragdb_internal.evidence_lexemes(evidence jsonb, text_config text)
returns text[]
language sql stable parallel safe
return array(
  select distinct l.lexeme
  from pg_catalog.jsonb_array_elements(evidence_lexemes.evidence -> 'chunks') c (chunk)
    cross join lateral pg_catalog.unnest(
      pg_catalog.tsvector_to_array(
        ragdb_internal.lexemes(ragdb_internal.over_chunk(c.chunk), text_config))
      || pg_catalog.tsvector_to_array(
        ragdb_internal.lexemes(c.chunk ->> 'text', text_config))) l (lexeme));

-- Returns what of a question evidence says: what its words are read as, what it names, how many
-- terms it has, their share that is there, by weight, and what is missing that it not only tells.
create or replace function ragdb_internal.said_of(
  corpus ragdb.corpora, question text, text_config text, evidence jsonb, out read_as jsonb,
  out names text[], out terms integer, out coverage float8, out missing text[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant text := ragdb_internal.without_asking(question, text_config);
  v_asking constant text := ragdb_internal.asking_sentences(question, text_config);
  v_told constant text[] := ragdb_internal.told_lexemes(v_asking, v_asked, text_config);
  v_found text[] := ragdb_internal.evidence_lexemes(evidence, text_config);
begin
  read_as := ragdb_internal.read_as(corpus, v_asked, text_config, v_found, evidence);
  names := ragdb_internal.named_lexemes(corpus, v_asked, v_asking, evidence, text_config);
  v_found := ragdb_internal.also_says(v_found, read_as) || array(  -- 2.4.1 is a 2.4
    select substring(f, '^([0-9]+[.][0-9]+)[.][0-9]') from unnest(v_found) f where f ~ '[.].*[.]');
  select count(*), coalesce(
      sum(t.weight order by t.lexeme collate "C") filter (where t.lexeme = any (v_found))
        / sum(t.weight * ragdb_internal.missed(t.lexeme, v_found) order by t.lexeme collate "C"),
      0), coalesce(array_agg(t.lexeme order by t.lexeme collate "C")
      filter (where t.lexeme <> all (v_found)), '{}')
    into terms, coverage, missing
    from ragdb_internal.weighed_terms(corpus, v_asked, text_config) t
    where t.lexeme = any (v_found) or t.lexeme <> all (v_told);
end $$;

-- Refuses thresholds of the gate that are null or out of range. Raises RG400.
create or replace function ragdb_internal.check_thresholds(
  min_chunks integer, min_score float8, min_coverage float8)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if min_chunks is null or min_chunks not between 0 and 1000 or not min_score between 0 and 1
    or min_coverage is null or not min_coverage between 0 and 1
  then
    raise exception 'a threshold of the gate is null or out of range'
      using errcode = 'RG400',
        detail = 'min_chunks is 0 to 1000, min_score (null: the floor of the corpus) and '
          'min_coverage are 0 to 1',
        hint = 'leave a threshold out for its default';
  end if;
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.rag_enough_context_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default null,
  min_coverage float8 default 0.5)
returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(pack);
  v_basis ragdb_internal.gate_basis;
  v_config text;
  v_chunks integer;
  v_said record;
begin
  perform ragdb_internal.check_question(query), ragdb_internal.check_evidence(v_evidence),
    ragdb_internal.check_thresholds(min_chunks, min_score, min_coverage);
  v_basis := ragdb_internal.gate_basis(query, v_evidence);
  v_config := coalesce((v_basis.corpus).text_config, ragdb_internal.evidence_config(v_evidence));
  v_chunks := jsonb_array_length(v_evidence -> 'chunks');
  v_said := ragdb_internal.said_of(v_basis.corpus, query, v_config, v_evidence);
  return jsonb_build_object(
    'enough', v_chunks >= min_chunks and v_said.coverage >= min_coverage
      and coalesce(v_basis.best_score, 0) >= coalesce(min_score, v_basis.floor, 0),
    'chunks', v_chunks, 'best_score', v_basis.best_score, 'terms', v_said.terms,
    'coverage', v_said.coverage, 'missing_terms', to_jsonb(v_said.missing),
    'read_as', v_said.read_as, 'names', to_jsonb(v_said.names),
    'rank_mode', v_basis.rank_mode, 'min_chunks', min_chunks,
    'min_score', coalesce(min_score, v_basis.floor, 0),
    'min_score_by', case when min_score is not null then 'caller'
      when v_basis.floor is not null then 'corpus' else 'none' end,
    'min_coverage', min_coverage);
end $$;
comment on function ragdb.rag_enough_context_gate is
  'Decides whether a pack is enough for a query: at least min_chunks (0 to 1000), a best score '
  'of min_score (0 to 1; null: the floor that the corpus has for the mode of the trace, else '
  '0) or more, and min_coverage (0 to 1) of the query''s terms somewhere in it, weighed by '
  'their idf where the caller may read the corpus ("how long", "tell me about" and their like '
  'are no terms, nor is what a question only tells and the evidence lacks). A term is there '
  'also as what read_as shows: what the corpus takes it for, mended or as a synonym, with the '
  'share of it that each lexeme stands for. A term of letters and digits, such as X200, or a '
  'version, such as 4.2, weighs four times if it is missing. Returns enough with all it was '
  'decided by, and names, the lexemes that a text which answers has to name. min_score_by is '
  'caller, corpus or none. Raises RG400, RG413, RG460.';
