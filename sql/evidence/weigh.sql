-- What was found for a question, and what the caller brought: one pack, and whether it is enough.

-- Refuses what is not the results of the queries of a run. Raises RG460.
create or replace function ragdb_internal.check_results(results jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if results is null or jsonb_typeof(results) <> 'array'
    or jsonb_path_exists(results, 'strict $[*] ? (@.type() != "object")', silent => true) then
    raise exception 'results is not a list of results'
      using errcode = 'RG460',
        detail = 'each result is an object with chunks, best first, and its trace_id',
        hint = 'pass one for each query of the run';
  end if;
  perform ragdb_internal.check_evidence(f.result) from jsonb_array_elements(results) f (result);
end $$;

-- Returns the k chunks that several results have in the best places, by the sum of their reciprocal
-- ranks, to the k-th; before them up to half of k that say what something with the lexemes meant
-- is. What stands behind the k-th counts for no more than that: else what many results have far
-- behind would come before what one has first. Scores of different queries are of different
-- questions, so their ranks are compared. Each chunk keeps what the first query said of it: the
-- question comes before its parts. Equal sums stay in the order in which they were found.
create or replace function ragdb_internal.fused_chunks(
  results jsonb, k integer, meant text[], config text)
returns jsonb
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_agg(b.chunk order by b.rank), '[]')
  from (
    select m.chunk, pg_catalog.row_number() over (order by
      m.is_meant and m.n <= (fused_chunks.k + 1) / 2 desc, m.weight desc, m.first) as rank
    from (
      select d.*,
        pg_catalog.row_number() over (partition by d.is_meant order by d.weight desc, d.first) as n
      from (
        select u.chunks[1] as chunk, u.weight, u.first, fused_chunks.meant <> '{}'
          and ragdb_internal.says_meaning(
            u.chunks[1] ->> 'text', fused_chunks.meant, fused_chunks.config) as is_meant
        from (
          select pg_catalog.array_agg(c.chunk order by f.n, c.rank) as chunks,
            coalesce(pg_catalog.sum(1::float8 / (ragdb_internal.rrf_constant() + c.rank)
              order by f.n, c.rank) filter (where c.rank <= fused_chunks.k), 0) as weight,
            pg_catalog.min(array[f.n, c.rank]) as first
          from pg_catalog.jsonb_array_elements(results) with ordinality f (result, n)
            cross join lateral pg_catalog.jsonb_array_elements(f.result -> 'chunks')
              with ordinality c (chunk, rank)
          group by c.chunk ->> 'source_id', c.chunk ->> 'chunk_id') u) d) m) b
  where b.rank <= fused_chunks.k);

