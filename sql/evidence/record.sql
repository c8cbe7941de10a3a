-- What was weighed, on record: the inputs and the verdict of a gate. No text is kept of a question,
-- an answer or a quote: hashes, ids, places, codes and counts.

-- Returns the corpus that evidence is of, and its trace, held for what is recorded of it. Evidence
-- is recorded under its corpus: that of its trace, or the one it names where chunks were packed by
-- their ids. Raises RG404, RG407, RG460.
create or replace function ragdb_internal.evidence_corpus(
  evidence jsonb, trace_id uuid, out corpus ragdb.corpora, out trace uuid)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_name text := ragdb_internal.corpus_named_by(evidence);
begin
  trace := coalesce(trace_id, ragdb_internal.trace_of(evidence), (
    select ragdb_internal.trace_of(c.chunk) from jsonb_array_elements(evidence -> 'chunks')
      with ordinality c (chunk, n)
    where c.chunk ? 'trace_id' order by c.n limit 1));
  if trace is not null then
    v_trace := ragdb_internal.open_trace(trace);
    select c.* into strict corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
    perform ragdb_internal.hold_trace(v_trace.corpus_id, v_trace.id);
  elsif v_name is null then
    raise exception 'evidence names neither trace nor corpus'
      using errcode = 'RG460', detail = 'what is recorded is recorded under a corpus',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  else
    corpus := ragdb_internal.open_corpus(v_name, 'read', true);
  end if;
  if evidence ->> 'sha256' !~ '^[0-9a-f]{64}$' or evidence -> 'sha256' is null then
    raise exception 'evidence has no sha256'
      using errcode = 'RG460', detail = 'the hash of a pack says later what was weighed',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  if evidence ->> 'sha256'
      is distinct from encode(sha256(ragdb_internal.utf8(evidence ->> 'canonical_text')), 'hex')
  then
    raise exception 'the sha256 of evidence is not that of its text'
      using errcode = 'RG460', detail = 'it is recorded as the hash of canonical_text',
        hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  -- once an upgrade has brought the tables, the first month is made here
  if to_regclass('ragdb.answer_citations_default') is null then
    perform ragdb_internal.make_due_partitions();
  end if;
end $$;

-- Refuses to record evidence in a read-only transaction. Raises 25006.
create or replace function ragdb_internal.check_evidence_recordable(what text) returns void
language sql stable parallel safe
return ragdb_internal.check_recordable(what,
  'ragdb.rag_enough_context_gate() and ragdb.check_citations() say the same and record nothing');

-- Definer: it writes a table that is granted to nobody; the caller's right to the corpus is checked
-- by ragdb_internal.evidence_corpus.
create or replace function ragdb.record_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default null,
  min_coverage float8 default 0.5, trace_id uuid default null, client text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_evidence jsonb := ragdb_internal.evidence_of(pack);
  -- what a search says that left no trace cannot be shown later
  v_verdict jsonb := ragdb.rag_enough_context_gate(query, (v_evidence || case
    when trace_id is null then '{}' else jsonb_build_object('trace_id', trace_id) end)
    - 'searched', min_chunks, min_score, min_coverage);
  v_of record;
  v_row ragdb.evidence_gates;
begin
  perform ragdb_internal.check_evidence_recordable('record_gate writes');
  perform ragdb_internal.check_client(client, 'client');
  select e.* into strict v_of from ragdb_internal.evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb_internal.uuid7(ragdb_internal.now());
  v_row.created_at := ragdb_internal.uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.query_hash := encode(sha256(ragdb_internal.utf8(query)), 'hex');
  end if;
  v_row.pack_hash := v_evidence ->> 'sha256';
  v_row.is_enough := (v_verdict ->> 'enough')::boolean;
  v_row.chunks := (v_verdict ->> 'chunks')::integer;
  v_row.min_chunks := min_chunks;
  v_row.best_score := (v_verdict ->> 'best_score')::float8;
  v_row.min_score := (v_verdict ->> 'min_score')::float8;
  v_row.min_score_by := v_verdict ->> 'min_score_by';
  v_row.rank_mode := v_verdict ->> 'rank_mode';
  v_row.terms := (v_verdict ->> 'terms')::integer;
  v_row.coverage := (v_verdict ->> 'coverage')::float8;
  v_row.min_coverage := min_coverage;
  v_row.missing_terms := case when (v_of.corpus).record_query_text = 'full' then array(
    select t.term from jsonb_array_elements_text(v_verdict -> 'missing_terms') t (term)) end;
  v_row.client := client;
  v_row.caller := ragdb_internal.caller();
  v_row.caller_oid := ragdb_internal.caller_oid();
  insert into ragdb.evidence_gates values (v_row.*);
  perform ragdb_internal.note('gate', v_row.corpus_id || '/' || v_row.id);
  return v_verdict || jsonb_build_object('gate_id', v_row.id);
end $$;
comment on function ragdb.record_gate is
  'Decides as ragdb.rag_enough_context_gate whether a pack is enough for a query, records what it '
  'was decided by and the verdict, and returns it with gate_id; trace_id is that of the pack '
  'unless given, client (up to 200 characters) names the program. Raises what '
  'ragdb.rag_enough_context_gate raises, RG404, RG407, and 25006 where nothing can be written.';