-- Returns the mode of the first of several results, and its best score among the chunks taken. A
-- search that left no trace says itself how it ranked. The first was for the question. One by
-- meaning finds something, so one that found nothing compared words.
create or replace function ragdb_internal.searched(results jsonb, chunks jsonb) returns jsonb
language sql immutable parallel safe
return (
  select pg_catalog.jsonb_build_object('mode',
    case results #> '{0,chunks}' when '[]' then 'lexical'
      else pg_catalog.max(c.chunk ->> 'mode') end,
    'score', ragdb_internal.best_of(pg_catalog.jsonb_agg(c.chunk)))
  from pg_catalog.jsonb_array_elements(results #> '{0,chunks}') c (chunk)
  where c.chunk ->> 'chunk_id' in (
    select o.chunk ->> 'chunk_id' from pg_catalog.jsonb_array_elements(chunks) o (chunk)));

-- Returns the corpus that all of some chunks name which name one; another name where there is no
-- such corpus.
create or replace function ragdb_internal.one_corpus(chunks jsonb, otherwise text) returns text
language sql immutable parallel safe
return (
  select coalesce(case when count(distinct c.chunk ->> 'corpus') = 1
    then min(c.chunk ->> 'corpus') end, one_corpus.otherwise)
  from pg_catalog.jsonb_array_elements(chunks) c (chunk));

-- Returns the pack of the chunks of a run, within the limit of its policy. Raises RG400.
create or replace function ragdb_internal.run_pack(run jsonb, chunks jsonb) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy constant jsonb := run -> 'policy';
  v_corpus constant text := ragdb_internal.one_corpus(chunks, v_policy ->> 'corpus');
  v_name constant text := coalesce(v_corpus, 'context');
  v_characters constant integer := (v_policy ->> 'max_context')::numeric::integer
    * case v_policy ->> 'unit' when 'token' then 4 else 1 end;
  v_config text;
begin
  perform ragdb_internal.check_pack_room(
    v_name, v_characters, (v_policy ->> 'max_context')::numeric::integer);
  -- the language that its words are compared in
  select c.text_config into v_config from ragdb.corpora c
    where c.name = v_corpus and ragdb_internal.privilege(c) > 0;
  return ragdb_internal.pack_evidence(v_name, chunks, v_characters)
    || jsonb_strip_nulls(jsonb_build_object('text_config', v_config));
end $$;

-- Returns a run with the verdict of the gate on its pack, where its policy has one. Raises what
-- ragdb.record_gate raises.
create or replace function ragdb_internal.weighed_run(run jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gate constant jsonb := run #> '{policy,gate}';
  v_min_chunks constant integer := coalesce((v_gate ->> 'min_chunks')::numeric, 1);
  v_min_score constant float8 := ragdb_internal.double((v_gate ->> 'min_score')::numeric);
  v_min_coverage constant float8 :=
    coalesce(ragdb_internal.double((v_gate ->> 'min_coverage')::numeric), 0.5);
  v_verdict jsonb;
begin
  if v_gate = 'null' or run #>> '{policy,mode}' = 'off' then
    return run;
  end if;
  if run -> 'is_recorded' = 'true' then
    v_verdict := ragdb.record_gate(run ->> 'question', run -> 'pack', v_min_chunks, v_min_score,
      v_min_coverage, ragdb_internal.empty_trace(run), run #>> '{policy,client}');
  else
    v_verdict := ragdb.rag_enough_context_gate(run ->> 'question', run -> 'pack', v_min_chunks,
      v_min_score, v_min_coverage);
  end if;
  -- the terms are the question's
  run := jsonb_set(run, '{summary,gate}', v_verdict - '{missing_terms,read_as,names}'::text[])
    || jsonb_build_object('gate', v_verdict);
  if run #>> '{policy,mode}' = 'required' and v_verdict -> 'enough' = 'false' then
    return ragdb_internal.failed_run(run, 'insufficient evidence');
  end if;
  return run;
end $$;

-- Returns a run with the pack of what was found and of the caller's evidence, weighed. Raises
-- RG400, RG460, RG471 and what ragdb.record_gate raises.
create or replace function ragdb_internal.packed_run(run jsonb, results jsonb, evidence jsonb)
  returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_traces constant jsonb := (
    select jsonb_agg(f.result -> 'trace_id' order by f.n)
    from jsonb_array_elements(results) with ordinality f (result, n)
    where f.result ->> 'trace_id' is not null and ragdb_internal.trace_of(f.result) is not null);
  v_meaning constant record := ragdb_internal.run_meaning(run);
  v_found constant jsonb := ragdb_internal.fused_chunks(results,
    (run #>> '{policy,k}')::numeric::integer, v_meaning.meant, v_meaning.config);
  v_chunks constant jsonb := evidence || v_found;
  v_searched jsonb := '{}';
begin
  if v_traces is not null then
    run := jsonb_set(run, '{summary,trace_ids}', v_traces);
  else
    v_searched := jsonb_build_object('searched', ragdb_internal.searched(results, v_found));
  end if;
  if run #>> '{policy,mode}' = 'required' and v_found = '[]' then
    return ragdb_internal.failed_run(jsonb_set(run, '{summary,retrieved_chunks}', '0'),
      'rag required but no evidence found');
  end if;
  perform ragdb_internal.record_replies(v_found);
  run := run || jsonb_build_object('pack',
      ragdb_internal.run_pack(run, evidence || ragdb_internal.with_replies(v_found)) || v_searched,
    -- evidence is on record where a retrieval that is found it, or found nothing
    'is_recorded', v_traces is not null and (v_chunks = '[]' or exists (
      select from jsonb_array_elements(v_chunks) c (chunk) where c.chunk ? 'trace_id')));
  run := jsonb_set(run, '{summary}', (run -> 'summary') || jsonb_build_object(
    'retrieved_chunks', jsonb_array_length(v_chunks),
    'evidence_pack_hash', run #> '{pack,hash}'));
  return ragdb_internal.weighed_run(run);
end $$;

-- Definer: what it calls is private.
create or replace function ragdb.ask_weigh(
  run jsonb, results jsonb default null, evidence jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_results constant jsonb := coalesce(results, '[]');
  v_evidence constant jsonb := coalesce(evidence, '[]');
  v_run jsonb;
begin
  perform ragdb_internal.check_run(run), ragdb_internal.check_results(v_results),
    ragdb_internal.check_evidence(jsonb_build_object('chunks', v_evidence));
  if not run ? 'queries' and v_evidence = '[]' then
    return run;
  end if;
  v_run := ragdb_internal.packed_run(run, v_results, v_evidence);
  if v_run ? 'status' or v_run #> '{gate,enough}' is distinct from 'false' then
    return v_run;
  end if;
  return ragdb_internal.unanswered_run(v_run);
end $$;
comment on function ragdb.ask_weigh is
  'Goes on with a run of ragdb.ask_plan: fuses what was found for its queries (a result each: '
  'chunks, best first, and trace_id), packs it behind the caller''s evidence (chunks) and weighs '
  'the pack, on record where its retrievals are. The run has pack and gate, output where the gate '
  'says no, or status failed and the reason. Raises RG400, RG460, RG471 and what '
  'ragdb.record_gate and ragdb.record_answer raise.';
